//! Calls on a bottleneck as RFC 8867 has them: paths that change, calls that come, pause and go, and TCP
//! beside them.
//!
//! A path has its propagation delay before and after the bottlenecks. Whatever an end sends is late by
//! |N(0, σ²)| up to 3σ, without reordering within a flow (RFC 8867 §4.2; RFC 8868 §4.5.2, by which jitter
//! is of the time of emission). The way back has no limit unless the case gives one.
//!
//! A bottleneck may follow a recorded cellular link, delivery by delivery. Where the recording is absent, a seeded
//! model of the link stands in.

mod beside_tcp;
mod capacity;
mod flow;
mod measured;
mod model_state;
mod peers;
mod record;
mod sample;

use std::path::Path;

use evenkeel_link::{
    Change, CoDelConfig, Discipline, FqCoDelConfig, Jitter, LinkConfig, PieConfig, QueueLimit,
    Random,
};
use evenkeel_sim::{Access, End, FlowId, LinkId, Observer, Place, Shape, Simulation, Traffic};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};

pub(super) use self::beside_tcp::BesideTcp;
use self::capacity::Capacity;
use self::flow::Flow;
pub use self::flow::{CallEnds, CallSetup};
use self::model_state::ModelState;
pub use self::peers::Peers;
use self::record::Record;
use crate::error::{Impossible, RunError, broken, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::network::{Impairments, Tcp, Tfrc, advance};
use crate::recorded;
use crate::scenario::contract::{ReadScenario, Scenario};
use crate::units::{Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rmcat {
    /// TCP flows, long and short.
    tcp: Tcp,
    /// Edition and t_RTO of calls and TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
    /// σ of the jitter.
    jitter: Time,
    /// One cell each.
    case: Vec<Case>,
}

/// A network and its flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// In names of metrics and of curves.
    name: String,
    /// What a queue holds.
    queue: QueueSize,
    /// What else decides which packets wait.
    #[serde(default)]
    discipline: Queueing,
    /// Media says ECT(0), and the queue marks where it would drop.
    #[serde(default)]
    ecn: bool,
    /// σ of the jitter, in place of the scenario's.
    jitter: Option<Time>,
    /// What every bottleneck does to the data besides queueing it.
    #[serde(default)]
    path: Impairments,
    /// What the way back does to reports and other packets.
    #[serde(default)]
    backward_path: Impairments,
    /// Propagation delay that the first bottleneck adds each way, from an instant on.
    #[serde(default)]
    detour: Vec<(Time, Time)>,
    /// The bottlenecks, one after the other: rates over time.
    bottleneck: Vec<Capacity>,
    /// The rate of the way back over time, where it is limited; with one bottleneck alone.
    backward: Option<Capacity>,
    /// The run ends with the last of them.
    flow: Vec<Flow>,
    /// The time over which use of the links and frames in time are measured, if they are.
    measured: Option<[Time; 2]>,
}

/// A time at the rate of the bottleneck (the mean rate of a trace), or bytes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a time such as \"300ms\" or a size such as \"150kB\""
)]
enum QueueSize {
    Time(Time),
    Size(Size),
}

impl QueueSize {
    fn limit(self) -> QueueLimit {
        match self {
            Self::Time(time) => QueueLimit::Time(time.0),
            Self::Size(size) => QueueLimit::Bytes(size.0),
        }
    }

    fn holds_packets(self) -> bool {
        match self {
            Self::Time(time) => !time.0.is_zero(),
            Self::Size(size) => size.0 >= QueueLimit::LEAST_BYTES,
        }
    }
}

/// The discipline of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Queueing {
    /// What does not fit is dropped.
    #[default]
    TailDrop,
    /// CoDel with its usual 5 and 100 ms (RFC 8289).
    Codel,
    /// The same for each flow (RFC 8290).
    FqCodel,
    /// PIE with its usual target of 15 ms (RFC 8033).
    Pie,
}

