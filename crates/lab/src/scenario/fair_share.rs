//! As many TCP as TFRC flows on one bottleneck, over rates, numbers of flows and queues: who gets how
//! much? (`sigcomm` §4.1, figures 6 and 7.)

use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{Throughput, cov, drop_rate, least, mean, utilisation};
use crate::network::{Bottleneck, Flows, Measured, Protocol, Queue, Stage};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_queues, require_recordable, require_window};
use crate::units::{BitRate, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FairShare {
    /// Of the bottleneck.
    rates: Vec<BitRate>,
    /// TCP flows, and as many TFRC flows.
    pairs: Vec<usize>,
    /// Of the bottleneck at `queues_at`; a faster link has more in proportion.
    queues: Vec<Queue>,
    /// The rate that `queues` are for.
    queues_at: BitRate,
    /// Their paths and packets.
    flows: Flows,
    /// From and to when they are measured.
    measured: [Time; 2],
}

/// One combination: a cell.
#[derive(Clone, Copy, Debug)]
struct Case {
    queue: Queue,
    rate: BitRate,
    pairs: usize,
}

impl Scenario for FairShare {
    fn verify(&self) -> Result<(), Impossible> {
        self.flows.verify()?;
        require_queues(&self.queues, self.flows.packet)?;
        require(!self.rates.is_empty(), "rates", "one or more")?;
        let sound = |pairs: &usize| (1..=5_000).contains(pairs);
        let pairs = !self.pairs.is_empty() && self.pairs.iter().all(sound);
        require(pairs, "pairs", "one or more numbers from 1 to 5000")?;
        require_window("measured", self.measured)?;
        let most = self.pairs.iter().max().copied().unwrap_or_default();
        require_recordable("measured", self.measured, 2 * most)
    }

    fn cells(&self) -> usize {
        self.queues.len() * self.rates.len() * self.pairs.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let measured = self.stage(job.cell, job.seed).run(job)?;
        Ok(self.sample(self.case(job.cell), &measured, job.seed))
    }

    fn derive(&self, findings: &mut Findings) {
        let values = |prefix: &str| -> Vec<f64> {
            let metrics = findings.metrics.iter();
            let of = metrics.filter(|(name, _)| name.starts_with(prefix));
            of.map(|(_, estimate)| estimate.mean).collect()
        };
        let mut derived = Vec::new();
        for queue in &self.queues {
            let key = queue.key();
            let shares = values(&format!("tcp_normalised_mean_{key}_"));
            derived.push((format!("tcp_normalised_{key}"), mean(&shares)));
            derived.push((format!("tcp_normalised_min_{key}"), least(shares)));
            let used = values(&format!("utilisation_{key}_"));
            derived.push((format!("utilisation_min_{key}"), least(used)));
            for spread in ["tcp_spread", "tfrc_spread"] {
                let of = values(&format!("{spread}_{key}_"));
                // One flow alone has no spread.
                let of: Vec<f64> = of.into_iter().filter(|s| s.is_finite()).collect();
                derived.push((format!("{spread}_{key}"), mean(&of)));
            }
        }
        if let [first, second] = self.queues.as_slice() {
            let [first, second] = [first, second].map(|queue| queue.key());
            let [of_first, of_second] =
                [first, second].map(|key| values(&format!("drop_rate_{key}_")));
            let ratios = of_second.iter().zip(&of_first).map(|(a, b)| a / b);
            let name = format!("drop_rate_{second}_over_{first}_min");
            derived.push((name, least(ratios)));
        }
        for (name, value) in derived {
            findings.derive(name, value);
        }
        let ratios: Vec<(String, f64)> = self
            .queues
            .iter()
            .map(|queue| {
                let key = queue.key();
                let [tfrc, tcp] = ["tfrc_spread", "tcp_spread"]
                    .map(|spread| findings.value(&format!("{spread}_{key}")));
                (format!("tfrc_spread_over_tcp_spread_{key}"), tfrc / tcp)
            })
            .collect();
        for (name, value) in ratios {
            findings.derive(name, value);
        }
    }
}

impl FairShare {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let case = self.case(cell);
        let protocols = [Protocol::Tcp, Protocol::Tfrc].repeat(case.pairs);
        let factor = case.rate.0 / self.queues_at.0;
        let bottleneck = Bottleneck::new(case.rate, case.queue.scaled(factor));
        let measured = self.measured.map(|time| Instant::ZERO + time.0);
        Stage::new(bottleneck, self.flows.draw(&protocols, seed), measured)
    }

    fn case(&self, cell: usize) -> Case {
        let (rest, pairs) = (cell / self.pairs.len(), cell % self.pairs.len());
        let (queue, rate) = (rest / self.rates.len(), rest % self.rates.len());
        Case {
            queue: self.queues[queue],
            rate: self.rates[rate],
            pairs: self.pairs[pairs],
        }
    }

    fn sample(&self, case: Case, measured: &Measured, seed: u64) -> Sample {
        let window = self.measured[1].0 - self.measured[0].0;
        let fair = case.rate.0.bytes_per_sec() / (2 * case.pairs) as f64;
        let share = |flow: &Throughput| flow.mean().bytes_per_sec() / fair;
        let of = |first: usize| -> Vec<f64> {
            let flows = measured.received.iter().skip(first).step_by(2);
            flows.map(share).collect()
        };
        let (tcp, tfrc) = (of(0), of(1));
        let megabits = case.rate.0.bits_per_sec() / 1e6;
        let (queue, pairs) = (case.queue, case.pairs);
        let cell = format!("{}_{megabits}mbps_{pairs}", queue.key());
        let used = utilisation(measured.carried, case.rate.0, window);

        let mut sample = Sample::default();
        sample.metric(format!("tcp_normalised_mean_{cell}"), mean(&tcp));
        sample.metric(format!("tfrc_normalised_mean_{cell}"), mean(&tfrc));
        sample.metric(format!("utilisation_{cell}"), used);
        let dropped = drop_rate(measured.dropped, measured.arrived);
        sample.metric(format!("drop_rate_{cell}"), dropped);
        sample.metric(format!("tcp_spread_{cell}"), cov(&tcp));
        sample.metric(format!("tfrc_spread_{cell}"), cov(&tfrc));
        let (flows, key) = ((2 * pairs) as f64, queue.key());
        let name = format!("{megabits} Mb/s");
        sample.curve(format!("share_{key}"), &name, [(flows, mean(&tcp))]);
        sample.curve(format!("drops_{key}"), &name, [(flows, dropped)]);
        // Every flow a point, of one simulation: a mean over seeds would hide the spread.
        if seed == 1 {
            for (name, shares) in [("TCP", &tcp), ("TFRC", &tfrc)] {
                let points = shares.iter().map(|share| (flows, *share));
                sample.curve(format!("flows_{key}"), name, points);
            }
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cells_are_every_combination_once() {
        let scenario: FairShare = toml::from_str(
            r#"rates = ["1Mb/s", "2Mb/s", "4Mb/s"]
               pairs = [1, 8]
               queues = [{ drop-tail = { packets = 50 } }, { drop-tail = { packets = 60 } }]
               queues_at = "2Mb/s"
               measured = ["1s", "2s"]
               flows.packet = "1000B"
               flows.rtt = ["80ms", "120ms"]
               flows.start = ["0s", "1s"]
               flows.tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = false }"#,
        )
        .unwrap();
        assert!(scenario.verify().is_ok());
        let cases: BTreeSet<String> = (0..scenario.cells())
            .map(|cell| format!("{:?}", scenario.case(cell)))
            .collect();
        assert_eq!(cases.len(), 12);
    }
}
