//! Flows that come and go on a bottleneck, in several cases: their rates over time, how they share it,
//! how smooth they are, and how soon they settle after a change. (`thesis` §5.2.)

mod first;
mod real;
mod sample;

use std::path::Path;

use evenkeel_link::Random;
use serde::Deserialize;
use tfrc::time::Instant;
use tfrc::units::duration_from_secs;

use super::{
    Impossible, Job, RunError, Scenario, require, require_bins, require_jitter, require_recordable,
    require_window,
};
use crate::findings::{Findings, Sample};
use crate::metrics::quantile;
use crate::network::{
    Bottleneck, Feedback, Impairments, Member, Pace, Protocol, Queue, Run, Speaks, Stacks, Tcp,
    Tfrc,
};
use crate::real::Real;
use crate::units::{BitRate, Size, Time};

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
    /// The timescale of the rates that are drawn.
    drawn: Time,
    /// Timescales of the throughput ratio.
    ratio_timescales: Vec<Time>,
    /// Two groups by name: the throughput of the first over that of the second, and how alike they are.
    compare: Option<[String; 2]>,
    /// A change of the bottleneck.
    rate_change: Option<RateChange>,
    /// When and to what the first flow has to settle.
    settle: Option<Settle>,
    /// The highest sending rate of the first flow is that of the busiest interval of this length.
    peak_over: Option<Time>,
    /// Its lowest sending rate is that of the idlest interval of this length.
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
}

/// Flows of a kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// In the legend, and in names of metrics.
    name: String,
    protocol: Protocol,
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
    /// How many flows of each group, in place of their own counts.
    counts: Option<Vec<usize>>,
}

/// The bottleneck's rate from an instant on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RateChange {
    at: Time,
    rate: BitRate,
}

/// The first flow has settled when its throughput is between two multiples of its fair share.
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
        let is_group = |name: &String| self.group.iter().any(|group| group.name == *name);
        let known = self
            .compare
            .as_ref()
            .is_none_or(|names| names.iter().all(is_group));
        require(known, "compare", "the names of two groups")?;
        require_window("shown", self.shown)?;
        require_window("measured", self.measured)?;
        let inside = self.shown[0] <= self.measured[0] && self.measured[1] <= self.shown[1];
        require(inside, "measured", "[from, to] within shown")?;
        require_bins("drawn", [&self.drawn])?;
        let points = (self.shown[1].secs() - self.shown[0].secs()) / self.drawn.secs();
        require(
            points <= MOST_POINTS,
            "drawn",
            "longer: at most 50000 points are drawn",
        )?;
        require_bins("ratio_timescales", &self.ratio_timescales)?;
        let before = |change: RateChange| change.at <= self.measured[0];
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

    fn cells(&self) -> usize {
        self.case.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn real(&self) -> Option<&dyn Real> {
        let has = |group: &Group| {
            matches!(
                group.protocol,
                Protocol::Tcp | Protocol::Tfrc | Protocol::Udp(_)
            )
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
        findings.derive(format!("{key}_median"), quantile(&ratios, 0.5));
        findings.derive(format!("{key}_least"), quantile(&ratios, 0.0));
        findings.derive(format!("{key}_most"), quantile(&ratios, 1.0));
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell];
        let bottleneck = Bottleneck {
            rate: case.rate.mean(),
            trace: case.rate.trace().cloned(),
            queue: case.queue,
            impairments: case.path.clone(),
            jitter: self.jitter,
        };
        let window = self.shown.map(|time| Instant::ZERO + time.0);
        let members = self.members(case, job.seed);
        let mut run = Run::new(&bottleneck, &self.stacks(), &members, window, job.seed)?;
        if let Some(change) = self.rate_change {
            run.change_rate(Instant::ZERO + change.at.0, change.rate.0, job)?;
        }
        let measured = run.measure(self.measured.map(|time| Instant::ZERO + time.0), job)?;
        Ok(self.sample_of(case, &measured))
    }
}

/// The most flows of a case.
const MOST_FLOWS: usize = 5_000;
/// The most points of a curve: all seeds' are held at once.
const MOST_POINTS: f64 = 50_000.0;

