//! TFRC and its relatives, each beside as many TCP flows: share, likeness to TCP and smoothness.
//!
//! Sources: `thesis` §2.5.2; `sigcomm` §4.1 for the metrics.

use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::{
    TIMESCALES, Throughput, cov, drop_rate, equivalence_ratio, friendliness, mean, utilisation,
};
use crate::network::{Bottleneck, Flows, Measured, Protocol, Queue, Run};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_recordable, require_window};
use crate::units::{BitRate, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controllers {
    /// Of the bottleneck.
    rate: BitRate,
    /// Of the bottleneck.
    queue: Queue,
    /// One cell each.
    controller: Vec<Controller>,
    /// TCP flows, and as many of the other kind.
    pairs: usize,
    /// Their paths and packets.
    flows: Flows,
    /// From and to when they are measured.
    measured: [Time; 2],
}

/// What is put beside TCP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Controller {
    /// In the legend, and in names of metrics.
    name: String,
    protocol: Protocol,
}

impl Scenario for Controllers {
    fn verify(&self) -> Result<(), Impossible> {
        self.flows.verify()?;
        self.queue.verify(self.flows.packet)?;
        require(!self.controller.is_empty(), "controller", "one or more")?;
        let protocols = self.controller.iter().map(|one| one.protocol);
        protocols.into_iter().try_for_each(Protocol::verify)?;
        let pairs = (1..=1_000).contains(&self.pairs);
        require(pairs, "pairs", "from 1 to 1000")?;
        require_window("measured", self.measured)?;
        require_recordable("measured", self.measured, 2 * self.pairs)
    }

    fn cells(&self) -> usize {
        self.controller.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let controller = &self.controller[job.cell];
        let window = self.measured.map(|time| Instant::ZERO + time.0);
        // Alternating, so that neither protocol has the earlier places.
        let pair = [Protocol::Tcp, controller.protocol];
        let members = self.flows.draw(&pair.repeat(self.pairs), job.seed);
        let bottleneck = Bottleneck::new(self.rate, self.queue);
        let run = Run::new(&bottleneck, &members, window, job.seed)?;
        let measured = run.measure(window, job)?;
        Ok(self.sample(&controller.name, &measured))
    }
}

impl Controllers {
    fn sample(&self, name: &str, measured: &Measured) -> Sample {
        let mut sample = Sample::default();
        let kind = |flows: &[Throughput], first: usize| -> Vec<Throughput> {
            flows.iter().skip(first).step_by(2).cloned().collect()
        };
        let rates = |flows: &[Throughput]| -> Vec<f64> {
            let means = flows.iter().map(Throughput::mean);
            means.map(tfrc::units::Rate::bytes_per_sec).collect()
        };
        let [tcp, other] = [0, 1].map(|first| rates(&kind(&measured.received, first)));
        let window = self.measured[1].0 - self.measured[0].0;
        for (metric, value) in [
            ("share_over_tcp", friendliness(&other, &tcp)),
            (
                "utilisation",
                utilisation(measured.carried, self.rate.0, window),
            ),
            ("drop_rate", drop_rate(measured.dropped, measured.arrived)),
        ] {
            sample.metric(format!("{metric}_{name}"), value);
        }
        let [tcp, other] = [0, 1].map(|first| kind(&measured.sent, first));
        for timescale in TIMESCALES {
            let delta = timescale.as_secs_f64();
            let rates = |flows: &[Throughput]| -> Vec<Vec<f64>> {
                flows.iter().map(|flow| flow.rates(timescale)).collect()
            };
            let (tcp, other) = (rates(&tcp), rates(&other));
            let pairs = tcp.iter().zip(&other);
            let alike: Vec<f64> = pairs.map(|(a, b)| equivalence_ratio(a, b)).collect();
            let covs =
                |flows: &[Vec<f64>]| mean(&flows.iter().map(|r| cov(r)).collect::<Vec<f64>>());
            for (metric, value) in [
                ("equivalence", mean(&alike)),
                ("cov", covs(&other)),
                ("cov_tcp_beside", covs(&tcp)),
            ] {
                sample.metric(format!("{metric}_{name}_{delta}s"), value);
                sample.curve(metric, name, [(delta, value)]);
            }
        }
        sample
    }
}
