//! One TCP and one TFRC flow among many on-off UDP sources: loss, likeness and smoothness on every timescale.
//!
//! Source: `sigcomm` §4.1.3, figures 11 to 13.

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::duration_from_secs;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{cov, drop_rate, equivalence_ratio, friendliness, least, most, utilisation};
use crate::network::{Bottleneck, Flows, Measured, Protocol, Queue, Stage, Udp};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_bins, require_recordable, require_window};
use crate::units::{BitRate, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Of the bottleneck.
    rate: BitRate,
    queue: Queue,
    /// The TCP and the TFRC flow. Sources start when these may.
    flows: Flows,
    /// What a source sends.
    source: Udp,
    /// Numbers of sources. One cell each.
    sources: Vec<u32>,
    /// From and to when the two flows are measured.
    measured: [Time; 2],
    /// δ.
    timescales: Vec<Time>,
}

/// The two flows.
const MONITORED: [Protocol; 2] = [Protocol::Tcp, Protocol::Tfrc];
/// Above the streams of the flows and of the short connections.
const SOURCE_STREAMS: u64 = 2 << 32;

impl Scenario for OnOff {
    fn verify(&self) -> Result<(), Impossible> {
        self.flows.verify()?;
        self.queue.verify(self.flows.packet)?;
        self.source.verify()?;
        let some = !self.sources.is_empty() && self.sources.iter().all(|n| *n <= 10_000);
        require(some, "sources", "one or more numbers up to 10000")?;
        require_window("measured", self.measured)?;
        require(!self.timescales.is_empty(), "timescales", "one or more")?;
        require_bins("timescales", &self.timescales)?;
        require_recordable("measured", self.measured, MONITORED.len())
    }

    fn cells(&self) -> usize {
        self.sources.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let measured = self.stage(job.cell, job.seed).run(job)?;
        Ok(self.sample(self.sources[job.cell], &measured))
    }

    /// The extremes over all timescales, and how the two protocols compare on each.
    fn derive(&self, findings: &mut Findings) {
        for sources in &self.sources {
            let at = |metric: &str, timescale: &Time| {
                findings.value(&format!("{metric}_{sources}_{}s", timescale.secs()))
            };
            let equivalence = self.timescales.iter().map(|t| at("equivalence", t));
            let extremes = [
                ("equivalence_min", least(equivalence.clone())),
                ("equivalence_max", most(equivalence)),
            ];
            let ratios = self.timescales.iter().map(|t| {
                let name = format!("cov_tfrc_over_cov_tcp_{sources}_{}s", t.secs());
                (name, at("cov_tfrc", t) / at("cov_tcp", t))
            });
            let ratios: Vec<(String, f64)> = ratios.collect();
            let largest = most(ratios.iter().map(|(_, ratio)| *ratio));
            findings.derive(format!("cov_tfrc_over_cov_tcp_max_{sources}"), largest);
            for (name, value) in extremes {
                findings.derive(format!("{name}_{sources}"), value);
            }
            for (name, value) in ratios {
                findings.derive(name, value);
            }
        }
    }
}

impl OnOff {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let [earliest, latest] = self.flows.start.map(Time::secs);
        let sources = (0..self.sources[cell]).map(|index| {
            let mut random = Random::new(seed, SOURCE_STREAMS + u64::from(index));
            let start = earliest + (latest - earliest) * random.unit();
            let start = Instant::ZERO + duration_from_secs(start);
            (self.source, start, random)
        });
        let measured = self.measured.map(|time| Instant::ZERO + time.0);
        let bottleneck = Bottleneck::new(self.rate, self.queue);
        Stage {
            background: sources.collect(),
            ..Stage::new(bottleneck, self.flows.draw(&MONITORED, seed), measured)
        }
    }

    fn sample(&self, sources: u32, measured: &Measured) -> Sample {
        let mut sample = Sample::default();
        let window = self.measured[1].0 - self.measured[0].0;
        let lost = drop_rate(measured.dropped, measured.arrived);
        sample.metric(format!("loss_rate_{sources}"), lost);
        sample.curve("loss", "lost", [(f64::from(sources), 100.0 * lost)]);
        let used = utilisation(measured.carried, self.rate.0, window);
        sample.metric(format!("utilisation_{sources}"), used);
        let [tcp, tfrc] = [0, 1].map(|flow| measured.received[flow].mean().bytes_per_sec());
        sample.metric(
            format!("tfrc_over_tcp_{sources}"),
            friendliness(&[tfrc], &[tcp]),
        );
        for timescale in &self.timescales {
            let delta = timescale.secs();
            let [tcp, tfrc] = [0, 1].map(|flow| measured.sent[flow].rates(timescale.0));
            let curve = format!("{sources} sources");
            for (group, metric, value) in [
                ("equivalence", "equivalence", equivalence_ratio(&tcp, &tfrc)),
                ("cov_tfrc", "cov_tfrc", cov(&tfrc)),
                ("cov_tcp", "cov_tcp", cov(&tcp)),
            ] {
                sample.metric(format!("{metric}_{sources}_{delta}s"), value);
                sample.curve(group, curve.as_str(), [(delta, value)]);
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    #[test]
    fn sources_that_are_on_a_third_of_the_time_fill_a_link_of_a_third_of_their_rate() {
        let scenario: OnOff = toml::from_str(
            r#"rate = "2Mb/s"
               queue = { drop-tail = { packets = 20 } }
               source = { on-off = { packet = "1000B", rate = "100kb/s", on = "1s", off = "2s", shape = 3.0 } }
               sources = [15, 90]
               measured = ["10s", "60s"]
               timescales = ["1s"]
               flows = { packet = "1000B", rtt = ["40ms", "40ms"], start = ["0s", "3s"], tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = false } }"#,
        )
        .unwrap();
        assert_eq!(scenario.verify(), Ok(()));
        let findings = trial::findings(&scenario);
        let value = |name: &str| findings.value(name);
        // A quarter of the link, and all that two flows can use: what is lost is what makes them share.
        assert!(value("loss_rate_15") < 0.05, "{}", value("loss_rate_15"));
        assert!(value("utilisation_15") > 0.9);
        // Three megabits a second offered to two.
        let lost = value("loss_rate_90");
        assert!((0.25..0.45).contains(&lost), "{lost}");
        assert_eq!(value("equivalence_min_90"), value("equivalence_90_1s"));
        let ratio = value("cov_tfrc_90_1s") / value("cov_tcp_90_1s");
        assert_eq!(value("cov_tfrc_over_cov_tcp_90_1s"), ratio);
        assert_eq!(value("cov_tfrc_over_cov_tcp_max_90"), ratio);
    }
}
