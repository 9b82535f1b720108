//! The call, and plain TFRC, beside TCP on one bottleneck, over a grid of paths and orders of joining; and calls alone.
//!
//! The link has an equal share for each flow. The first to join is alone for a while, then all are there, and the TCP flows
//! leave before the call does.

mod cell;
mod recovery;
mod summary;

use serde::Deserialize;
use tfrc::time::Instant;

use self::cell::{CellFlow, GridCell, JoinOrder, SharedPath};
use self::recovery::{RecoveryBin, seconds_to_recover};
use super::flow::Kind as FlowKind;
use super::record::BIN;
use super::sample::{Period, possible};
use super::{Case, CaseRecord, Rmcat};
use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{friendliness, least, mean, median};
use crate::network::{Tcp, TcpVariant, Tfrc};
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BesideTcp {
    /// Loss recovery of the TCP flows.
    variants: Vec<TcpVariant>,
    /// Numbers of TCP flows.
    counts: Vec<usize>,
    /// Propagation delays of all flows, there and back.
    round_trips: Vec<Time>,
    /// What the drop-tail queue of the bottleneck holds.
    queues: Vec<Time>,
    /// When the call joins.
    orders: Vec<JoinOrder>,
    /// The link's rate for each flow.
    equal_share: BitRate,
    /// σ of the jitter.
    jitter: Time,
    /// For how long the first to join is alone.
    alone: Time,
    /// For how long all flows are there.
    together: Time,
    /// How much of that passes before shares are measured.
    settling: Time,
    /// For how long the call goes on when the TCP has left.
    afterwards: Time,
    /// The least and the largest fair rate, divided by the rate of a TCP flow.
    fair: [f64; 2],
    /// The call has recovered in time if it takes no longer than this.
    recovered_within: Time,
    lone: LoneCalls,
}

/// Calls without any other traffic.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoneCalls {
    /// Rates of the link. Lone calls have the same round trips as calls beside TCP.
    rates: Vec<BitRate>,
    queues: Vec<Time>,
    length: Time,
}

/// A call has recovered when it has this share of what it could have alone.
const RECOVERED_SHARE: f64 = 0.9;

impl Scenario for BesideTcp {
    fn verify(&self) -> Result<(), Impossible> {
        require(!self.variants.is_empty(), "variants", "one or more")?;
        let counts = !self.counts.is_empty() && self.counts.iter().all(|n| (1..=100).contains(n));
        require(counts, "counts", "one or more numbers from 1 to 100")?;
        require(!self.round_trips.is_empty(), "round_trips", "one or more")?;
        require(!self.queues.is_empty(), "queues", "one or more")?;
        require(!self.orders.is_empty(), "orders", "one or more")?;
        require(!self.lone.rates.is_empty(), "rates", "one or more")?;
        require(!self.lone.queues.is_empty(), "queues", "one or more")?;
        for (time, key) in [
            (self.alone, "alone"),
            (self.together, "together"),
            (self.settling, "settling"),
            (self.afterwards, "afterwards"),
        ] {
            let whole = time.0.as_nanos().is_multiple_of(BIN.as_nanos());
            require(whole, key, "a multiple of 200ms")?;
        }
        let settles = self.settling < self.together;
        require(settles, "settling", "shorter than together")?;
        let [low, high] = self.fair;
        require(0.0 < low && low < high, "fair", "[least, largest], above 0")?;
        let mut cells = self.grid().into_iter();
        cells.try_for_each(|cell| self.case(cell).verify())
    }

