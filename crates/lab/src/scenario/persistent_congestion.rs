//! Every other packet is lost from an instant on: how many round trips until the rate is halved?
//! (`sigcomm` §A.2, figures 20 and 21.)

use evenkeel_link::Loss;
use serde::Deserialize;
use tfrc::time::Instant;

use super::{Impossible, Job, RunError, Scenario, require};
use crate::findings::{Findings, Sample};
use crate::flow::{Flow, Seen, Setup, packets_per_rtt};
use crate::units::{Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistentCongestion {
    /// Round-trip time.
    rtt: Time,
    /// Of every packet.
    packet: Size,
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
const LOW: f64 = 0.01;

impl Scenario for PersistentCongestion {
    fn verify(&self) -> Result<(), Impossible> {
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        let sound = !self.lost_one_in.is_empty() && self.lost_one_in.iter().all(|n| *n >= 4);
        require(sound, "lost_one_in", "one or more numbers of at least 4")?;
        require(self.until > self.begins_at, "until", "after begins_at")
    }

    fn cells(&self) -> usize {
        self.lost_one_in.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let period = self.lost_one_in[job.cell];
        let lead_in = self.lead_in.0.max(self.time_of_intervals(period));
        let zero = Instant::ZERO + lead_in;
        let onset = zero + self.begins_at.0;
        let mut flow = Flow::new(&Setup {
            rtt: self.rtt.0,
            packet: self.packet.0,
            loss: Loss::Periodic(period),
            seed: job.seed,
        });
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mut see = |at: Instant, seen: Seen| {
            if let Seen::Feedback { allowed, rtt } = seen {
                let t = at.as_secs_f64() - lead_in.as_secs_f64();
                steps.push((t, packets_per_rtt(allowed, rtt, self.packet.0)));
            }
        };
        flow.run_until(onset, &mut see);
        job.go_on()?;
        flow.set_loss(onset, Loss::Periodic(2));
        flow.run_until(zero + self.until.0, &mut see);

        let begins_at = self.begins_at.secs();
        let after = steps.partition_point(|(t, _)| *t < begins_at);
        let before = steps[..after].last().map_or(f64::NAN, |(_, x)| *x);
        let halved = steps[after..].iter().find(|(_, x)| *x <= before / 2.0);
        let rtts = halved.map_or(f64::NAN, |(t, _)| {
            ((t - begins_at) / self.rtt.secs()).ceil()
        });
        let p = 1.0 / period as f64;
        let mut sample = Sample::default();
        sample.metric(format!("rtts_to_halve_one_in_{period}"), rtts);
        sample.curve(
            "rate",
            format!("one in {period} lost before"),
            steps.iter().copied(),
        );
        sample.curve("response", "round trips to halve", [(p, rtts)]);
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        let rtts: Vec<(f64, f64)> = findings
            .group("response")
            .flat_map(|curve| curve.points.iter().map(|point| (point.x, point.y.mean)))
            .collect();
        if let [(_, only)] = rtts[..] {
            findings.derive("rtts_to_halve", only);
            return;
        }
        let least = |points: &mut dyn Iterator<Item = f64>| points.fold(f64::NAN, f64::min);
        let all = |all: &[(f64, f64)]| all.iter().map(|(_, y)| *y).collect::<Vec<_>>();
        let low: Vec<(f64, f64)> = rtts.iter().copied().filter(|(p, _)| *p <= LOW).collect();
        findings.derive("rtts_to_halve_min", least(&mut all(&rtts).into_iter()));
        findings.derive(
            "rtts_to_halve_max",
            all(&rtts).into_iter().fold(f64::NAN, f64::max),
        );
        findings.derive(
            "rtts_to_halve_min_at_low_rates",
            least(&mut all(&low).into_iter()),
        );
    }
}

impl PersistentCongestion {
    /// Twice what the average needs, at the rate of the equation's square-root part.
    fn time_of_intervals(&self, period: u64) -> tfrc::time::Duration {
        let period = period as f64;
        let packets_per_rtt = (1.5 * period).sqrt();
        let round_trips = 2.0 * INTERVALS * period / packets_per_rtt;
        tfrc::units::duration_from_secs(round_trips * self.rtt.secs())
    }
}