impl Scenario for Rmcat {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require(!self.case.is_empty(), "case", "one or more")?;
        self.case.iter().try_for_each(|case| {
            // Its packets are told apart by their order.
            let in_order = case.path.reordering.is_none() && case.path.duplication.is_none();
            require(in_order, "path", "without reordering or duplication")?;
            // Queueing delay is delay less one propagation delay.
            let constant = case.detour.is_empty();
            require(constant, "detour", "left out")?;
            case.verify()
        })
    }

    fn load(&mut self, folder: &Path, _read: ReadScenario<'_>) -> Result<(), Impossible> {
        self.load_recordings(folder)
    }

    fn absent_recordings(&self) -> Vec<&str> {
        let recordings = self.case.iter().flat_map(Case::recordings);
        let absent = recordings.filter_map(|(name, is_there)| (!is_there).then_some(name));
        absent.collect()
    }

    fn cells(&self) -> usize {
        self.case.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = self.case[job.cell].drawn(job.seed)?;
        Ok(sample::of(&case, &self.simulate(&case, job)?))
    }

    /// What a congested way back costs the first flow: its rate over that of the case without one.
    fn derive(&self, findings: &mut Findings) {
        let of =
            |case: &Case| findings.value(&format!("rate_kbps_{}_{}", case.flow[0].name, case.name));
        let congested = self.case.iter().find(|case| case.backward.is_some());
        let free = self.case.iter().find(|case| case.name == "free");
        if let Some((congested, free)) = congested.zip(free) {
            findings.derive("s1_over_free", of(congested) / of(free));
        }
    }
}

impl Rmcat {
    /// Runs a case with the product's calls.
    fn simulate(&self, case: &Case, job: Job<'_>) -> Result<CaseRecord, RunError> {
        let product = |call: CallSetup| call.product_ends(&self.tfrc, case.ecn);
        let world = World::new(case, self, job.seed, &product)?;
        world.run(job, Record::new(case.flow.len(), case.length()))
    }

    /// Reads the recordings that are there.
    fn load_recordings(&mut self, experiments: &Path) -> Result<(), Impossible> {
        let folder = recorded::folder(experiments);
        for (index, case) in self.case.iter_mut().enumerate() {
            let mut capacities = case.bottleneck.iter_mut().chain(&mut case.backward);
            let loaded = capacities.try_for_each(|capacity| capacity.load(&folder));
            loaded.map_err(|wrong| wrong.inside("case", index))?;
        }
        Ok(())
    }
}

impl Case {
    /// The recordings that are wanted, and whether they are there.
    fn recordings(&self) -> impl Iterator<Item = (&str, bool)> {
        let capacities = self.bottleneck.iter().chain(&self.backward);
        capacities.filter_map(Capacity::recording)
    }

    /// Copies the case, with traces drawn for the links without a recording.
    fn drawn(&self, seed: u64) -> Result<Self, RunError> {
        let mut case = self.clone();
        let capacities = case.bottleneck.iter_mut().chain(&mut case.backward);
        for (capacity, stream) in capacities.zip(TRACE_STREAMS..) {
            *capacity = capacity.drawn(&mut Random::new(seed, stream))?;
        }
        Ok(case)
    }

