//! Flows that join and leave on a bottleneck: rates over time, shares, smoothness, and settling time after a change.
//!
//! Source: `thesis` §5.2.

mod first;
mod real;
mod sample;
mod window;

use std::path::Path;

use evenkeel_link::{Loss, Random};
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::duration_from_secs;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{median, off_one, quantile};
use crate::network::{
    Bottleneck, Feedback, Impairments, Losses, Member, Pace, Protocol, Queue, Speaks, Stacks,
    Stage, Tcp, Tfrc,
};
use crate::real::Real;
use crate::scenario::contract::{ReadScenario, Scenario};
use crate::scenario::require::{require_bins, require_jitter};
use crate::units::{BitRate, Size, Time};
use window::Window;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// Of every data packet, on the wire.
    packet: Size,
    /// The TCP flows.
    tcp: Tcp,
    /// The TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
    /// Who takes part.
    group: Vec<Group>,
    /// One cell each.
    case: Vec<Case>,
    /// Packets are late at their sender by a random time up to so many packet times of the bottleneck,
    /// against phase effects.
    jitter: f64,
    /// Each flow starts later than its group by a random time up to this.
    start_spread: Time,
    /// From and to when rates are drawn; the run ends then.
    shown: [Time; 2],
    /// From and to when shares and smoothness are measured.
    measured: [Time; 2],
    /// What is measured falls into parts of this length, which tell how sure a ratio of throughputs is.
    batch: Option<Time>,
    /// Other times for cases with longer round trips.
    #[serde(default)]
    window: Vec<Window>,
    /// The timescale of the rates that are drawn.
    drawn: Time,
    /// Timescales of the throughput ratio.
    ratio_timescales: Vec<Time>,
    /// Two groups by name: the throughput of the first over the throughput of the second, and how alike they are.
    compare: Option<[String; 2]>,
    /// A change of the bottleneck.
    rate_change: Option<RateChange>,
    /// When and to what the first flow has to settle.
    settle: Option<Settle>,
    /// The highest sending rate of the first flow is measured in the busiest interval of this length, from when it is
    /// measured to the end of the run.
    peak_over: Option<Time>,
    /// Its lowest sending rate is measured in the idlest interval of this length.
    floor_over: Option<Time>,
    /// What else is told.
    #[serde(default)]
    also: Vec<Also>,
}

/// What is told of the first flow, or of the queue, if it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Also {
    /// p over time, before and while it is measured, and its mean over all flows; of TFRC without bytes.
    LossEventRate,
    /// The distribution of the gaps from packet to packet.
    Gaps,
    /// How long packets wait in the queue of the bottleneck.
    Queue,
    /// The share of packets that each group loses.
    Losses,
}

/// Flows of a kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// In the legend, and in names of metrics.
    name: String,
    protocol: Protocol,
    /// Of every data packet, on the wire, if not as of the others.
    packet: Option<Size>,
    /// What receivers of TFRC report; p and X_recv unless given.
    #[serde(default)]
    feedback: Feedback,
    /// How many, unless a case says otherwise.
    count: usize,
    start: Time,
    /// The end of the run, unless given.
    stop: Option<Time>,
}

/// A network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// In the legend, and in names of metrics.
    name: String,
    /// With empty queues.
    rtt: Time,
    rate: Pace,
    queue: Queue,
    /// What the path does besides, along the data.
    #[serde(default)]
    path: Impairments,
    /// What is lost of what comes back: acknowledgements and reports.
    loss_back: Option<Losses>,
    /// The TFRC flows, in place of the scenario's.
    tfrc: Option<Tfrc>,
    /// How many flows of each group, in place of their own counts.
    counts: Option<Vec<usize>>,
}

impl Case {
    fn loss_back(&self) -> Loss {
        self.loss_back.as_ref().map_or(Loss::None, Losses::model)
    }
}

/// The bottleneck's rate from an instant on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateChange {
    at: Time,
    rate: BitRate,
}

/// The first flow has its share while its throughput is between two multiples of what is fair.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settle {
    /// From then on.
    after: Time,
    /// Averaged over so long.
    over: Time,
    low: f64,
    high: f64,
    /// What it settles to, if not its fair share.
    to: Option<BitRate>,
}

