//! One TFRC flow fills buffers of several sizes: how far its rate oscillates, without and with the spacing by √R.
//!
//! Sources: `sigcomm` §3.4, figures 3 and 4; RFC 5348 §4.5.

use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{cov, least, utilisation};
use crate::network::{
    Bottleneck, Feedback, Member, Protocol, Queue, Speaks, Stacks, Stage, Tcp, Tfrc,
};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_bins, require_recordable, require_window};
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oscillation {
    /// Of the bottleneck.
    rate: BitRate,
    /// With an empty queue.
    rtt: Time,
    /// Of every packet.
    packet: Size,
    /// The flow; without and with the spacing, whatever this says of it.
    #[serde(default)]
    tfrc: Tfrc,
    /// Buffer sizes in packets. Two cells each: without and with the spacing.
    buffers: Vec<u32>,
    /// From and to when it is measured.
    measured: [Time; 2],
    /// The timescale of the coefficient of variation.
    timescale: Time,
    /// The timescale of the rates that are drawn.
    drawn: Time,
    /// What the receiver reports; p and X_recv unless given.
    #[serde(default)]
    feedback: Feedback,
}

/// Cells of a buffer: the spacing, and its name.
const SPACINGS: [(bool, &str); 2] = [(false, "without"), (true, "with")];

impl Scenario for Oscillation {
    fn verify(&self) -> Result<(), Impossible> {
        self.stacks(false).verify()?;
        let some = !self.buffers.is_empty() && self.buffers.iter().all(|packets| *packets > 0);
        require(some, "buffers", "one or more numbers of at least 1")?;
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        require_window("measured", self.measured)?;
        require_recordable("measured", self.measured, 1)?;
        require_bins("timescale", [&self.timescale])?;
        require_bins("drawn", [&self.drawn])
    }

    fn cells(&self) -> usize {
        self.buffers.len() * SPACINGS.len()
    }

    fn comparable_stage(&self, cell: usize, _seed: u64) -> Option<Stage> {
        Some(self.stage(cell))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let packets = self.buffers[job.cell / SPACINGS.len()];
        let (_, name) = SPACINGS[job.cell % SPACINGS.len()];
        let measured = self.stage(job.cell).run(job)?;
        let sent = &measured.sent[0];
        let value = cov(&sent.rates(self.timescale.0));
        let time = self.measured[1].0 - self.measured[0].0;

        let mut sample = Sample::default();
        sample.metric(format!("cov_{name}_{packets}"), value);
        let used = utilisation(measured.carried, self.rate.0, time);
        sample.metric(format!("utilisation_{name}_{packets}"), used);
        sample.curve(
            "cov",
            format!("{name} the spacing"),
            [(f64::from(packets), value)],
        );
        let kilobytes = sent.rates(self.drawn.0).into_iter().map(|rate| rate / 1e3);
        let points = sent.times(self.drawn.0).into_iter().zip(kilobytes);
        sample.curve(
            format!("rates_{name}"),
            format!("{packets} packets"),
            points,
        );
        Ok(sample)
    }

    /// The oscillation is one of large buffers: the largest is what is compared. And how much the CoV
    /// without the spacing grows from one buffer to the next at the least.
    fn derive(&self, findings: &mut Findings) {
        let largest = self.buffers.iter().max().copied().unwrap_or(0);
        let of = |name: &str| findings.value(&format!("cov_{name}_{largest}"));
        let ratio = of("with") / of("without");
        findings.derive("cov_with_over_without_largest", ratio);
        let covs = self.buffers.iter();
        let covs = covs.map(|packets| findings.value(&format!("cov_without_{packets}")));
        let covs: Vec<f64> = covs.collect();
        let steps = covs.windows(2).map(|pair| pair[1] / pair[0]);
        findings.derive("cov_without_least_step", least(steps));
    }
}

impl Oscillation {
    fn stacks(&self, spacing: bool) -> Stacks {
        Stacks {
            packet: self.packet,
            // None takes part.
            tcp_packet: self.packet,
            tcp: Tcp::default(),
            tfrc: Tfrc {
                spacing,
                ..self.tfrc
            },
        }
    }

    fn stage(&self, cell: usize) -> Stage {
        let packets = self.buffers[cell / SPACINGS.len()];
        let (spacing, _) = SPACINGS[cell % SPACINGS.len()];
        let bottleneck = Bottleneck::new(self.rate, Queue::DropTail { packets });
        let stacks = self.stacks(spacing);
        let flow = Member {
            speaks: Speaks::Long(Protocol::Tfrc, self.feedback),
            stacks,
            reverse: false,
            rtt: self.rtt.0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        };
        let measured = self.measured.map(|time| Instant::ZERO + time.0);
        Stage::new(bottleneck, vec![flow], measured)
    }
}
