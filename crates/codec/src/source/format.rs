//! The size and the frame rate of a stream of pictures.

use core::fmt;
use core::time::Duration;

/// Size and rate of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The columns of luma.
    pub width: usize,
    /// The rows of luma.
    pub height: usize,
    /// The pictures a second.
    pub frame_rate: FrameRate,
}

/// Pictures a second, as a fraction: 30000/1001 is no decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    numerator: u32,
    denominator: u32,
}

impl FrameRate {
    /// The highest rate at which pictures are sent unless a higher one is asked for: fast displays have it.
    pub const DEFAULT_MAX: Self = Self {
        numerator: 120,
        denominator: 1,
    };

    /// Creates `numerator`/`denominator` pictures a second; `None` unless that is above 0 and at most 1000.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        let possible = numerator > 0 && denominator > 0 && numerator / denominator <= 1000;
        if possible {
            Some(Self {
                numerator,
                denominator,
            })
        } else {
            None
        }
    }

    /// Returns the numerator.
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// Returns the denominator.
    pub const fn denominator(self) -> u32 {
        self.denominator
    }

    /// Returns the pictures a second.
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// Returns true if this is the higher rate.
    pub fn is_above(self, other: Self) -> bool {
        let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
        product(self.numerator, other.denominator) > product(other.numerator, self.denominator)
    }

    /// Returns the time at which picture `index` is due after the first. Every due time is exact to the nanosecond,
    /// so a clock that uses them does not drift.
    pub fn due(self, index: u64) -> Duration {
        let nanos = u128::from(index) * u128::from(self.denominator) * 1_000_000_000
            / u128::from(self.numerator);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the time from one picture to the next.
    pub fn interval(self) -> Duration {
        self.due(1)
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        let ntsc = FrameRate::new(30_000, 1001).expect("valid");
        assert_eq!(ntsc.interval(), Duration::from_nanos(33_366_666));
        assert_eq!(ntsc.due(30_000), Duration::from_secs(1001));
        assert_eq!(ntsc.due(u64::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn absurd_rates_are_refused() {
        for (numerator, denominator) in [(0, 1), (25, 0), (1001, 1), (u32::MAX, 1)] {
            assert_eq!(FrameRate::new(numerator, denominator), None);
        }
    }
}