    fn cells(&self) -> usize {
        self.grid().len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let cell = self.grid()[job.cell];
        let variant = match cell {
            GridCell::Shared(path, _) => path.variant,
            GridCell::Lone(_) => TcpVariant::Sack,
        };
        let rmcat = Rmcat {
            tcp: Tcp {
                variant,
                ..Tcp::default()
            },
            tfrc: Tfrc::default(),
            jitter: self.jitter,
            case: vec![self.case(cell)],
        };
        let case = &rmcat.case[0];
        let seen = rmcat.simulate(case, job)?;
        let mut sample = Sample::default();
        match cell {
            GridCell::Shared(path, flow) => self.of_shared(&mut sample, path, flow, case, &seen),
            GridCell::Lone(path) => {
                let name = format!("competing_s_{}", path.name());
                sample.metric(name, competing_seconds(&seen, [0.0, f64::INFINITY]));
            }
        }
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        summary::derive(self, findings);
    }
}

impl BesideTcp {
    fn of_shared(
        &self,
        sample: &mut Sample,
        path: SharedPath,
        flow: CellFlow,
        case: &Case,
        seen: &CaseRecord,
    ) {
        let window = self.measured().map(|time| Instant::ZERO + time.0);
        let rates = |kind: fn(FlowKind) -> bool| -> Vec<f64> {
            let flows = case.flow.iter().zip(&seen.record.0);
            let flows = flows.filter(|(flow, _)| kind(flow.kind));
            flows
                .map(|(_, packets)| mean(&packets.received.within(BIN, window)))
                .collect()
        };
        let media = rates(FlowKind::is_media);
        let tcp = rates(|kind| kind == FlowKind::Tcp);
        let share = friendliness(&media, &tcp);
        sample.metric(path.metric(flow.over_tcp()), share);
        if flow == CellFlow::Call {
            let [from, to] = self.measured().map(Time::secs);
            let seconds = competing_seconds(seen, [from, to]);
            let percent = 100.0 * seconds / (to - from);
            sample.metric(path.metric("competing_pct"), percent);
            let seconds = self.recovery_seconds(case, seen);
            sample.metric(path.metric("lone_again_s"), seconds);
        }
    }

    /// When the shares are measured.
    fn measured(&self) -> [Time; 2] {
        let joined = self.alone.0;
        [self.settling.0, self.together.0].map(|since| Time(joined + since))
    }

    /// How long the call takes, from when the TCP leaves, to have its rate and its queueing delay as alone.
    fn recovery_seconds(&self, case: &Case, seen: &CaseRecord) -> f64 {
        let [left, end] = [self.measured()[1].secs(), case.length().as_secs_f64()];
        let inside = |at: f64| at > left && at <= end;
        let window = [left, end].map(|at| Instant::ZERO + tfrc::units::duration_from_secs(at));
        let rates = seen.record.0[0].received.within(BIN, window).into_iter();
        let queues = seen.queues.iter().filter(|(at, _)| inside(*at));
        let queues: Vec<f64> = queues.map(|(_, waits)| waits[0]).collect();
        let models = seen.models.iter().filter(|model| inside(model.at));
        let targets: Vec<f64> = models.map(|model| model.target).collect();
        let looks = (BIN.as_nanos() / super::world::POLL_INTERVAL.as_nanos()) as usize;
        let looks = queues.chunks_exact(looks).zip(targets.chunks_exact(looks));
        let bins: Vec<RecoveryBin> = rates
            .zip(looks)
            .map(|(rate, (queues, targets))| RecoveryBin {
                rate: rate * 8.0,
                queue: least(queues.iter().copied()),
                target: median(targets),
            })
            .collect();
        let alone = Period {
            from: left,
            to: end,
        };
        let needed = RECOVERED_SHARE * possible(case, &case.flow[0], &alone);
        seconds_to_recover(&bins, needed)
    }
}

/// For how many seconds of this time the calls follow TFRC's X alone.
fn competing_seconds(seen: &CaseRecord, [from, to]: [f64; 2]) -> f64 {
    let inside = |at: f64| at > from && at <= to;
    let competing = seen.models.iter();
    let competing = competing.filter(|model| model.competes && inside(model.at));
    competing.count() as f64 * super::world::POLL_INTERVAL.as_secs_f64()
}

#[cfg(test)]
mod tests;
