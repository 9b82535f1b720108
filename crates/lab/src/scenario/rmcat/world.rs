//! A `World` simulates a case: its links and flows, the changes of its rates and delays, and its queues.

use evenkeel_link::{Change, Jitter, LinkConfig, Random};
use evenkeel_sim::{Access, End, FlowId, LinkId, Observer, Place, Shape, Simulation, Traffic};
use tfrc::time::{Duration, Instant};

use super::flow::CallEnds;
use super::model_state::ModelState;
use super::record::Record;
use super::{Case, Rmcat};
use crate::error::{RunError, broken};
use crate::job::Job;
use crate::network::advance;
use crate::units::Time;

/// Between two looks at the queues.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Above the streams of the links.
const STREAMS: u64 = 1 << 32;

/// A simulation of a case.
pub(super) struct World {
    pub(super) sim: Simulation<Traffic>,
    pub(super) flows: Vec<FlowId>,
    /// The bottlenecks along most data.
    pub(super) forward: Vec<LinkId>,
    /// In the order of their times.
    pub(super) changes: Vec<(LinkId, Change)>,
    pub(super) length: Duration,
}

/// What became of it.
pub(super) struct CaseRecord<R = Record> {
    pub(super) record: R,
    /// The time at which each was looked at, in seconds, and how long a packet would have waited at
    /// each bottleneck.
    pub(super) queues: Vec<(f64, Vec<f64>)>,
    /// The path models of calls at the same times.
    pub(super) models: Vec<ModelState>,
    pub(super) sim: Simulation<Traffic>,
    pub(super) flows: Vec<FlowId>,
    pub(super) forward: Vec<LinkId>,
}

impl World {
    /// `call` makes the ends of calls.
    pub(super) fn new(
        case: &Case,
        rmcat: &Rmcat,
        seed: u64,
        call: &CallEnds<'_>,
    ) -> Result<Self, RunError> {
        let hops: Vec<[LinkConfig; 2]> = case
            .bottleneck
            .iter()
            .map(|capacity| {
                let back = case.backward.as_ref().map(|capacity| case.link(capacity));
                let (mut forward, mut back) = (case.link(capacity), back.unwrap_or_default());
                case.path.apply(&mut forward);
                case.backward_path.apply(&mut back);
                [forward, back]
            })
            .collect();
        let mut shape = Shape::chain(&hops).map_err(|error| broken(&error))?;
        let plain = |delay| LinkConfig {
            delay,
            ..LinkConfig::default()
        };
        let late = |delay| LinkConfig {
            jitter: Jitter::Normal(case.jitter.unwrap_or(rmcat.jitter).0),
            ..plain(delay)
        };
        for flow in &case.flow {
            let half = flow.delay.0 / 2;
            let access = Access {
                sender: [late(half), plain(half)],
                receiver: [plain(half), late(half)],
            };
            let [from, to] = flow.hop.map_or([0, hops.len()], |hop| [hop, hop + 1]);
            let [from, to] = [from, to].map(Shape::router);
            shape
                .add_pair(from, to, access)
                .map_err(|error| broken(&error))?;
        }
        let mut sim = Simulation::new(&shape.topology, seed);
        let mut flows = Vec::new();
        for (index, (flow, place)) in case.flow.iter().zip(&shape.places).enumerate() {
            let random = Random::new(seed, STREAMS + index as u64);
            let [sender, receiver] = flow.ends(&rmcat.tcp, &rmcat.tfrc, case.ecn, random, call)?;
            let Place { forward, reverse } = place;
            let (there, back) = if flow.backward {
                (reverse, forward)
            } else {
                (forward, reverse)
            };
            flows.push(sim.add_flow(there, back, sender, receiver));
        }
        let ways = shape.bottlenecks.iter().map(|[forward, _]| *forward);
        let forward: Vec<LinkId> = ways.collect();
        let back = shape.bottlenecks[0][1];
        let capacities = forward.iter().copied().zip(&case.bottleneck);
        let limited = case.backward.iter().map(|capacity| (back, capacity));
        let capacities = capacities.chain(limited);
        for (link, capacity) in capacities.clone() {
            if let Some(trace) = capacity.trace() {
                sim.set_trace(link, trace.clone());
            }
        }
        let change = |at: Time, rate, delay| Change {
            at: at.0,
            rate,
            delay,
            loss: None,
        };
        let rates = capacities.flat_map(|(link, capacity)| {
            let changes = capacity.changes();
            changes.map(move |(at, rate)| (link, change(at, Some(rate.0), None)))
        });
        let delays = case.detour.iter().flat_map(|(at, delay)| {
            shape.bottlenecks[0].map(|link| (link, change(*at, None, Some(delay.0))))
        });
        let mut changes: Vec<(LinkId, Change)> = rates.chain(delays).collect();
        changes.sort_by_key(|(_, change)| change.at);
        Ok(Self {
            sim,
            flows,
            forward,
            changes,
            length: case.length(),
        })
    }

    /// Runs it to its end while `record` looks on.
    pub(super) fn run<R: Observer<Traffic>>(
        mut self,
        job: Job<'_>,
        mut record: R,
    ) -> Result<CaseRecord<R>, RunError> {
        let (mut queues, mut models) = (Vec::new(), Vec::new());
        let end = Instant::ZERO + self.length;
        let mut changes = self.changes.into_iter().peekable();
        while self.sim.now() < end {
            let mut next = end.min(self.sim.now() + POLL_INTERVAL);
            if let Some((_, change)) = changes.peek() {
                next = next.min(Instant::ZERO + change.at);
            }
            advance(&mut self.sim, next, job, &mut record)?;
            let is_due = |change: &Change| Instant::ZERO + change.at <= next;
            while let Some((link, change)) = changes.next_if(|(_, change)| is_due(change)) {
                self.sim.change_link(link, &change);
            }
            let waits = self.forward.iter().map(|link| {
                let link = self.sim.link(*link);
                link.queue_delay(next).as_secs_f64()
            });
            queues.push((next.as_secs_f64(), waits.collect()));
            let senders = self.flows.iter().map(|id| self.sim.agent(*id, End::Sender));
            models.extend(senders.filter_map(|sender| ModelState::of(next, sender)));
        }
        Ok(CaseRecord {
            record,
            queues,
            models,
            sim: self.sim,
            flows: self.flows,
            forward: self.forward,
        })
    }
}
