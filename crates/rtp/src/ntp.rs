//! The 64-bit NTP timestamp that RTCP sender reports carry (RFC 3550 §4).

use std::time::Duration;
use tfrc::time::Instant;

/// The seconds from the NTP era (1900) to the Unix epoch (1970), RFC 5905 §A.4.
const UNIX_EPOCH_SECS: u64 = 2_208_988_800;

/// Wall-clock time: seconds since 1900 in the upper 32 bits, their fraction in the lower 32.
///
/// Arithmetic wraps with the era (2036).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NtpTime(u64);

impl NtpTime {
    /// Creates a time from the 64 bits of the wire.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the 64 bits of the wire.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Creates a time from `SystemTime::duration_since(UNIX_EPOCH)`.
    pub const fn from_unix(since_epoch: Duration) -> Self {
        Self((UNIX_EPOCH_SECS << 32).wrapping_add(fixed_point(since_epoch)))
    }

    /// Returns the middle 32 bits, in the unit of LSR and DLSR, 2^-16 s (§6.4.1).
    pub const fn middle(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// Returns the wall-clock time at `now`, where `self` is the time at [`Instant::ZERO`].
    pub const fn at(self, now: Instant) -> Self {
        Self(
            self.0
                .wrapping_add(fixed_point(Duration::from_nanos(now.as_nanos()))),
        )
    }

    /// Returns the time that is `ticks` later on a clock of `rate` ticks a second; `rate` 0 counts as 1.
    pub const fn offset(self, ticks: i64, rate: u32) -> Self {
        let rate = if rate == 0 { 1 } else { rate as i128 };
        Self(self.0.wrapping_add((((ticks as i128) << 32) / rate) as u64))
    }

    /// Returns the instant of the wall-clock time `time`, where `self` is the time at [`Instant::ZERO`], as the
    /// inverse of [`at`](Self::at). Returns `None` if `time` is earlier than `self`.
    pub const fn instant_of(self, time: Self) -> Option<Instant> {
        let since = time.0.wrapping_sub(self.0);
        if since >> 63 != 0 {
            return None;
        }
        let nanos = (since as u128 * 1_000_000_000 + (1 << 31)) >> 32;
        Some(Instant::from_nanos(nanos as u64))
    }
}

/// Returns a duration in units of 2^-32 s, modulo 2^64.
const fn fixed_point(duration: Duration) -> u64 {
    let fraction = ((duration.subsec_nanos() as u64) << 32) / 1_000_000_000;
    (duration.as_secs() << 32).wrapping_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unix_epoch_is_70_years_into_the_era() {
        let time = NtpTime::from_unix(Duration::from_millis(500));
        assert_eq!(time.to_bits(), 0x83aa_7e80_8000_0000);
        assert_eq!(time.middle(), 0x7e80_8000);
    }

    #[test]
    fn ticks_move_it_both_ways() {
        let time = NtpTime::from_unix(Duration::from_secs(10));
        assert_eq!(
            time.offset(-45_000, 90_000).offset(135_000, 90_000),
            NtpTime::from_unix(Duration::from_secs(11))
        );
    }

    #[test]
    fn an_instant_survives_the_way_to_ntp_and_back() {
        let zero = NtpTime::from_unix(Duration::from_secs(1_700_000_000));
        for nanos in [0, 1, 999_999_999, 3_600_000_000_123] {
            let instant = Instant::from_nanos(nanos);
            assert_eq!(zero.instant_of(zero.at(instant)), Some(instant));
        }
        assert_eq!(zero.instant_of(NtpTime::from_unix(Duration::ZERO)), None);
    }
}