impl Timeline {
    /// Reads the traces that set the pace.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), Impossible> {
        let cases = self.case.iter_mut().enumerate();
        let mut loaded = cases.map(|(index, case)| {
            let loaded = case.rate.load(folder);
            loaded.map_err(|wrong| wrong.inside("case", index))
        });
        loaded.try_for_each(|loaded| loaded)
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
                let most = medians.map(|median| (median - 1.0).abs());
                let most = most.fold(f64::NAN, f64::max);
                findings.derive(format!("ratio_off_centre_{key}"), most);
            }
        }
    }

    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp: self.tcp,
            tfrc: self.tfrc,
        }
    }

    fn verify_case(&self, index: usize, case: &Case) -> Result<(), Impossible> {
        case.queue.verify(self.packet)?;
        case.path.verify()?;
        require(!case.rtt.0.is_zero(), "rtt", "above 0")?;
        let counts = case.counts.as_ref();
        let fits = counts.is_none_or(|counts| counts.len() == self.group.len());
        require(fits, "counts", "one number a group")?;
        let counts = self.counts(case);
        let all = counts
            .iter()
            .try_fold(0, |all: usize, n| all.checked_add(*n));
        let key = case.counts.as_ref().map_or("count", |_| "counts");
        let sound = counts[0] > 0 && all.is_some_and(|all| all <= MOST_FLOWS);
        require(sound, key, "at least 1 in the first group, 5000 in all")?;
        require_recordable("shown", self.shown, counts.iter().sum())?;
        let mut before = self.case[..index].iter();
        let named = before.all(|other| other.name != case.name);
        require(named, "name", "another in each case")
    }

    fn verify_group(&self, index: usize, group: &Group) -> Result<(), Impossible> {
        group.protocol.verify()?;
        require(group.count <= MOST_FLOWS, "count", "at most 5000")?;
        let runs = group.stop.is_none_or(|stop| stop > group.start);
        require(runs, "stop", "after start")?;
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
mod tests {
    use super::*;
    use crate::metrics::{BIN, Throughput};
    use tfrc::time::Duration;
    use tfrc::units::Bytes;

    pub(super) fn scenario() -> Timeline {
        toml::from_str(
            r#"packet = "1000B"
               tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
               start_spread = "1s"
               jitter = 1.0
               shown = ["0s", "20s"]
               measured = ["10s", "20s"]
               drawn = "1s"
               ratio_timescales = ["1s"]
               settle = { after = "10s", over = "2s", low = 0.8, high = 1.2 }
               group = [
                 { name = "TFRC", protocol = "tfrc", count = 1, start = "0s" },
                 { name = "TCP", protocol = "tcp", count = 3, start = "5s", stop = "9s" },
               ]
               case = [
                 { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
                 { name = "b", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } }, counts = [2, 0] },
               ]"#,
        )
        .unwrap()
    }

    /// 2000 bytes a second until then, and 1000 from then on.
    pub(super) fn halved_at(seconds: u64) -> Throughput {
        let mut flow = Throughput::new(Instant::ZERO, Instant::from_secs(20), BIN);
        for second in 0..20 {
            let bytes = if second < seconds { 2_000 } else { 1_000 };
            flow.add(Instant::from_secs(second), Bytes::new(bytes));
        }
        flow
    }

    /// One TFRC flow of packets of 1000 bytes for ten seconds on a case of this.
    fn run(case: &str, tfrc: &str) -> Findings {
        let text = format!(
            r#"packet = "1000B"
               tcp = {{ variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }}
               tfrc = {{ {tfrc} }}
               start_spread = "0s"
               jitter = 0.0
               shown = ["0s", "10s"]
               measured = ["0s", "10s"]
               drawn = "1s"
               ratio_timescales = []
               also = ["queue", "loss-event-rate"]
               group = [{{ name = "TFRC", protocol = "tfrc", count = 1, start = "0s" }}]
               case = [{{ name = "a", rtt = "50ms", {case} }}]"#
        );
        let mut scenario: Timeline = toml::from_str(&text).unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        scenario.load(&folder).unwrap();
        assert_eq!(scenario.verify(), Ok(()));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let (cell, seed, stop) = (0, 1, &stop);
        Findings::join(&[vec![scenario.run(Job { cell, seed, stop }).unwrap()]])
    }

    const WIDE: &str = r#"rate = "80Mb/s", queue = { drop-tail = { packets = 9999 } }"#;

    #[test]
    fn what_the_path_is_to_lose_it_loses() {
        let lost = |path: &str| {
            let findings = run(&format!("{WIDE}, path = {{ {path} }}"), "");
            findings.value("loss_rate_a")
        };
        assert!((lost("loss.periodic = 50") - 0.02).abs() < 0.001);
        assert!((lost("loss.bernoulli = '2%'") - 0.02).abs() < 0.01);
        let bursts = lost(
            "loss.gilbert-elliott = { to_bad = '1%', to_good = '25%', good_loss = '0%', bad_loss = '100%' }",
        );
        assert!((0.01..0.08).contains(&bursts), "{bursts}");
        // Two packets of some thousands, and the event that they are.
        let script = run(&format!("{WIDE}, path = {{ loss.packets = [40, 41] }}"), "");
        let lost = script.value("loss_rate_a");
        assert!(lost > 0.0 && lost < 0.002, "{lost}");
        assert!(script.value("p_mean_a") > 0.0);
    }

    #[test]
    fn packets_that_fall_behind_are_losses_to_who_does_not_wait_for_them() {
        let late = format!("{WIDE}, path = {{ reordering = {{ share = '2%', by = '40ms' }} }}");
        let p = |tfrc: &str| run(&late, tfrc).value("p_mean_a");
        let (waits, does_not) = (p("reordering = true"), p("reordering = false"));
        assert!(waits < does_not / 2.0, "{waits} against {does_not}");
    }

    #[test]
    fn what_arrives_twice_or_late_without_reordering_costs_nothing() {
        for path in ["duplication = '5%'", "jitter.normal = '2ms'"] {
            let findings = run(&format!("{WIDE}, path = {{ {path} }}"), "");
            // No more than one that fills its queue once.
            assert!(findings.value("p_mean_a") < 1e-6, "{path}");
        }
        let twice = run(&format!("{WIDE}, path = {{ duplication = '50%' }}"), "");
        let once = run(WIDE, "");
        let ratio = twice.value("throughput_kbps_tfrc_a") / once.value("throughput_kbps_tfrc_a");
        assert!(ratio > 1.2, "{ratio}");
    }

    #[test]
    fn a_queue_that_marks_does_not_drop_what_may_be_marked() {
        let red =
            "red = { packets = 100, min = 5, max = 15, max_p = 0.1, gentle = true, ecn = true }";
        let case = format!("rate = '2Mb/s', queue = {{ {red} }}");
        let (marked, dropped) = (run(&case, "ecn = true"), run(&case, "ecn = false"));
        let rates = |findings: &Findings| ["mark_rate_a", "drop_rate_a"].map(|m| findings.value(m));
        let ([marks, _], [none, drops]) = (rates(&marked), rates(&dropped));
        assert!(marks > 0.0 && drops > 0.0, "{marks} {drops}");
        assert_eq!(none, 0.0);
        assert!(rates(&marked)[1] < drops);
    }

    #[test]
    fn a_trace_sets_the_pace_on_average() {
        let case = "rate = { trace = 'steps.trace' }, queue = { drop-tail = { packets = 50 } }";
        let findings = run(case, "");
        let rate = findings.value("throughput_kbps_tfrc_a");
        // 1 Mb/s and 3 Mb/s by turns, two seconds each.
        assert!((1_000.0..2_050.0).contains(&rate), "{rate} kb/s");
        assert!(findings.value("queue_p95_ms_a") > 0.0);
    }

    #[test]
    fn a_case_may_have_other_numbers_of_flows() {
        let scenario = scenario();
        assert!(scenario.verify().is_ok());
        let [a, b] = [0, 1].map(|case| scenario.members(&scenario.case[case], 1));
        assert_eq!((a.len(), b.len()), (4, 2));
        let spread = Duration::from_secs(1);
        assert!(
            a[1..]
                .iter()
                .all(|tcp| tcp.start - Instant::from_secs(5) < spread)
        );
        assert!(a[1..].iter().all(|tcp| tcp.stop == Instant::from_secs(9)));
        assert!(
            b.iter()
                .all(|tfrc| matches!(tfrc.speaks, Speaks::Long(Protocol::Tfrc, _)))
        );
    }
}
