//! Sizes, rates and probabilities as types, so that no bare number needs its unit in a comment.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::time::Duration;

use crate::time::Nanos;

/// A number of bytes. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// Creates a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes, for a computation in floating point.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the time that these bytes take at `rate`, as [`Div`] does.
    #[inline]
    pub(crate) fn time_at(self, rate: Rate) -> Nanos {
        Nanos::from_secs(self.as_f64() / rate.0)
    }
}

impl From<usize> for Bytes {
    fn from(bytes: usize) -> Self {
        Self(bytes as u64)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// Returns the time that these bytes take at a rate; [`Duration::MAX`] at rate zero.
impl Div<Rate> for Bytes {
    type Output = Duration;
    fn div(self, rate: Rate) -> Duration {
        duration_from_secs(self.as_f64() / rate.0)
    }
}

/// Returns the rate of these bytes over a time; [`Rate::INFINITY`] over no time.
impl Div<Duration> for Bytes {
    type Output = Rate;
    fn div(self, time: Duration) -> Rate {
        if time.is_zero() {
            Rate::INFINITY
        } else {
            Rate(self.as_f64() / time.as_secs_f64())
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// A data rate in bytes per second: never negative, never NaN, possibly infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// The rate zero.
    pub const ZERO: Self = Self(0.0);
    /// The infinite rate, which limits nothing (the first entry of X_recv_set, RFC 5348 §4.3).
    pub const INFINITY: Self = Self(f64::INFINITY);

    /// Creates a rate from bytes per second; a negative number or NaN becomes zero.
    pub const fn from_bytes_per_sec(rate: f64) -> Self {
        // The comparison is false for NaN, so NaN becomes zero, too.
        if rate > 0.0 { Self(rate) } else { Self::ZERO }
    }

    /// Creates a rate from bits per second; a negative number or NaN becomes zero.
    pub const fn from_bits_per_sec(rate: f64) -> Self {
        Self::from_bytes_per_sec(rate / 8.0)
    }

    /// Returns the rate in bytes per second.
    pub const fn bytes_per_sec(self) -> f64 {
        self.0
    }

    /// Returns the rate in bits per second.
    pub const fn bits_per_sec(self) -> f64 {
        self.0 * 8.0
    }

    /// Returns the larger of two rates.
    pub const fn max(self, other: Self) -> Self {
        // `f64::max` also handles NaN, which a rate never is: that costs 19 of a feedback's 600 instructions.
        if self.0 < other.0 { other } else { self }
    }

    /// Returns the smaller of two rates.
    pub const fn min(self, other: Self) -> Self {
        if self.0 > other.0 { other } else { self }
    }

    /// Returns false only for [`Rate::INFINITY`].
    pub const fn is_finite(self) -> bool {
        self.0.is_finite()
    }
}

impl Add for Rate {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Mul<f64> for Rate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::from_bytes_per_sec(self.0 * factor)
    }
}

impl Div<f64> for Rate {
    type Output = Self;
    fn div(self, divisor: f64) -> Self {
        Self::from_bytes_per_sec(self.0 / divisor)
    }
}

/// Returns the ratio of two rates.
impl Div for Rate {
    type Output = f64;
    fn div(self, rhs: Self) -> f64 {
        self.0 / rhs.0
    }
}

/// Returns the bytes that flow at this rate in a time, rounded down.
impl Mul<Duration> for Rate {
    type Output = Bytes;
    fn mul(self, time: Duration) -> Bytes {
        Bytes((self.0 * time.as_secs_f64()) as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_sec();
        if bits >= 1e6 {
            write!(f, "{:.2} Mb/s", bits / 1e6)
        } else {
            write!(f, "{:.1} kb/s", bits / 1e3)
        }
    }
}

/// The loss event rate *p* (RFC 5348 §5): loss events per packet, in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct LossEventRate(f64);

impl LossEventRate {
    /// The rate before the first loss event, in slow start.
    pub const ZERO: Self = Self(0.0);
    /// The rate at which every packet is a loss event.
    pub const ONE: Self = Self(1.0);

    /// Clamps `p` to [0, 1]; NaN becomes zero.
    pub const fn new(p: f64) -> Self {
        if p >= 1.0 {
            Self::ONE
        } else if p > 0.0 {
            Self(p)
        } else {
            Self::ZERO
        }
    }

    /// Returns the probability.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns the larger of two loss event rates.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.0 < other.0 { other } else { self }
    }

    /// Returns true before the first loss event.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

/// Converts seconds to a duration and saturates: [`Duration::MAX`] for infinity, zero for NaN and negative numbers.
pub fn duration_from_secs(secs: f64) -> Duration {
    if secs.is_nan() || secs <= 0.0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_rate_is_never_negative_nor_nan() {
        assert_eq!(Rate::from_bytes_per_sec(-1.0), Rate::ZERO);
        assert_eq!(Rate::from_bytes_per_sec(f64::NAN), Rate::ZERO);
        assert_eq!(Rate::INFINITY * 0.0, Rate::ZERO);
        assert_eq!(Rate::from_bits_per_sec(8e6).bytes_per_sec(), 1e6);
    }

    #[test]
    fn size_over_rate_is_time_and_back() {
        let rate = Rate::from_bytes_per_sec(1_000.0);
        assert_eq!(Bytes::new(500) / rate, Duration::from_millis(500));
        assert_eq!(rate * Duration::from_millis(500), Bytes::new(500));
        assert_eq!(Bytes::new(500) / Duration::from_millis(500), rate);
        assert_eq!(Bytes::new(1) / Rate::ZERO, Duration::MAX);
        assert_eq!(Bytes::new(1) / Duration::ZERO, Rate::INFINITY);
    }

    proptest! {
        #[test]
        fn time_is_rounded_as_the_standard_library_rounds_it(bytes in any::<u64>(), shift in 0..64, bits in any::<u64>()) {
            let (bytes, rate) = (Bytes::new(bytes >> shift), Rate::from_bytes_per_sec(f64::from_bits(bits)));
            prop_assert_eq!(bytes.time_at(rate), Nanos::from(bytes / rate));
        }

        #[test]
        fn a_tie_is_rounded_to_even(halves in any::<u32>()) {
            let secs = f64::from(halves) * 5e-10;
            prop_assert_eq!(Nanos::from_secs(secs), Nanos::from(duration_from_secs(secs)));
        }
    }

    #[test]
    fn loss_event_rate_is_a_probability() {
        assert_eq!(LossEventRate::new(2.0), LossEventRate::ONE);
        assert_eq!(LossEventRate::new(f64::NAN), LossEventRate::ZERO);
        assert!(LossEventRate::new(-0.1).is_zero());
    }
}
