//! Filters the round-trip time and compares it with its usual value (RFC 5348 §4.3, §4.5).

use core::ops::RangeInclusive;
use core::time::Duration;

use libm::sqrt;

use crate::time::Nanos;
use crate::units::duration_from_secs;

/// The valid weights of the newest sample; with a smaller weight R would hardly change.
pub(super) const RTT_WEIGHTS: RangeInclusive<f64> = 1e-3..=1.0;
/// The filter weights α and β (RFC 6298 §2.3).
const ALPHA: f64 = 1.0 / 8.0;
const BETA: f64 = 1.0 / 4.0;

/// The filtered round-trip times R and R_sqmean.
#[derive(Clone, Debug)]
pub(super) struct RoundTrip {
    /// The weights q and q2 (RFC 5348 §4.3, §4.5), and the weights that remain for the newest sample.
    q: f64,
    weight: f64,
    state: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// R in seconds.
    smoothed: f64,
    /// R, rounded.
    rounded: Nanos,
    /// √R_sample.
    sqrt_sample: f64,
    /// R_sqmean.
    sqmean: f64,
    /// SRTT and RTTVAR (RFC 6298 §2).
    srtt: f64,
    variation: f64,
}

impl RoundTrip {
    /// Creates a round trip without a sample, in which the newest sample has this weight.
    pub(super) const fn new(weight: f64) -> Self {
        let q = 1.0 - weight;
        Self {
            q,
            weight: 1.0 - q,
            state: None,
        }
    }

    /// Filters R_sample, which is not zero.
    #[inline]
    pub(super) fn update(&mut self, sample: Nanos) {
        let sample = sample.as_secs_f64();
        let sqrt_sample = sqrt(sample);
        let (q, weight) = (self.q, self.weight);
        let mut state = match self.state {
            None => State {
                smoothed: sample,
                rounded: Nanos::ZERO,
                sqrt_sample,
                sqmean: sqrt_sample,
                srtt: sample,
                variation: sample / 2.0,
            },
            Some(old) => State {
                smoothed: q * old.smoothed + weight * sample,
                rounded: Nanos::ZERO,
                sqrt_sample,
                sqmean: q * old.sqmean + weight * sqrt_sample,
                srtt: (1.0 - ALPHA) * old.srtt + ALPHA * sample,
                variation: (1.0 - BETA) * old.variation + BETA * (old.srtt - sample).abs(),
            },
        };
        state.rounded = Nanos::from_secs(state.smoothed);
        self.state = Some(state);
    }

    /// Returns R; `None` before the first sample.
    #[inline]
    pub(super) fn smoothed(&self) -> Option<Nanos> {
        self.state.map(|state| state.rounded)
    }

    /// Returns SRTT + 4·RTTVAR, which is RTO without its minimum (RFC 6298 §2); zero before the first sample. The
    /// granularity of the clock is below any RTTVAR that matters beside that minimum.
    pub(super) fn timeout(&self) -> Duration {
        self.state.map_or(Duration::ZERO, |state| {
            duration_from_secs(state.srtt + 4.0 * state.variation)
        })
    }

    /// Returns R_sqmean / √R_sample, which is below one while the queue on the path grows (RFC 5348 §4.5).
    pub(super) fn oscillation_factor(&self) -> f64 {
        self.state
            .map_or(1.0, |state| state.sqmean / state.sqrt_sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The table is from checks 18 and 19 of the thesis.
    #[test]
    fn the_estimate_follows_the_table_of_the_conformance_list() {
        let mut rtt = RoundTrip::new(0.1);
        rtt.update(ms(20).into());
        for expected in [
            22.0, 23.8, 25.42, 26.878, 28.190, 29.371, 30.434, 31.391, 32.252, 33.026,
        ] {
            rtt.update(ms(40).into());
            let got = Duration::from(rtt.smoothed().unwrap()).as_secs_f64() * 1e3;
            assert!((got - expected).abs() < 0.001, "{got}, not {expected}");
        }
    }

    /// The samples are R = 400 ms, then 600 ms (RFC 6298 §2.2, §2.3).
    #[test]
    fn the_timeout_is_that_of_tcp() {
        let mut rtt = RoundTrip::new(0.1);
        rtt.update(ms(400).into());
        assert_eq!(rtt.timeout(), ms(400 + 4 * 200));
        rtt.update(ms(600).into());
        // SRTT = 425, RTTVAR = 3/4·200 + 1/4·200.
        assert_eq!(rtt.timeout(), ms(425 + 4 * 200));
    }

    /// The table is from checks 36 to 39 of the thesis.
    #[test]
    fn the_oscillation_factor_follows_the_table_of_the_conformance_list() {
        let mut rtt = RoundTrip::new(0.1);
        rtt.update(ms(20).into());
        rtt.update(ms(20).into());
        assert!((rtt.oscillation_factor() - 1.0).abs() < 1e-12);
        rtt.update(ms(10).into());
        assert!((rtt.state.unwrap().sqmean - 0.137_279).abs() < 1e-6);
        assert!((rtt.oscillation_factor() - 1.372_79).abs() < 1e-5);
        rtt.update(ms(40).into());
        assert!((rtt.state.unwrap().sqmean - 0.143_551).abs() < 1e-6);
        assert!((rtt.oscillation_factor() - 0.717_756).abs() < 1e-5);
    }

    #[test]
    fn the_weight_of_the_newest_sample_can_be_set() {
        for (weight, expected) in [(0.05, 105_000), (0.5, 150_000), (1.0, 200_000)] {
            let mut rtt = RoundTrip::new(weight);
            rtt.update(ms(100).into());
            rtt.update(ms(200).into());
            let smoothed = Duration::from(rtt.smoothed().unwrap());
            assert_eq!(smoothed.as_micros(), expected, "{weight}");
        }
    }
}
