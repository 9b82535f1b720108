//! The paper's analysis, worked out in numbers (`sigcomm` §A.1 and §A.3).

use serde::Deserialize;
use tfrc::equation;
use tfrc::time::Duration;
use tfrc::units::{Bytes, LossEventRate};

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::{most, off_one};
use crate::scenario::contract::Scenario;

/// How much the rate grows at most from one round trip to the next (`sigcomm` §A.1).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncreaseBound {
    /// The longest average loss interval A, in packets, that the maximum is sought up to.
    longest_interval: f64,
}

/// The weight of the most recent interval: as it is, discounted in full as the paper has it, alone.
const WEIGHTS: [(&str, f64); 3] = [("usual", 1.0 / 6.0), ("discounted", 0.4), ("alone", 1.0)];
/// Values of A looked at for each doubling.
const PER_DOUBLING: f64 = 8.0;

impl Scenario for IncreaseBound {
    fn verify(&self) -> Result<(), Impossible> {
        let sound = (1.0..=1e9).contains(&self.longest_interval);
        require(sound, "longest_interval", "from 1 to 1e9 packets")
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, _job: Job<'_>) -> Result<Sample, RunError> {
        let mut sample = Sample::default();
        for (name, response) in [("simple", simple as fn(f64) -> f64), ("equation_1", full)] {
            for (weighted, weight) in WEIGHTS {
                let curve: Vec<(f64, f64)> = intervals(self.longest_interval)
                    .map(|a| (a, increase(response, a, weight)))
                    .collect();
                let most = most(curve.iter().map(|(_, y)| *y));
                sample.metric(format!("increase_{name}_{weighted}"), most);
                sample.curve(name, format!("w = {weight:.2}"), curve);
            }
        }
        Ok(sample)
    }
}

/// Average loss intervals from one packet on, evenly spaced on a logarithmic axis.
fn intervals(longest: f64) -> impl Iterator<Item = f64> {
    (0..)
        .map(|i| (f64::from(i) / PER_DOUBLING).exp2())
        .take_while(move |a| *a <= longest)
}

/// Packets a round trip at an average loss interval: 1.2·√A, the constant as the paper rounds it.
fn simple(interval: f64) -> f64 {
    1.2 * interval.sqrt()
}

/// The same by the full equation.
fn full(interval: f64) -> f64 {
    let p = LossEventRate::new(1.0 / interval);
    equation::rate(Bytes::new(1), Duration::from_secs(1), p).bytes_per_sec()
}

/// δ_T (`sigcomm` equation 5, for any response function).
fn increase(response: fn(f64) -> f64, interval: f64, weight: f64) -> f64 {
    let rate = response(interval);
    response(interval + weight * rate) - rate
}

/// The allowed rate while a queue builds up behind it (`sigcomm` §A.3).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueingDelay {
    /// Average loss intervals A, in packets.
    intervals: Vec<f64>,
    /// Round trips looked at.
    round_trips: u32,
    /// Weight of the most recent interval.
    weight: f64,
    /// δ_T, packets a round trip.
    increase: f64,
}

impl Scenario for QueueingDelay {
    fn verify(&self) -> Result<(), Impossible> {
        let sound = !self.intervals.is_empty() && self.intervals.iter().all(|a| *a >= 1.0);
        require(sound, "intervals", "one or more, of at least 1 packet")?;
        require((0.0..=1.0).contains(&self.weight), "weight", "from 0 to 1")?;
        require(self.increase > 0.0, "increase", "above 0")
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, _job: Job<'_>) -> Result<Sample, RunError> {
        let mut sample = Sample::default();
        let mut furthest: f64 = 0.0;
        for &a in &self.intervals {
            let curve: Vec<(f64, f64)> = (0..=self.round_trips)
                .map(|n| (f64::from(n), self.rate_after(f64::from(n), a) / simple(a)))
                .collect();
            let deviation = 100.0 * off_one(curve.iter().map(|(_, y)| *y));
            sample.metric(format!("deviation_pct_interval_{a}"), deviation);
            furthest = furthest.max(deviation);
            sample.curve("rate", format!("A = {a}"), curve);
        }
        sample.metric("largest_deviation_pct", furthest);
        Ok(sample)
    }
}

impl QueueingDelay {
    /// Packets per round trip of the empty queue, n round trips after the queue began to grow.
    fn rate_after(&self, n: f64, a: f64) -> f64 {
        let received = n * simple(a) + n * (n - 1.0) / 2.0 * self.increase;
        let round_trip = 1.0 + n * self.increase / simple(a);
        simple(a + self.weight * received) / round_trip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_increase_follows_equation_5() {
        // 1.2·(√(100 + 1.2·10/6) − √100).
        let expected = 1.2 * (102f64.sqrt() - 10.0);
        assert!((increase(simple, 100.0, 1.0 / 6.0) - expected).abs() < 1e-12);
    }

    #[test]
    fn the_rate_starts_at_the_links() {
        let scenario = QueueingDelay {
            intervals: vec![100.0],
            round_trips: 1,
            weight: 1.0 / 6.0,
            increase: 0.14,
        };
        assert_eq!(scenario.rate_after(0.0, 100.0), simple(100.0));
        // n = 1: A grows by 2, the round trip by 0.14/12.
        let expected = 1.2 * 102f64.sqrt() / (1.0 + 0.14 / 12.0);
        assert!((scenario.rate_after(1.0, 100.0) - expected).abs() < 1e-12);
    }
}
