//! Loss ends: how soon and how fast does the rate grow? (`sigcomm` §A.1, figure 19.)

use evenkeel_link::Loss;
use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::flow::{Flow, TfrcFlowEvent, TfrcFlowSetup, packets_per_rtt};
use crate::job::Job;
use crate::metrics::{largest_increase, mean_increase};
use crate::network::{Edition, Stage, Tfrc, require_packet};
use crate::reader::Times;
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_lost_one_in, require_round_trips};
use crate::units::{Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndOfCongestion {
    /// Round-trip time.
    rtt: Time,
    /// Of every packet.
    packet: Size,
    /// Its t_RTO; by both editions, whatever this says.
    #[serde(default)]
    tfrc: Tfrc,
    /// The last of this many packets is lost.
    lost_one_in: u64,
    /// How long the flow has run at the zero of the figure: slow start is over by then.
    lead_in: Time,
    /// When loss ends.
    ends_at: Time,
    /// When the run ends.
    until: Time,
}

/// Who is looked at: RFC 3448 discounts the history as the paper does, to one half; RFC 5348 to one
/// quarter (§5.5).
const EDITIONS: [(Edition, &str, &str); 2] = [
    (Edition::Rfc5348, "RFC 5348", ""),
    (Edition::Rfc3448, "RFC 3448, as the paper", "_rfc3448"),
];
/// An allowed rate above the steady one by this factor has begun to grow.
const GROWTH_FACTOR: f64 = 1.002;

impl Scenario for EndOfCongestion {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_packet(self.packet)?;
        require_round_trips("until", self.until, self.rtt)?;
        require_lost_one_in([self.lost_one_in])?;
        require(self.until > self.ends_at, "until", "after ends_at")
    }

    fn cells(&self) -> usize {
        EDITIONS.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn is_random(&self) -> bool {
        false
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let (edition, name, suffix) = EDITIONS[job.cell];
        let lead_in = self.lead_in.0;
        let zero = Instant::ZERO + lead_in;
        let end = zero + self.ends_at.0;
        let mut flow = Flow::new(&TfrcFlowSetup {
            rtt: self.rtt.0,
            packet: self.packet.0,
            loss: Loss::Periodic(self.lost_one_in),
            tfrc: Tfrc {
                edition,
                ..self.tfrc
            },
            times: Times::Arrival,
            patience: None,
            seed: job.seed,
        });
        let mut steps: Vec<Step> = Vec::new();
        // The current interval begins with the last packet lost.
        let (mut event_start, mut highest) = (0, 0);
        let mut see = |at: Instant, seen: TfrcFlowEvent| match seen {
            TfrcFlowEvent::Arrival { seq, arrived } => {
                if arrived.lost > 0 {
                    event_start = lost_before(seq);
                }
                highest = seq;
            }
            TfrcFlowEvent::Feedback { allowed, rtt } => steps.push(Step {
                t: at.as_secs_f64() - lead_in.as_secs_f64(),
                x: packets_per_rtt(allowed, rtt, self.packet.0),
                current_interval: (highest + 1 - event_start) as f64,
            }),
            TfrcFlowEvent::Report { .. } | TfrcFlowEvent::Silence { .. } => {}
        };
        flow.run_until(end, &mut see);
        flow.set_loss(end, Loss::None);
        flow.run_until(zero + self.until.0, &mut see);
        self.measure(&steps, name, suffix)
    }
}

/// What the sender knew after a report.
struct Step {
    t: f64,
    /// Allowed rate, packets a round trip.
    x: f64,
    /// Packets since the last loss event, at the receiver.
    current_interval: f64,
}

/// Three later packets tell of a loss (RFC 5348 §5.1), and losses here are single.
fn lost_before(seq: u64) -> u64 {
    seq.saturating_sub(3)
}

impl EndOfCongestion {
    /// The same between ends that may be sessions, measured once the loss has ended.
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let tfrc = Tfrc {
            edition: EDITIONS[cell].0,
            ..self.tfrc
        };
        let zero = Instant::ZERO + self.lead_in.0;
        let [end, until] = [self.ends_at, self.until].map(|time| zero + time.0);
        let losses = vec![
            (Instant::ZERO, Loss::Periodic(self.lost_one_in)),
            (end, Loss::None),
        ];
        Stage::alone(self.rtt.0, self.packet, tfrc, losses, [end, until], seed)
    }

    fn measure(&self, steps: &[Step], name: &str, suffix: &str) -> Result<Sample, RunError> {
        let ends_at = self.ends_at.secs();
        let after = steps.partition_point(|step| step.t < ends_at);
        let before = after
            .checked_sub(1)
            .map(|last| steps[last].x)
            .ok_or_else(|| RunError::Failed("no report came before the loss ended".into()))?;
        let later = &steps[after..];
        let average = self.lost_one_in as f64;
        let grows = later.partition_point(|step| step.x <= before * GROWTH_FACTOR);
        let discounts = later.partition_point(|step| step.current_interval <= 2.0 * average);
        let time = |index: usize| later.get(index).map_or(f64::NAN, |step| step.t);
        let without = &later[grows.min(discounts)..discounts];
        // One a report, and so a round trip.
        let rates = |steps: &[Step]| steps.iter().map(|step| step.x).collect::<Vec<f64>>();

        let mut sample = Sample::default();
        for (metric, value) in [
            ("rate_before_pkts_per_rtt", before),
            ("increase_starts_s", time(grows)),
            ("discount_starts_s", time(discounts)),
            (
                "increase_before_discount_pkts_per_rtt",
                mean_increase(&rates(without)),
            ),
            (
                "increase_with_discount_pkts_per_rtt",
                largest_increase(&rates(&later[discounts..])),
            ),
        ] {
            sample.metric(format!("{metric}{suffix}"), value);
        }
        let rates = steps.iter().map(|step| (step.t, step.x));
        sample.curve("rate", name, rates.filter(|(t, _)| *t >= 0.0));
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    #[test]
    fn the_increase_begins_after_one_average_interval_and_quickens_after_two() {
        let scenario: EndOfCongestion = toml::from_str(
            r#"rtt = "80ms"
               packet = "1000B"
               lost_one_in = 50
               lead_in = "20s"
               ends_at = "10s"
               until = "14s""#,
        )
        .unwrap();
        let findings = trial::findings_of(&scenario, [0]);
        let value = |name: &str| findings.value(name);
        assert!(value("increase_starts_s") > 10.0);
        assert!(value("discount_starts_s") > value("increase_starts_s"));
        let (slow, fast) = (
            value("increase_before_discount_pkts_per_rtt"),
            value("increase_with_discount_pkts_per_rtt"),
        );
        assert!(0.05 < slow && slow < 0.15 && fast > slow, "{slow} {fast}");
    }
}
