//! Loss events per packet against packets lost, for a flow at the fair rate, at half and at twice of
//! it (`sigcomm` §3.5.1, figure 5).

use evenkeel_link::{Link, LinkConfig, Loss};
use serde::Deserialize;
use tfrc::equation;
use tfrc::loss::LossEstimator;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate};
use tfrc::{Arrival, Ecn, ReceiverConfig};

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::off_one;
use crate::scenario::contract::Scenario;
use crate::units::Share;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossEventFraction {
    /// Packets lost, each independently. One cell each.
    loss: Vec<Share>,
    /// Packets sent in each measurement.
    packets: u64,
    /// Losses from here to `moderate_to` are moderate: there the paper's bound is claimed.
    moderate_from: Share,
    /// See `moderate_from`.
    moderate_to: Share,
}

/// The flows: name, and rate over the fair one.
const FLOWS: [(&str, f64); 3] = [("half", 0.5), ("fair", 1.0), ("double", 2.0)];
/// Any will do: everything here is per round trip.
const RTT: Duration = Duration::from_millis(100);

impl Scenario for LossEventFraction {
    fn verify(&self) -> Result<(), Impossible> {
        let sound = !self.loss.is_empty() && self.loss.iter().all(|p| p.0 > 0.0 && p.0 < 1.0);
        require(sound, "loss", "one or more shares between 0 % and 100 %")?;
        let range = 1_000..=100_000_000;
        require(range.contains(&self.packets), "packets", "from 1000 to 1e8")?;
        let ordered = self.moderate_from < self.moderate_to;
        require(ordered, "moderate_to", "above moderate_from")
    }

    fn cells(&self) -> usize {
        self.loss.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let p = self.loss[job.cell].0;
        let mut sample = Sample::default();
        for (name, factor) in FLOWS {
            job.go_on()?;
            let window = factor * packets_per_rtt(p);
            sample.curve("formula", name, [(p, by_formula(p, window))]);
            let measured = self.measure(p, window, job.seed);
            sample.curve("measured", name, [(p, measured)]);
        }
        sample.curve("formula", "every loss an event", [(p, p)]);
        sample.curve("measured", "every loss an event", [(p, p)]);
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        let moderate = self.moderate_from.0..=self.moderate_to.0;
        let mut metrics = Vec::new();
        for (group, prefix) in [("formula", ""), ("measured", "measured_")] {
            let mut all: f64 = 0.0;
            for curve in findings.group(group) {
                let points = curve.points.iter().filter(|at| moderate.contains(&at.x));
                let largest = 100.0 * off_one(points.map(|at| at.y.mean / at.x));
                all = all.max(largest);
                if FLOWS.iter().any(|(name, _)| *name == curve.name) {
                    let name = &curve.name;
                    metrics.push((format!("{prefix}largest_difference_pct_{name}"), largest));
                }
            }
            metrics.push((format!("{prefix}largest_difference_pct"), all));
        }
        for (name, value) in metrics {
            findings.derive(name, value);
        }
    }
}

/// N: packets a round trip at the fair rate (`sigcomm` equation 2).
fn packets_per_rtt(p: f64) -> f64 {
    let second = Duration::from_secs(1);
    equation::rate(Bytes::new(1), second, LossEventRate::new(p)).bytes_per_sec()
}

/// The chance that a round trip of N packets has a loss, per packet.
fn by_formula(p: f64, window: f64) -> f64 {
    (1.0 - (1.0 - p).powf(window)) / window
}

impl LossEventFraction {
    /// Loss events that the estimator counts, per packet, at a constant rate.
    fn measure(&self, p: f64, window: f64, seed: u64) -> f64 {
        let config = LinkConfig {
            loss: Loss::Bernoulli(p),
            ..LinkConfig::default()
        };
        let mut link = Link::new(config, seed);
        let mut estimator = LossEstimator::new(&ReceiverConfig::default());
        let spacing = RTT.as_secs_f64() / window;
        let mut events = 0;
        for seq in 0..self.packets {
            let at = Instant::from_nanos((seq as f64 * spacing * 1e9) as u64);
            link.handle_packet(at, seq, Bytes::new(1));
            while let Some(seq) = link.poll_output(at) {
                let arrival = Arrival {
                    seq,
                    at,
                    timestamp: 0,
                    rtt: Some(RTT),
                    size: Bytes::new(1),
                    ecn: Ecn::NotEct,
                };
                let arrived = estimator.handle_arrival(&arrival, || 1.0);
                events += arrived.new_events;
            }
        }
        events as f64 / self.packets as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_one_packet_a_round_trip_every_loss_is_an_event() {
        assert!((by_formula(0.1, 1.0) - 0.1).abs() < 1e-15);
        // (1 − 0.81)/2.
        assert!((by_formula(0.1, 2.0) - 0.095).abs() < 1e-15);
    }

    #[test]
    fn losses_of_one_round_trip_are_measured_as_one_event() {
        let scenario = LossEventFraction {
            loss: vec![Share(0.02)],
            packets: 200_000,
            moderate_from: Share(0.01),
            moderate_to: Share(0.1),
        };
        // A loss, then a round trip of 20 packets that joins it, then 1/p until the next.
        let expected = 1.0 / (1.0 / 0.02 + 20.0);
        let got = scenario.measure(0.02, 20.0, 1);
        assert!((got / expected - 1.0).abs() < 0.04, "{got}, not {expected}");
    }
}
