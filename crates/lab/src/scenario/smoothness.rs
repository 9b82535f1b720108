//! As many TCP as TFRC flows on one bottleneck: how alike are their rates, and how smooth, on every
//! timescale? (`sigcomm` §4.1, figures 8 to 10.)

use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{
    TIMESCALES, Throughput, cov, drop_rate, equivalence_ratio, friendliness, mean, utilisation,
};
use crate::network::{Bottleneck, Flows, Measured, Protocol, Queue, Stage};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_bins, require_queues, require_recordable, require_window};
use crate::units::{BitRate, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smoothness {
    /// Of the bottleneck.
    rate: BitRate,
    /// Of the bottleneck. One cell each.
    queues: Vec<Queue>,
    /// TCP flows, and as many TFRC flows.
    pairs: usize,
    /// Their paths and packets.
    flows: Flows,
    /// From and to when they are measured.
    measured: [Time; 2],
    /// δ; the usual ten unless given.
    #[serde(default = "usual")]
    timescales: Vec<Time>,
    /// The timescale of the rates that are drawn.
    drawn: Time,
    /// Flows of each protocol that are drawn.
    drawn_flows: usize,
}

fn usual() -> Vec<Time> {
    TIMESCALES.map(Time).to_vec()
}

impl Scenario for Smoothness {
    fn verify(&self) -> Result<(), Impossible> {
        self.flows.verify()?;
        require_queues(&self.queues, self.flows.packet)?;
        let pairs = (2..=5_000).contains(&self.pairs) && self.pairs.is_multiple_of(2);
        require(pairs, "pairs", "even, from 2 to 5000")?;
        require_window("measured", self.measured)?;
        require_recordable("measured", self.measured, 2 * self.pairs)?;
        require_bins("timescales", &self.timescales)?;
        require_bins("drawn", [&self.drawn])?;
        require(
            self.drawn_flows <= self.pairs,
            "drawn_flows",
            "at most pairs",
        )
    }

    fn cells(&self) -> usize {
        self.queues.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let measured = self.stage(job.cell, job.seed).run(job)?;
        Ok(self.sample(self.queues[job.cell], &measured, job.seed))
    }

    fn derive(&self, findings: &mut Findings) {
        for queue in &self.queues {
            self.derive_of(*queue, findings);
        }
    }
}

/// Flows of one protocol.
fn of(protocol: Protocol, flows: &[Throughput]) -> Vec<&Throughput> {
    let skipped = usize::from(protocol == Protocol::Tfrc);
    flows.iter().skip(skipped).step_by(2).collect()
}

impl Smoothness {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        // Alternating, so that neither protocol has the earlier places.
        let protocols = [Protocol::Tcp, Protocol::Tfrc].repeat(self.pairs);
        let bottleneck = Bottleneck::new(self.rate, self.queues[cell]);
        let measured = self.measured.map(|time| Instant::ZERO + time.0);
        Stage::new(bottleneck, self.flows.draw(&protocols, seed), measured)
    }

    /// `name`, and the queue's name behind it where there are several.
    fn named(&self, name: &str, queue: Queue) -> String {
        if self.queues.len() > 1 {
            format!("{name}_{}", queue.key())
        } else {
            name.to_owned()
        }
    }

    fn sample(&self, queue: Queue, measured: &Measured, seed: u64) -> Sample {
        let mut sample = Sample::default();
        let window = self.measured[1].0 - self.measured[0].0;
        let rate = |flow: &&Throughput| flow.mean().bytes_per_sec();
        let throughputs = [Protocol::Tcp, Protocol::Tfrc]
            .map(|protocol| of(protocol, &measured.received).iter().map(rate).collect());
        let [tcp, tfrc]: [Vec<f64>; 2] = throughputs;
        for (name, value) in [
            (
                "utilisation",
                utilisation(measured.carried, self.rate.0, window),
            ),
            ("drop_rate", drop_rate(measured.dropped, measured.arrived)),
            ("tfrc_over_tcp", friendliness(&tfrc, &tcp)),
        ] {
            sample.metric(self.named(name, queue), value);
        }
        let (tcp, tfrc) = (
            of(Protocol::Tcp, &measured.sent),
            of(Protocol::Tfrc, &measured.sent),
        );
        for timescale in &self.timescales {
            self.at_timescale(&mut sample, queue, *timescale, &tcp, &tfrc);
        }
        // One run is drawn: a mean over seeds would hide what it is about.
        if seed == 1 {
            self.draw(&mut sample, queue, &tcp, &tfrc);
        }
        sample
    }

    fn at_timescale(
        &self,
        sample: &mut Sample,
        queue: Queue,
        timescale: Time,
        tcp: &[&Throughput],
        tfrc: &[&Throughput],
    ) {
        let delta = timescale.secs();
        let rates = |flows: &[&Throughput]| -> Vec<Vec<f64>> {
            flows.iter().map(|flow| flow.rates(timescale.0)).collect()
        };
        let (tcp, tfrc) = (rates(tcp), rates(tfrc));
        let across = tcp.iter().zip(&tfrc);
        let across: Vec<f64> = across.map(|(a, b)| equivalence_ratio(a, b)).collect();
        let within = |flows: &[Vec<f64>]| -> f64 {
            let pairs = flows.chunks_exact(2);
            mean(
                &pairs
                    .map(|pair| equivalence_ratio(&pair[0], &pair[1]))
                    .collect::<Vec<f64>>(),
            )
        };
        let covs = |flows: &[Vec<f64>]| mean(&flows.iter().map(|r| cov(r)).collect::<Vec<f64>>());
        for (group, metric, curve, value) in [
            (
                "equivalence",
                "equivalence_tcp_tfrc",
                "TCP and TFRC",
                mean(&across),
            ),
            (
                "equivalence",
                "equivalence_tfrc_tfrc",
                "TFRC and TFRC",
                within(&tfrc),
            ),
            (
                "equivalence",
                "equivalence_tcp_tcp",
                "TCP and TCP",
                within(&tcp),
            ),
            ("cov", "cov_tfrc", "TFRC", covs(&tfrc)),
            ("cov", "cov_tcp", "TCP", covs(&tcp)),
        ] {
            sample.metric(format!("{}_{delta}s", self.named(metric, queue)), value);
            sample.curve(self.named(group, queue), curve, [(delta, value)]);
        }
    }

    fn draw(&self, sample: &mut Sample, queue: Queue, tcp: &[&Throughput], tfrc: &[&Throughput]) {
        for (name, flows) in [("TCP", tcp), ("TFRC", tfrc)] {
            let group = self.named(&format!("rates_{}", name.to_lowercase()), queue);
            for (index, flow) in flows.iter().take(self.drawn_flows).enumerate() {
                let rates = flow.rates(self.drawn.0);
                let kilobytes = rates.into_iter().map(|rate| rate / 1e3);
                let points = flow.times(self.drawn.0).into_iter().zip(kilobytes);
                sample.curve(&group, format!("{name} {}", index + 1), points);
            }
        }
    }

    /// The extremes over all timescales.
    fn derive_of(&self, queue: Queue, findings: &mut Findings) {
        let at = |metric: &str, timescale: &Time| {
            let name = self.named(metric, queue);
            findings.value(&format!("{name}_{}s", timescale.secs()))
        };
        let over = |value: &dyn Fn(&Time) -> f64| -> (f64, f64) {
            let values = self.timescales.iter().map(value);
            values.fold((f64::NAN, f64::NAN), |(least, most), v| {
                (v.min(least), v.max(most))
            })
        };
        let equivalence = over(&|t| at("equivalence_tcp_tfrc", t));
        let gain = over(&|t| at("equivalence_tfrc_tfrc", t) - at("equivalence_tcp_tcp", t));
        let ratio = over(&|t| at("cov_tfrc", t) / at("cov_tcp", t));
        for (name, value) in [
            ("equivalence_tcp_tfrc_min", equivalence.0),
            ("equivalence_tcp_tfrc_max", equivalence.1),
            ("equivalence_tfrc_pairs_less_tcp_pairs_min", gain.0),
            ("cov_tfrc_over_cov_tcp_max", ratio.1),
        ] {
            findings.derive(self.named(name, queue), value);
        }
    }
}