    fn verify(&self) -> Result<(), Impossible> {
        for (path, key) in [(&self.path, "path"), (&self.backward_path, "backward_path")] {
            path.verify()?;
            require(!path.is_scripted(), key, "without listed losses")?;
        }
        let ordered = self.detour.is_sorted_by(|a, b| a.0 < b.0);
        require(
            ordered,
            "detour",
            "[time, delay] pairs, each later than the last",
        )?;
        require(self.queue.holds_packets(), "queue", "a packet or more")?;
        let marks = !self.ecn || self.discipline != Queueing::TailDrop;
        require(marks, "ecn", "with a discipline that marks")?;
        require(!self.bottleneck.is_empty(), "bottleneck", "one or more")?;
        let backward = self.backward.as_ref();
        let single = backward.is_none() || self.bottleneck.len() == 1;
        require(single, "backward", "given with one bottleneck alone")?;
        for capacity in self.bottleneck.iter().chain(backward) {
            capacity.verify()?;
        }
        require(!self.flow.is_empty(), "flow", "one or more")?;
        let bits = |capacity: &Capacity| capacity.bits(0.0, self.length().as_secs_f64());
        let few = self.bottleneck.iter().all(|c| bits(c) <= MOST_BITS);
        require(
            few,
            "bottleneck",
            "10 Gbit over the run at most: slower, or every stop earlier",
        )?;
        let inside = |[from, to]: [Time; 2]| from < to && to.0 < self.length();
        let measured = self.measured.is_none_or(inside);
        require(measured, "measured", "[from, to], before the last stop")?;
        let hops = self.bottleneck.len();
        self.flow.iter().try_for_each(|flow| flow.verify(hops))
    }

    /// The part of a metric's name that tells several bottlenecks apart.
    fn link_suffix(&self, hop: usize) -> String {
        if self.bottleneck.len() == 1 {
            String::new()
        } else {
            format!("_link{}", hop + 1)
        }
    }

    fn length(&self) -> Duration {
        let stops = self.flow.iter().map(|flow| flow.stop.0);
        stops.max().unwrap_or_default()
    }

    fn link(&self, capacity: &Capacity) -> LinkConfig {
        LinkConfig {
            rate: capacity.first(),
            queue: self.queue.limit(),
            discipline: match self.discipline {
                Queueing::TailDrop => Discipline::DropTail,
                Queueing::Codel => Discipline::CoDel(CoDelConfig {
                    ecn: self.ecn,
                    ..CoDelConfig::default()
                }),
                Queueing::FqCodel => Discipline::FqCoDel(FqCoDelConfig {
                    codel: CoDelConfig {
                        ecn: self.ecn,
                        ..CoDelConfig::default()
                    },
                    ..FqCoDelConfig::default()
                }),
                Queueing::Pie => Discipline::Pie(PieConfig {
                    ecn: self.ecn,
                    ..PieConfig::default()
                }),
            },
            ..LinkConfig::default()
        }
    }
}

/// What a bottleneck may carry in a run, as every packet's delay is kept: some millions.
const MOST_BITS: f64 = 10e9;
/// Between two looks at the queues.
const LOOK: Duration = Duration::from_millis(50);
/// Above the streams of the links.
const STREAMS: u64 = 1 << 32;
/// Above the streams of the flows.
const TRACE_STREAMS: u64 = 1 << 33;

/// A simulation of a case.
struct World {
    sim: Simulation<Traffic>,
    flows: Vec<FlowId>,
    /// The bottlenecks along most data.
    forward: Vec<LinkId>,
    /// In the order of their times.
    changes: Vec<(LinkId, Change)>,
    length: Duration,
}

/// What became of it.
struct CaseRecord<R = Record> {
    record: R,
    /// The time at which each was looked at, in seconds, and how long a packet would have waited at
    /// each bottleneck.
    queues: Vec<(f64, Vec<f64>)>,
    /// The path models of calls at the same times.
    models: Vec<ModelState>,
    sim: Simulation<Traffic>,
    flows: Vec<FlowId>,
    forward: Vec<LinkId>,
}

impl World {
    /// `call` makes the ends of calls.
    fn new(case: &Case, rmcat: &Rmcat, seed: u64, call: &CallEnds<'_>) -> Result<Self, RunError> {
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
    fn run<R: Observer<Traffic>>(
        mut self,
        job: Job<'_>,
        mut record: R,
    ) -> Result<CaseRecord<R>, RunError> {
        let (mut queues, mut models) = (Vec::new(), Vec::new());
        let end = Instant::ZERO + self.length;
        let mut changes = self.changes.into_iter().peekable();
        while self.sim.now() < end {
            let mut next = end.min(self.sim.now() + LOOK);
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

#[cfg(test)]
mod tests;
