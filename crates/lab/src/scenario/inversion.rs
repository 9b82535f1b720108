//! What it takes to find the p of a first loss interval: the paper's binary search, and ours by Newton's
//! method. Both are counted, in steps and in the paper's cycles. (`light` §V, table VI.)

use serde::Deserialize;
use tfrc::equation;
use tfrc::units::{LossEventRate, Rate};

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::network::require_packet;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inversion {
    /// s.
    packet: Size,
    /// R. A curve each.
    rtts: Vec<Time>,
    /// The rates at which the first loss may come, least and most.
    rates: [BitRate; 2],
    /// The one of the paper's example.
    example: (Time, BitRate),
}

/// Rates looked at for each doubling.
const PER_DOUBLING: f64 = 4.0;
/// The paper stops a search then.
const MOST_STEPS: u32 = 50;
/// The tolerance of the rate, as a share (RFC 5348 §6.3.1).
const RATE_TOLERANCE: f64 = 0.05;

/// Cycles that the paper counts for an addition or a maximum, a multiplication, and a division or a root.
const ADDITION: f64 = 0.5;
const MULTIPLICATION: f64 = 15.0;
const DIVISION: f64 = 70.0;

/// Cycles of n steps of the paper's search, by its table VI.
fn cycles_of_search(n: f64) -> f64 {
    (4.0 * n + 4.0) * ADDITION
        + (8.0 * n + 8.0) * MULTIPLICATION
        + (2.0 * n + 2.0) * DIVISION
        + n * DIVISION
}

/// Cycles of n steps of ours: eleven products, six sums and a quotient each, with two quotients and two products
/// to begin and end with.
fn cycles_of_newton(n: f64) -> f64 {
    n * (6.0 * ADDITION + 11.0 * MULTIPLICATION + DIVISION) + 2.0 * (DIVISION + MULTIPLICATION)
}

impl Scenario for Inversion {
    fn verify(&self) -> Result<(), Impossible> {
        require_packet(self.packet)?;
        let rtts = self.rtts.iter().chain([&self.example.0]);
        let some = !self.rtts.is_empty() && rtts.clone().all(|rtt| !rtt.0.is_zero());
        require(some, "rtts", "one or more, above 0")?;
        let [least, most] = self.rates.map(|rate| rate.0);
        let ordered = Rate::ZERO < least && least <= most;
        require(ordered, "rates", "[least, most], above 0")
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, _job: Job<'_>) -> Result<Sample, RunError> {
        let mut sample = Sample::default();
        let [mut most_of_search, mut most_of_newton] = [0; 2];
        for rtt in &self.rtts {
            let mut curves = [const { Vec::new() }; 2];
            for rate in self.swept() {
                let [search, newton] = self.steps(*rtt, rate);
                most_of_search = search.max(most_of_search);
                most_of_newton = newton.max(most_of_newton);
                let megabits = rate.bits_per_sec() / 1e6;
                curves[0].push((megabits, f64::from(search)));
                curves[1].push((megabits, f64::from(newton)));
            }
            for (name, curve) in ["binary search", "Newton's method"].iter().zip(curves) {
                let millis = rtt.secs() * 1e3;
                sample.curve("steps", format!("{name}, {millis} ms"), curve);
            }
        }
        let (rtt, rate) = self.example;
        let [search, newton] = self.steps(rtt, rate.0);
        for (name, value) in [
            ("steps_search", f64::from(search)),
            ("steps_newton", f64::from(newton)),
            ("steps_search_most", f64::from(most_of_search)),
            ("steps_newton_most", f64::from(most_of_newton)),
            ("cycles_search", cycles_of_search(search.into())),
            ("cycles_newton", cycles_of_newton(newton.into())),
            ("cycles_search_worst", cycles_of_search(MOST_STEPS.into())),
            (
                "cycles_newton_most",
                cycles_of_newton(most_of_newton.into()),
            ),
        ] {
            sample.metric(name, value);
        }
        Ok(sample)
    }
}

impl Inversion {
    fn swept(&self) -> impl Iterator<Item = Rate> {
        let [least, most] = self.rates.map(|rate| rate.0);
        (0..)
            .map(move |i| least * (f64::from(i) / PER_DOUBLING).exp2())
            .take_while(move |rate| *rate <= most)
    }

    /// Of the binary search, and of Newton's method, which is exact to rounding.
    fn steps(&self, rtt: Time, rate: Rate) -> [u32; 2] {
        let newton = equation::steps_to_loss_event_rate(self.packet.0, rtt.0, rate);
        [self.search(rtt, rate), newton]
    }

    /// Halves the range of p until the equation gives the rate.
    fn search(&self, rtt: Time, rate: Rate) -> u32 {
        let (mut low, mut high) = (0.0, 1.0);
        for step in 1..MOST_STEPS {
            let p = f64::midpoint(low, high);
            let allowed = equation::rate(self.packet.0, rtt.0, LossEventRate::new(p));
            let ratio = allowed / rate;
            if (ratio - 1.0).abs() <= RATE_TOLERANCE {
                return step;
            }
            if ratio > 1.0 { low = p } else { high = p }
        }
        MOST_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_operations_make_the_papers_cycles() {
        assert_eq!(cycles_of_search(MOST_STEPS.into()), 16_862.0);
    }
}
