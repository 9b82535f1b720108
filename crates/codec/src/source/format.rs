//! The size and the frame rate of a stream of pictures.

use core::fmt;
use core::time::Duration;

/// Size and rate of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Columns of luma.
    pub width: usize,
    /// Rows of luma.
    pub height: usize,
    /// Pictures a second.
    pub frame_rate: FrameRate,
}

/// Pictures a second, as a fraction: 30000/1001 is no decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    numerator: u32,
    denominator: u32,
}

impl FrameRate {
    /// `numerator`/`denominator` pictures a second; `None` unless that is above 0 and at most 1000.
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

    /// The fraction's upper part.
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// The fraction's lower part.
    pub const fn denominator(self) -> u32 {
        self.denominator
    }

    /// Pictures a second.
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// When picture `index` is due after the first. Every due time is exact to the nanosecond, so a
    /// clock that adds none of them up does not drift.
    pub fn due(self, index: u64) -> Duration {
        let nanos = u128::from(index) * u128::from(self.denominator) * 1_000_000_000
            / u128::from(self.numerator);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// From one picture to the next.
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