impl Scenario for Timeline {
    fn verify(&self) -> Result<(), Impossible> {
        self.stacks().verify()?;
        require_jitter(self.jitter)?;
        require(!self.group.is_empty(), "group", "one or more")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, group) in self.group.iter().enumerate() {
            let sound = self.verify_group(index, group);
            sound.map_err(|wrong| wrong.inside("group", index))?;
        }
        for (index, case) in self.case.iter().enumerate() {
            let sound = self.verify_case(index, case);
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        let flows = self.case.iter().map(|case| self.counts(case).iter().sum());
        let flows = flows.max().unwrap_or_default();
        require_bins("drawn", [&self.drawn])?;
        self.times().verify(flows, self.drawn)?;
        for (index, window) in self.window.iter().enumerate() {
            let sound = window.verify(flows, self.drawn);
            sound.map_err(|wrong| wrong.inside("window", index))?;
        }
        let is_group = |name: &String| self.group.iter().any(|group| group.name == *name);
        let known = self
            .compare
            .as_ref()
            .is_none_or(|names| names.iter().all(is_group));
        require(known, "compare", "the names of two groups")?;
        require_bins("ratio_timescales", &self.ratio_timescales)?;
        let windows = || self.window.iter().copied().chain([self.times()]);
        let before = |change: RateChange| windows().all(|window| change.at <= window.measured[0]);
        let before = self.rate_change.is_none_or(before);
        require(before, "rate_change", "not later than what is measured")?;
        let traced = self.case.iter().any(|case| case.rate.trace().is_some());
        let single = !traced || self.rate_change.is_none();
        require(
            single,
            "rate_change",
            "left out where a trace sets the pace",
        )?;
        require_bins("over", self.settle.as_ref().map(|settle| &settle.over))?;
        require_bins("peak_over", &self.peak_over)?;
        require_bins("floor_over", &self.floor_over)
    }

    fn load(&mut self, folder: &Path, _read: ReadScenario<'_>) -> Result<(), Impossible> {
        let cases = self.case.iter_mut().enumerate();
        let mut loaded = cases.map(|(index, case)| {
            let loaded = case.rate.load(folder);
            loaded.map_err(|wrong| wrong.inside("case", index))
        });
        loaded.try_for_each(|loaded| loaded)
    }

    fn cells(&self) -> usize {
        self.case.len()
    }

    fn real(&self) -> Option<&dyn Real> {
        let has = |group: &Group| {
            let speaks = matches!(
                group.protocol,
                Protocol::Tcp | Protocol::Tfrc | Protocol::Udp(_)
            );
            speaks && group.packet.is_none()
        };
        let can = |case: &Case| case.rate.trace().is_none() && !case.path.is_scripted();
        // A test bed has no other flows, and its link is no other than it was told at first.
        let fits = self.group.iter().all(has) && self.case.iter().all(can);
        fits.then_some(self)
    }

    fn derive(&self, findings: &mut Findings) {
        self.off_centre(findings);
        let Some(names) = &self.compare else { return };
        let [a, b] = names.each_ref().map(|name| name.to_lowercase());
        let key = format!("{a}_over_{b}");
        let cases = self.case.iter();
        let ratios: Vec<f64> = cases
            .map(|case| findings.value(&format!("{key}_{}", case.name)))
            .collect();
        findings.derive(format!("{key}_median"), median(&ratios));
        findings.derive(format!("{key}_least"), quantile(&ratios, 0.0));
        findings.derive(format!("{key}_most"), quantile(&ratios, 1.0));
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let measured = self.stage(job.cell, job.seed).run(job)?;
        Ok(self.sample_of(&self.case[job.cell], &measured))
    }
}

/// The most flows of a case.
const MOST_FLOWS: usize = 5_000;
/// The most points of a curve: all seeds' are held at once.
const MOST_POINTS: f64 = 50_000.0;

