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
mod world;

use std::path::Path;

use evenkeel_link::{
    CoDelConfig, Discipline, FqCoDelConfig, LinkConfig, PieConfig, QueueLimit, Random,
};
use serde::Deserialize;
use tfrc::time::Duration;

pub(super) use self::beside_tcp::BesideTcp;
use self::capacity::Capacity;
use self::flow::Flow;
pub use self::flow::{CallEnds, CallSetup};
pub use self::peers::Peers;
use self::record::Record;
use self::world::{CaseRecord, World};
use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::network::{Impairments, Tcp, Tfrc};
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

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = self.case[job.cell].drawn(job.seed)?;
        Ok(sample::of(&case, &self.simulate(&case, job)?))
    }

    /// What a congested way back costs the first flow: its rate over its rate in the case without one.
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
/// Above the streams of the flows.
const TRACE_STREAMS: u64 = 1 << 33;

#[cfg(test)]
mod tests;
