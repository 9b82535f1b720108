//! Time as a value that is passed in: a monotonic instant with a zero and no `now()`.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
pub use core::time::Duration;

/// A point on the caller's monotonic clock, in nanoseconds since that clock's zero.
///
/// Nothing here reads a clock: a simulator starts at [`Instant::ZERO`], and a program places the zero where it
/// likes. The range is 584 years. Arithmetic saturates, because an instant computed from untrusted input must not
/// panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's zero.
    pub const ZERO: Self = Self(0);
    /// The latest representable instant, used as "never" in comparisons.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the clock's zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `micros` microseconds after the clock's zero.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// The instant `millis` milliseconds after the clock's zero.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The instant `secs` seconds after the clock's zero.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the clock's zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Microseconds since the clock's zero, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds since the clock's zero.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time from `earlier` to `self`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time from `earlier` to `self`, or zero if `earlier` is later.
    pub(crate) const fn nanos_since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time from `earlier` to `self`, or `None` if `earlier` is later.
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }
}

/// A duration in one word, for the work of each packet: nanoseconds that saturate at 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Nanos(u64);

impl Nanos {
    pub(crate) const ZERO: Self = Self(0);
    pub(crate) const MAX: Self = Self(u64::MAX);

    /// Returns the least duration whose sum with `other` exceeds this one; zero if `other` alone exceeds it.
    pub(crate) const fn just_above(self, other: Self) -> Self {
        match self.0.checked_sub(other.0) {
            Some(difference) => Self(difference.saturating_add(1)),
            None => Self::ZERO,
        }
    }

    /// Returns the product with `factor`, rounded down, for up to 292 years; neither may be negative.
    #[inline]
    pub(crate) const fn scaled(self, factor: f64) -> Self {
        // The conversion is signed, because processors convert signed integers.
        Self((self.0 as i64 as f64 * factor) as i64 as u64)
    }

    /// Returns the duration in seconds, as [`Duration::as_secs_f64`] does.
    #[inline]
    pub(crate) const fn as_secs_f64(self) -> f64 {
        let (secs, nanos) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        secs as i64 as f64 + nanos as i64 as f64 / 1e9
    }

    /// Rounds seconds to the nearest nanosecond, ties to even, exactly as [`Duration::try_from_secs_f64`] but
    /// without its call. Returns zero for NaN and negative seconds.
    #[inline]
    pub(crate) const fn from_secs(secs: f64) -> Self {
        // Adding 2^52 rounds to the nearest whole number, which the low bits then hold. Below 2^40 the product is
        // off by at most 2^-13: if it is farther than that from a tie, the rounding is certain. A negative number
        // has its sign as the highest bit, and NaN exceeds 2^40.
        let product = secs * 1e9;
        if product.to_bits() < EXP2_40.to_bits() {
            let shifted = product + EXP2_52;
            if (product - (shifted - EXP2_52)).abs() < 0.4995 {
                return Self(shifted.to_bits() - EXP2_52.to_bits());
            }
        }
        if secs.is_nan() || secs <= 0.0 {
            return Self::ZERO;
        }
        let bits = secs.to_bits();
        let exponent = (bits >> 52) as u32;
        // A nanosecond is above 2⁻³⁰ s, and 2³⁵ s are above 2⁶⁴ ns.
        if exponent < 1_023 - 31 {
            return Self::ZERO;
        }
        if exponent >= 1_023 + 35 {
            return Self::MAX;
        }
        // secs = significand / 2^shift
        let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
        let shift = 1_075 - exponent;
        let scaled = significand as u128 * 1_000_000_000;
        let nanos = scaled >> shift;
        let half = 1 << (shift - 1);
        let rest = scaled & ((half << 1) - 1);
        let rounded = nanos + (rest > half || (rest == half && nanos & 1 == 1)) as u128;
        if rounded > u64::MAX as u128 {
            Self::MAX
        } else {
            Self(rounded as u64)
        }
    }
}

/// A limit of nanoseconds, about 18 minutes.
const EXP2_40: f64 = (1u64 << 40) as f64;
/// The number from which on every f64 is whole.
const EXP2_52: f64 = (1u64 << 52) as f64;

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Nanos {
    type Output = Self;

    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, rhs: Nanos) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Self;

    fn sub(self, rhs: Nanos) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        self + Nanos::from(rhs)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        self - Nanos::from(rhs)
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Returns the time from `rhs` to `self`, and zero if `rhs` is later; [`Instant::checked_since`] tells the two
    /// apart.
    fn sub(self, rhs: Self) -> Duration {
        self.saturating_since(rhs)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::MAX + Duration::MAX, Instant::MAX);
        assert_eq!(Instant::ZERO - Instant::from_secs(1), Duration::ZERO);
        assert_eq!(Instant::ZERO.checked_since(Instant::from_nanos(1)), None);
    }

    #[test]
    fn constructors_agree() {
        assert_eq!(Instant::from_secs(2), Instant::from_millis(2_000));
        assert_eq!(Instant::from_millis(2), Instant::from_micros(2_000));
        assert_eq!(Instant::from_micros(2).as_nanos(), 2_000);
        assert_eq!(Instant::from_micros(1_500_000).as_secs_f64(), 1.5);
    }
}
