//! Every other packet is lost from an instant on: how many round trips until the rate is halved?
//! (`sigcomm` §A.2, figures 20 and 21.)

use evenkeel_link::Loss;
use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::flow::{Flow, TfrcFlowEvent, TfrcFlowSetup, packets_per_rtt};
use crate::job::Job;
use crate::metrics::{halving, least, most};
use crate::network::{Stage, Tfrc, require_packet};
use crate::reader::Times;
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_lost_one_in, require_round_trips};
use crate::units::{Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistentCongestion {
    /// Round-trip time.
    rtt: Time,
    /// Of every packet.
    packet: Size,
    /// Its edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// Before: the last of this many packets is lost. One cell each.
    lost_one_in: Vec<u64>,
    /// How long the flow has run at the zero of the figure, in loss intervals or seconds, whichever
    /// is longer: the average must have forgotten slow start.
    lead_in: Time,
    /// When every other packet begins to be lost.
    begins_at: Time,
    /// When the run ends.
    until: Time,
}

/// Loss intervals that the average needs to forget all but the steady loss (RFC 5348 §5.4).
const INTERVALS: f64 = 9.0;
/// Loss rates up to this are low: there the paper claims at least five round trips.
const LOW_LOSS_RATE: f64 = 0.01;

impl Scenario for PersistentCongestion {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_packet(self.packet)?;
        require_round_trips("until", self.until, self.rtt)?;
        require(
            !self.lost_one_in.is_empty(),
            "lost_one_in",
            "one or more numbers",
        )?;
        require_lost_one_in(self.lost_one_in.iter().copied())?;
        require(self.until > self.begins_at, "until", "after begins_at")
    }

    fn cells(&self) -> usize {
        self.lost_one_in.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let period = self.lost_one_in[job.cell];
        let zero = self.zero(period);
        let lead_in = zero - Instant::ZERO;
        let onset = zero + self.begins_at.0;
        let mut flow = Flow::new(&TfrcFlowSetup {
            rtt: self.rtt.0,
            packet: self.packet.0,
            loss: Loss::Periodic(period),
            tfrc: self.tfrc,
            times: Times::Arrival,
            patience: None,
            seed: job.seed,
        });
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut see = |at: Instant, seen: TfrcFlowEvent| {
            if let TfrcFlowEvent::Feedback { allowed, rtt } = seen {
                let t = at.as_secs_f64() - lead_in.as_secs_f64();
                steps.push((t, packets_per_rtt(allowed, rtt, self.packet.0)));
            }
        };
        flow.run_until(onset, &mut see);
        job.go_on()?;
        flow.set_loss(onset, Loss::Periodic(2));
        flow.run_until(zero + self.until.0, &mut see);

        let halved = halving(&steps, self.begins_at.secs());
        let p = 1.0 / period as f64;
        let mut sample = Sample::default();
        for (metric, curve, value) in [
            (
                "rtts_to_halve",
                "round trips of congestion",
                halved.congested,
            ),
            (
                "elapsed_rtts_to_halve",
                "round trips elapsed",
                halved.elapsed / self.rtt.secs(),
            ),
        ] {
            sample.metric(format!("{metric}_one_in_{period}"), value);
            sample.curve("response", curve, [(p, value)]);
        }
        sample.curve("rate", format!("one in {period} lost before"), steps);
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        let of = |period: &u64| findings.value(&format!("rtts_to_halve_one_in_{period}"));
        if let [period] = &self.lost_one_in[..] {
            findings.derive("rtts_to_halve", of(period));
            return;
        }
        let low = |period: &&u64| 1.0 / **period as f64 <= LOW_LOSS_RATE;
        let all = self.lost_one_in.iter();
        let metrics = [
            ("rtts_to_halve_min", least(all.clone().map(of))),
            ("rtts_to_halve_max", most(all.clone().map(of))),
            (
                "rtts_to_halve_min_at_low_rates",
                least(all.filter(low).map(of)),
            ),
        ];
        for (name, value) in metrics {
            findings.derive(name, value);
        }
    }
}

impl PersistentCongestion {
    /// The same between ends that may be sessions, measured from when every other packet is lost.
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let period = self.lost_one_in[cell];
        let zero = self.zero(period);
        let [onset, until] = [self.begins_at, self.until].map(|time| zero + time.0);
        let losses = vec![
            (Instant::ZERO, Loss::Periodic(period)),
            (onset, Loss::Periodic(2)),
        ];
        Stage::alone(
            self.rtt.0,
            self.packet,
            self.tfrc,
            losses,
            [onset, until],
            seed,
        )
    }

    /// The zero of the figure.
    fn zero(&self, period: u64) -> Instant {
        Instant::ZERO + self.lead_in.0.max(self.time_of_intervals(period))
    }

    /// Twice what the average needs, at the rate of the equation's square-root part.
    fn time_of_intervals(&self, period: u64) -> tfrc::time::Duration {
        let period = period as f64;
        let packets_per_rtt = (1.5 * period).sqrt();
        let round_trips = 2.0 * INTERVALS * period / packets_per_rtt;
        tfrc::units::duration_from_secs(round_trips * self.rtt.secs())
    }
}
