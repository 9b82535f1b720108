//! The loss rate changes in steps: how does the average loss interval follow? (`sigcomm` §3.3.1,
//! figure 2.)

use evenkeel_link::Loss;
use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::flow::{Flow, TfrcFlowEvent, TfrcFlowSetup, packets_per_rtt};
use crate::job::Job;
use crate::metrics::{cov, largest_increase_pct, mean};
use crate::network::{Stage, Tfrc, require_packet};
use crate::reader::Times;
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_lost_one_in, require_round_trips};
use crate::units::{Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SteppedLoss {
    /// Round-trip time.
    rtt: Time,
    /// Of every packet.
    packet: Size,
    /// Its edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// How long the flow has run at the zero of the figure.
    lead_in: Time,
    /// In order; the last one ends the run.
    phases: Vec<Phase>,
}

/// A time of constant loss.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Phase {
    /// It ends here.
    until: Time,
    /// The last of this many packets is lost.
    lost_one_in: u64,
}

/// Intervals that the naive average takes in: as many as TFRC's.
const NAIVE: usize = 8;

impl SteppedLoss {
    /// The same between ends that may be sessions, measured from the zero of the figure on.
    fn stage(&self, seed: u64) -> Stage {
        let zero = Instant::ZERO + self.lead_in.0;
        let ends = self.phases.iter().map(|phase| zero + phase.until.0);
        let begins = [Instant::ZERO].into_iter().chain(ends);
        let losses = begins
            .zip(&self.phases)
            .map(|(at, phase)| (at, Loss::Periodic(phase.lost_one_in)))
            .collect();
        let end = self
            .phases
            .last()
            .map_or(zero, |phase| zero + phase.until.0);
        Stage::alone(
            self.rtt.0,
            self.packet,
            self.tfrc,
            losses,
            [zero, end],
            seed,
        )
    }
}

impl Scenario for SteppedLoss {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_packet(self.packet)?;
        let ordered = self.phases.windows(2).all(|w| w[0].until < w[1].until);
        require(ordered, "phases", "in the order of their ends")?;
        require(self.phases.len() >= 2, "phases", "two or more")?;
        let end = self.phases[self.phases.len() - 1].until;
        require_round_trips("phases", end, self.rtt)?;
        require_lost_one_in(self.phases.iter().map(|phase| phase.lost_one_in))
    }

    fn comparable_stage(&self, _cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(seed))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let lead_in = self.lead_in.0;
        let mut watch = Watch::new(self, lead_in.as_secs_f64());
        let mut flow = Flow::new(&TfrcFlowSetup {
            rtt: self.rtt.0,
            packet: self.packet.0,
            loss: Loss::Periodic(self.phases[0].lost_one_in),
            tfrc: self.tfrc,
            times: Times::Arrival,
            patience: None,
            seed: job.seed,
        });
        let mut changes = self.phases.iter().peekable();
        while let Some(phase) = changes.next() {
            let end = Instant::ZERO + lead_in + phase.until.0;
            flow.run_until(end, &mut |at, seen| watch.see(at, seen));
            if let Some(next) = changes.peek() {
                flow.set_loss(end, Loss::Periodic(next.lost_one_in));
            }
        }
        Ok(self.measure(watch))
    }
}

/// What the receiver had at a report, and the sender made of it.
#[derive(Clone, Copy, Debug)]
struct Step {
    t: f64,
    current: f64,
    average: f64,
    naive: f64,
}

struct Watch<'a> {
    scenario: &'a SteppedLoss,
    zero: f64,
    /// First packets of the loss events, the newest last.
    events: Vec<u64>,
    highest: u64,
    steps: Vec<Step>,
    rates: Vec<(f64, f64)>,
}

impl<'a> Watch<'a> {
    fn new(scenario: &'a SteppedLoss, zero: f64) -> Self {
        Self {
            scenario,
            zero,
            events: Vec::new(),
            highest: 0,
            steps: Vec::new(),
            rates: Vec::new(),
        }
    }

    fn see(&mut self, at: Instant, seen: TfrcFlowEvent) {
        let t = at.as_secs_f64() - self.zero;
        match seen {
            TfrcFlowEvent::Arrival { seq, arrived } => {
                self.highest = seq;
                if arrived.new_events > 0 {
                    // Three later packets tell of a loss, and losses here are single.
                    self.events.push(seq.saturating_sub(3));
                }
            }
            TfrcFlowEvent::Report { p } => {
                let last = self.events.last().copied().unwrap_or(0);
                self.steps.push(Step {
                    t,
                    current: (self.highest + 1 - last) as f64,
                    average: 1.0 / p.get(),
                    naive: self.naive(),
                });
            }
            TfrcFlowEvent::Feedback { allowed, rtt } => {
                let x = packets_per_rtt(allowed, rtt, self.scenario.packet.0);
                self.rates.push((t, x));
            }
            TfrcFlowEvent::Silence { .. } => {}
        }
    }

    /// The plain mean of the last closed intervals; not a number before there are as many.
    fn naive(&self) -> f64 {
        let lengths: Vec<f64> = self
            .events
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect();
        let from = lengths.len().checked_sub(NAIVE);
        from.map_or(f64::NAN, |from| mean(&lengths[from..]))
    }
}

impl SteppedLoss {
    fn measure(&self, watch: Watch<'_>) -> Sample {
        let shown: Vec<Step> = watch
            .steps
            .into_iter()
            .filter(|step| step.t >= 0.0)
            .collect();
        let first_end = self.phases[0].until.secs();
        let last_change = self.phases[self.phases.len() - 2].until.secs();
        let before: Vec<f64> = shown
            .iter()
            .filter(|step| step.t < first_end)
            .map(|step| 1.0 / step.average)
            .collect();
        let largest = |average: fn(&Step) -> f64| {
            let after = shown.iter().filter(|step| step.t >= last_change);
            largest_increase_pct(&after.map(average).collect::<Vec<f64>>())
        };
        let (ours, naive) = (largest(|step| step.average), largest(|step| step.naive));

        let mut sample = Sample::default();
        sample.metric(format!("p_mean_before_{first_end}"), mean(&before));
        sample.metric(format!("p_cov_before_{first_end}"), cov(&before));
        sample.metric(format!("largest_step_after_{last_change}_pct"), ours);
        sample.metric(format!("naive_largest_step_after_{last_change}_pct"), naive);
        sample.metric("largest_step_over_naive", ours / naive);
        let curve = |value: fn(&Step) -> f64| shown.iter().map(move |step| (step.t, value(step)));
        sample.curve("interval", "current", curve(|step| step.current));
        sample.curve("interval", "average", curve(|step| step.average));
        sample.curve("interval", "naive average", curve(|step| step.naive));
        sample.curve("loss", "p", curve(|step| 1.0 / step.average));
        sample.curve("loss", "√p", curve(|step| (1.0 / step.average).sqrt()));
        let rates = watch.rates.into_iter().filter(|(t, _)| *t >= 0.0);
        sample.curve("rate", "allowed rate", rates);
        sample
    }
}