impl Timeline {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let case = &self.case[cell];
        let bottleneck = Bottleneck {
            rate: case.rate.mean(),
            trace: case.rate.trace().cloned(),
            queue: case.queue,
            impairments: case.path.clone(),
            report_loss: case.loss_back(),
            jitter: self.jitter,
        };
        let change = self.rate_change;
        let times = self.times_of(case);
        let [shown, measured] =
            [times.shown, times.measured].map(|window| window.map(|time| Instant::ZERO + time.0));
        Stage {
            change: change.map(|change| (Instant::ZERO + change.at.0, change.rate.0)),
            shown,
            ..Stage::new(bottleneck, self.members(case, seed), measured)
        }
    }

    /// How far from 1 the median ratio of a group is at most, over the cases that it takes part in.
    fn off_centre(&self, findings: &mut Findings) {
        for group in &self.group {
            for timescale in &self.ratio_timescales {
                let key = format!("{}s_{}", timescale.secs(), group.name.to_lowercase());
                let medians = self
                    .case
                    .iter()
                    .map(|case| findings.value(&format!("ratio_median_{key}_{}", case.name)));
                let off = off_one(medians);
                findings.derive(format!("ratio_off_centre_{key}"), off);
            }
        }
    }

    fn packet(&self, group: &Group) -> Size {
        group.packet.unwrap_or(self.packet)
    }

    /// How flows behave unless their group or case says otherwise.
    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp_packet: self.packet,
            tcp: self.tcp,
            tfrc: self.tfrc,
        }
    }

    fn verify_case(&self, index: usize, case: &Case) -> Result<(), Impossible> {
        case.tfrc.map_or(Ok(()), |tfrc| tfrc.verify())?;
        let largest = self.group.iter().map(|group| self.packet(group)).max();
        case.queue.verify(largest.unwrap_or(self.packet))?;
        case.path.verify()?;
        case.loss_back.as_ref().map_or(Ok(()), Losses::verify)?;
        let listed = matches!(case.loss_back, Some(Losses::Packets(_)));
        require(!listed, "loss_back", "by chance or periodic, not a list")?;
        require(!case.rtt.0.is_zero(), "rtt", "above 0")?;
        let counts = case.counts.as_ref();
        let fits = counts.is_none_or(|counts| counts.len() == self.group.len());
        require(fits, "counts", "one number a group")?;
        let counts = self.counts(case);
        let all = counts
            .iter()
            .try_fold(0, |all: usize, n| all.checked_add(*n));
        let key = case.counts.as_ref().map_or("count", |_| "counts");
        let sound = all.is_some_and(|all| (1..=MOST_FLOWS).contains(&all));
        require(sound, key, "from 1 to 5000 in all")?;
        let mut before = self.case[..index].iter();
        let named = before.all(|other| other.name != case.name);
        require(named, "name", "another in each case")
    }

    fn verify_group(&self, index: usize, group: &Group) -> Result<(), Impossible> {
        group.protocol.verify()?;
        let packet = self.packet(group);
        let stacks = Stacks {
            packet,
            ..self.stacks()
        };
        stacks.verify()?;
        require(group.count <= MOST_FLOWS, "count", "at most 5000")?;
        let runs = group.stop.is_none_or(|stop| stop > group.start);
        require(runs, "stop", "after start")?;
        let is_seen = group.start < self.shown[1];
        require(is_seen, "start", "before the end of shown")?;
        let mut before = self.group[..index].iter();
        // In the names of metrics case does not matter.
        let named = before.all(|other| !other.name.eq_ignore_ascii_case(&group.name));
        require(named, "name", "another in each group")
    }

    fn counts(&self, case: &Case) -> Vec<usize> {
        let usual = || self.group.iter().map(|group| group.count).collect();
        case.counts.clone().unwrap_or_else(usual)
    }

    fn members(&self, case: &Case, seed: u64) -> Vec<Member> {
        let mut members = Vec::new();
        for (group, count) in self.group.iter().zip(self.counts(case)) {
            for _ in 0..count {
                let mut random = Random::new(seed, 1 + members.len() as u64);
                let late = duration_from_secs(self.start_spread.secs() * random.unit());
                members.push(Member {
                    speaks: Speaks::Long(group.protocol, group.feedback),
                    stacks: Stacks {
                        packet: self.packet(group),
                        tfrc: case.tfrc.unwrap_or(self.tfrc),
                        ..self.stacks()
                    },
                    reverse: false,
                    rtt: case.rtt.0,
                    start: Instant::ZERO + group.start.0 + late,
                    stop: group
                        .stop
                        .map_or(Instant::MAX, |stop| Instant::ZERO + stop.0),
                });
            }
        }
        members
    }
}

#[cfg(test)]
mod tests;
