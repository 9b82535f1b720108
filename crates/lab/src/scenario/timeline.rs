//! Flows that come and go on a bottleneck, in several cases: their rates over time, how they share it,
//! how smooth they are, and how soon they settle after a change. (`thesis` §5.2.)

use evenkeel_link::{LinkConfig, Loss, Random};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;

use super::{Impossible, Job, RunError, Scenario, require};
use crate::findings::{Findings, Sample};
use crate::metrics::{
    TIMESCALES, Throughput, cov, drop_rate, equivalence_ratio, mean, quantile, throughput_ratios,
    utilisation,
};
use crate::network::{
    Bottleneck, Feedback, Measured, Member, Protocol, Queue, Run, Speaks, Stacks, Tcp, Tfrc,
};
use crate::real::{Real, RealFlow, RealProtocol, Seen, Setup};
use crate::units::{BitRate, Share, Size, Time};

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
    /// What else is told of the first flow.
    #[serde(default)]
    also: Vec<Also>,
}

/// What is told of the first flow if it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Also {
    /// p over time, before and while it is measured; of TFRC without bytes.
    LossEventRate,
    /// The distribution of the gaps from packet to packet.
    Gaps,
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
    rate: BitRate,
    queue: Queue,
    /// Packets lost at random besides.
    loss: Option<Share>,
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

/// All timescales are multiples of it.
const BIN: Duration = Duration::from_millis(50);
/// Steps of the distribution of throughput ratios, and where it ends.
const RATIO_STEP: f64 = 0.02;
const RATIO_STEPS: u32 = 100;

impl Scenario for Timeline {
    fn verify(&self) -> Result<(), Impossible> {
        self.stacks().verify()?;
        let jitter = (0.0..=100.0).contains(&self.jitter);
        require(jitter, "jitter", "from 0 to 100 packet times")?;
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
        let ordered = |range: [Time; 2]| range[0] < range[1];
        require(ordered(self.shown), "shown", "[from, to]")?;
        let inside = self.shown[0] <= self.measured[0] && self.measured[1] <= self.shown[1];
        require(
            ordered(self.measured) && inside,
            "measured",
            "[from, to] within shown",
        )?;
        let fits =
            |time: &Time| !time.0.is_zero() && time.0.as_nanos().is_multiple_of(BIN.as_nanos());
        require(fits(&self.drawn), "drawn", "a multiple of 50ms")?;
        let all = self.ratio_timescales.iter().all(fits);
        require(all, "ratio_timescales", "multiples of 50ms")?;
        let before = self
            .rate_change
            .is_none_or(|change| change.at <= self.measured[0]);
        require(before, "rate_change", "not later than what is measured")?;
        let settle = self.settle.is_none_or(|settle| fits(&settle.over));
        require(settle, "over", "a multiple of 50ms")?;
        let peak = self.peak_over.is_none_or(|over| fits(&over));
        require(peak, "peak_over", "a multiple of 50ms")?;
        let floor = self.floor_over.is_none_or(|over| fits(&over));
        require(floor, "floor_over", "a multiple of 50ms")
    }

    fn cells(&self) -> usize {
        self.case.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    fn real(&self) -> Option<&dyn Real> {
        let has = |group: &Group| matches!(group.protocol, Protocol::Tcp | Protocol::Tfrc);
        // A test bed has no others.
        self.group.iter().all(has).then_some(self)
    }

    fn derive(&self, findings: &mut Findings) {
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
            loss: case
                .loss
                .map_or(Loss::None, |share| Loss::Bernoulli(share.0)),
            jitter: self.jitter,
            ..Bottleneck::new(case.rate, case.queue)
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

impl Real for Timeline {
    fn takes(&self, _: usize) -> Duration {
        self.shown[1].0
    }

    fn setup(&self, job: Job<'_>) -> Setup {
        let case = &self.case[job.cell];
        let each_way = LinkConfig {
            rate: case.rate.0,
            delay: case.rtt.0 / 2,
            ..LinkConfig::default()
        };
        let mut forward = LinkConfig {
            loss: case
                .loss
                .map_or(Loss::None, |share| Loss::Bernoulli(share.0)),
            ..each_way
        };
        case.queue.apply(&mut forward);
        let members = self.members(case, job.seed).into_iter();
        let since = |at: Instant| at - Instant::ZERO;
        let flows = members.map(|member| RealFlow {
            speaks: match member.speaks {
                Speaks::Long(Protocol::Tfrc, _) => RealProtocol::Tfrc,
                Speaks::Long(..) | Speaks::Web(_) => {
                    RealProtocol::Tcp(self.tcp.kernel_name().to_owned())
                }
            },
            start: since(member.start),
            stop: (member.stop < Instant::MAX).then(|| since(member.stop)),
        });
        let change = self.rate_change;
        Setup {
            links: [forward, each_way],
            packet: self.packet.0,
            flows: flows.collect(),
            rate_change: change.map(|change| (change.at.0, change.rate.0)),
            shown: self.shown.map(|time| time.0),
            measured: self.measured.map(|time| time.0),
            bin: BIN,
            seed: job.seed,
        }
    }

    fn sample(&self, cell: usize, seen: Seen) -> Sample {
        self.sample_of(&self.case[cell], &seen.into())
    }
}

/// The most flows of a case.
const MOST_FLOWS: usize = 5_000;

impl Timeline {
    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp: self.tcp,
            tfrc: self.tfrc,
        }
    }

    fn verify_case(&self, index: usize, case: &Case) -> Result<(), Impossible> {
        case.queue.verify(self.packet)?;
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

    fn sample_of(&self, case: &Case, measured: &Measured) -> Sample {
        let mut sample = Sample::default();
        let name = &case.name;
        let rate = self.rate_change.map_or(case.rate, |change| change.rate).0;
        let window = self.measured[1].0 - self.measured[0].0;
        sample.metric(
            format!("utilisation_{name}"),
            utilisation(measured.carried, rate, window),
        );
        sample.metric(
            format!("drop_rate_{name}"),
            drop_rate(measured.dropped, measured.arrived),
        );
        if case.loss.is_some() {
            sample.metric(
                format!("loss_rate_{name}"),
                drop_rate(measured.dropped + measured.lost, measured.arrived),
            );
        }
        let mut flows = measured.received.iter();
        let groups: Vec<(&Group, Vec<&Throughput>)> = self
            .group
            .iter()
            .zip(self.counts(case))
            .map(|(group, count)| (group, flows.by_ref().take(count).collect()))
            .collect();
        let members = measured.received.len();
        let fair = rate.bytes_per_sec() / members as f64;
        for (group, flows) in groups.iter().filter(|(_, flows)| !flows.is_empty()) {
            self.of_group(&mut sample, case, group, flows, (fair, members));
        }
        self.compared(&mut sample, case, &groups);
        if let Some((_, flows)) = groups.first() {
            self.settling(&mut sample, case, flows[0], fair);
        }
        if let Some(sent) = measured.sent.first() {
            self.peak(&mut sample, case, sent);
            self.floor(&mut sample, case, sent);
        }
        if self.also.contains(&Also::LossEventRate) {
            self.loss_event_rate(&mut sample, case, &measured.first.loss_event_rates);
        }
        if self.also.contains(&Also::Gaps) {
            gaps(&mut sample, case, &measured.first.gaps);
        }
        sample
    }

    fn of_group(
        &self,
        sample: &mut Sample,
        case: &Case,
        group: &Group,
        flows: &[&Throughput],
        (fair, members): (f64, usize),
    ) {
        let (case, group) = (&case.name, &group.name);
        let key = format!("{}_{case}", group.to_lowercase());
        let curve = |more: &str| format!("{case}: {group}{more}");
        let shares = flows
            .iter()
            .map(|flow| mean(&self.within(flow, BIN)) / fair);
        let share = mean(&shares.collect::<Vec<f64>>());
        sample.metric(format!("share_{key}_over_fair"), share);
        let of_link = share * flows.len() as f64 / members as f64;
        sample.metric(format!("share_{key}"), of_link);
        for timescale in TIMESCALES {
            let covs = flows.iter().map(|flow| cov(&self.within(flow, timescale)));
            let value = mean(&covs.collect::<Vec<f64>>());
            let delta = timescale.as_secs_f64();
            sample.metric(format!("cov_{delta}s_{key}"), value);
            sample.curve("cov", curve(""), [(delta, value)]);
        }
        for timescale in &self.ratio_timescales {
            let ratios = throughput_ratios(&self.within(flows[0], timescale.0));
            let delta = timescale.secs();
            sample.metric(
                format!("ratio_median_{delta}s_{key}"),
                quantile(&ratios, 0.5),
            );
            let spread = quantile(&ratios, 0.95) - quantile(&ratios, 0.05);
            sample.metric(format!("ratio_spread_{delta}s_{key}"), spread);
            let upto = |x: f64| {
                let below = ratios.iter().filter(|ratio| **ratio <= x).count();
                below as f64 / ratios.len() as f64
            };
            let steps = (0..=RATIO_STEPS).map(|i| f64::from(i) * RATIO_STEP);
            let points: Vec<(f64, f64)> = steps.map(|x| (x, upto(x))).collect();
            sample.curve(format!("ratios_{delta}s"), curve(""), points);
        }
        let times = flows[0].times(self.drawn.0);
        let rates = flows[0].rates(self.drawn.0).into_iter();
        let kilobits = rates.map(|bytes| bytes * 8.0 / 1e3);
        let points: Vec<(f64, f64)> = times.into_iter().zip(kilobits).collect();
        sample.curve(
            format!("rates_{case}"),
            group.as_str(),
            points.iter().copied(),
        );
        sample.curve(
            format!("rates_{}", group.to_lowercase()),
            case.as_str(),
            points,
        );
    }

    /// The two groups that are compared, in one case.
    fn compared(&self, sample: &mut Sample, case: &Case, groups: &[(&Group, Vec<&Throughput>)]) {
        let Some(names) = &self.compare else { return };
        let [a, b] = names.each_ref().map(|name| {
            let group = groups.iter().find(|(group, _)| group.name == *name);
            group.map_or(&[][..], |(_, flows)| flows)
        });
        let over_flows = |flows: &[&Throughput], of: &dyn Fn(&Throughput) -> f64| {
            mean(&flows.iter().map(|flow| of(flow)).collect::<Vec<f64>>())
        };
        let ratio = |of: &dyn Fn(&Throughput) -> f64| over_flows(a, of) / over_flows(b, of);
        let [more, less] = names.each_ref().map(|name| name.to_lowercase());
        let key = format!("{more}_over_{less}");
        let case_name = &case.name;
        let throughput = ratio(&|flow| mean(&self.within(flow, BIN)));
        let second = Duration::from_secs(1);
        let smoothness = ratio(&|flow| cov(&self.within(flow, second)));
        sample.metric(format!("{key}_{case_name}"), throughput);
        sample.metric(format!("cov_{key}_{case_name}"), smoothness);
        let flows = a.first().zip(b.first());
        let pairs = a.len().max(b.len());
        let rtt = case.rtt.secs() * 1e3;
        sample.curve("compared", format!("{pairs} of each"), [(rtt, throughput)]);
        let alike = TIMESCALES.iter().filter_map(|timescale| {
            let (x, y) = flows?;
            let rates = [x, y].map(|flow| self.within(flow, *timescale));
            let value = equivalence_ratio(&rates[0], &rates[1]);
            Some((timescale.as_secs_f64(), value))
        });
        sample.curve("equivalence", case_name.as_str(), alike);
    }

    /// How long after the change the flow first keeps its share; the rest of the run if it never does.
    fn settling(&self, sample: &mut Sample, case: &Case, flow: &Throughput, fair: f64) {
        let Some(settle) = self.settle else { return };
        let fair = settle.to.map_or(fair, |rate| rate.0.bytes_per_sec());
        let rates = flow.rates(settle.over.0).into_iter();
        let times = flow.times(settle.over.0).into_iter();
        let mut later = times.zip(rates).filter(|(t, _)| *t >= settle.after.secs());
        let settled = later.find(|(_, rate)| (settle.low..=settle.high).contains(&(rate / fair)));
        // Not in the run: at least as long as that still took.
        let end = settled.map_or(self.shown[1].secs(), |(t, _)| t);
        let seconds = end - settle.after.secs();
        sample.metric(format!("settles_s_{}", case.name), seconds);
    }

    /// How many packets leave in the busiest interval of the time that is measured.
    fn peak(&self, sample: &mut Sample, case: &Case, sent: &Throughput) {
        let Some(over) = self.peak_over else { return };
        let rates = self.within(sent, over.0).into_iter();
        let packets = over.secs() / self.packet.0.get() as f64;
        let most = rates.fold(f64::NAN, f64::max) * packets;
        sample.metric(format!("peak_pkts_{}", case.name), most);
    }

    /// The rate of the idlest interval of the time that is measured.
    fn floor(&self, sample: &mut Sample, case: &Case, sent: &Throughput) {
        let Some(over) = self.floor_over else { return };
        let rates = self.within(sent, over.0).into_iter();
        let kilobits = rates.fold(f64::NAN, f64::min) * 8.0 / 1e3;
        sample.metric(format!("rate_floor_kbps_{}", case.name), kilobits);
    }

    /// p while it is measured, and in the second half of the time that is shown before.
    fn loss_event_rate(&self, sample: &mut Sample, case: &Case, rates: &[(f64, f64)]) {
        let name = &case.name;
        let [from, to] = self.measured.map(Time::secs);
        let half = from.midpoint(self.shown[0].secs());
        for (when, from, to) in [("", from, to), ("before_", half, from)] {
            let inside = rates.iter().filter(|(t, _)| (from..to).contains(t));
            let values: Vec<f64> = inside.map(|(_, p)| *p).collect();
            sample.metric(format!("p_mean_{when}{name}"), mean(&values));
            sample.metric(format!("p_cov_{when}{name}"), cov(&values));
        }
        sample.curve("p", name.as_str(), rates.iter().copied());
    }

    /// Rates on a timescale, of the time that is measured.
    fn within(&self, flow: &Throughput, timescale: Duration) -> Vec<f64> {
        let [from, to] = self.measured.map(Time::secs);
        let times = flow.times(timescale).into_iter();
        let rates = times.zip(flow.rates(timescale));
        let inside = rates.filter(|(t, _)| (from..to).contains(t));
        inside.map(|(_, rate)| rate).collect()
    }
}

/// Gaps below this are packets back to back.
const BACK_TO_BACK: f64 = 50e-6;
/// Gaps as near as this to a whole millisecond are thought to come from a timer of that tick: of
/// evenly distributed ones a tenth.
const NEAR: f64 = 50e-6;
/// Steps of their distribution, and how long each is.
const GAP_STEPS: u32 = 200;
const GAP_STEP: f64 = 0.5e-3;

fn gaps(sample: &mut Sample, case: &Case, gaps: &[f64]) {
    let name = &case.name;
    let share = |fits: &dyn Fn(f64) -> bool| {
        let fitting = gaps.iter().filter(|gap| fits(**gap)).count();
        100.0 * fitting as f64 / gaps.len() as f64
    };
    let from_whole = |gap: f64| (gap * 1e3 - (gap * 1e3).round()).abs() / 1e3;
    for (metric, value) in [
        ("ipi_back_to_back_pct", share(&|gap| gap < BACK_TO_BACK)),
        ("ipi_whole_ms_pct", share(&|gap| from_whole(gap) < NEAR)),
        ("ipi_p50_us", quantile(gaps, 0.5) * 1e6),
        ("ipi_p99_us", quantile(gaps, 0.99) * 1e6),
    ] {
        sample.metric(format!("{metric}_{name}"), value);
    }
    let steps = (0..=GAP_STEPS).map(|i| f64::from(i) * GAP_STEP);
    let points: Vec<(f64, f64)> = steps
        .map(|x| (x * 1e3, share(&|gap| gap <= x) / 100.0))
        .collect();
    sample.curve("gaps", name.as_str(), points);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::units::Bytes;

    fn scenario() -> Timeline {
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
    fn halved_at(seconds: u64) -> Throughput {
        let mut flow = Throughput::new(Instant::ZERO, Instant::from_secs(20), BIN);
        for second in 0..20 {
            let bytes = if second < seconds { 2_000 } else { 1_000 };
            flow.add(Instant::from_secs(second), Bytes::new(bytes));
        }
        flow
    }

    fn settles(flow: &Throughput) -> f64 {
        let scenario = scenario();
        let mut sample = Sample::default();
        scenario.settling(&mut sample, &scenario.case[0], flow, 1_000.0);
        Findings::join(&[vec![sample]]).value("settles_s_a")
    }

    #[test]
    fn a_flow_settles_in_the_middle_of_the_first_interval_with_its_share() {
        assert_eq!(settles(&halved_at(14)), 5.0);
        // Too early is not after the change.
        assert_eq!(settles(&halved_at(3)), 1.0);
    }

    #[test]
    fn groups_are_compared_by_their_means_and_over_all_cases() {
        let mut scenario = scenario();
        scenario.compare = Some(["TFRC", "TCP"].map(str::to_owned));
        let (steady, halved) = (halved_at(20), halved_at(15));
        let groups = [&steady, &halved].map(|flow| vec![flow]);
        let mut sample = Sample::default();
        for case in &scenario.case {
            let named: Vec<_> = scenario.group.iter().zip(groups.clone()).collect();
            scenario.compared(&mut sample, case, &named);
        }
        let mut findings = Findings::join(&[vec![sample]]);
        scenario.derive(&mut findings);
        // 2000 bytes a second against 1500 on average.
        for name in ["a", "b", "median", "least", "most"] {
            let value = findings.value(&format!("tfrc_over_tcp_{name}"));
            assert!((value - 4.0 / 3.0).abs() < 1e-12, "{name}: {value}");
        }
        assert_eq!(findings.value("cov_tfrc_over_tcp_a"), 0.0);
    }

    #[test]
    fn a_flow_that_never_settles_takes_the_rest_of_the_run() {
        assert_eq!(settles(&halved_at(30)), 10.0);
    }

    #[test]
    fn the_peak_is_of_the_busiest_interval_that_is_measured() {
        let mut scenario = scenario();
        scenario.peak_over = Some(toml::Value::from("1s").try_into().unwrap());
        let mut sample = Sample::default();
        // Two packets a second up to 14 s, of which 10 s on count, and one from then on.
        scenario.peak(&mut sample, &scenario.case[0], &halved_at(14));
        scenario.peak(&mut sample, &scenario.case[1], &halved_at(9));
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("peak_pkts_a"), 2.0);
        assert_eq!(findings.value("peak_pkts_b"), 1.0);
    }

    #[test]
    fn the_floor_is_of_the_idlest_interval_that_is_measured() {
        let mut scenario = scenario();
        scenario.floor_over = Some(toml::Value::from("1s").try_into().unwrap());
        let mut sample = Sample::default();
        scenario.floor(&mut sample, &scenario.case[0], &halved_at(14));
        scenario.floor(&mut sample, &scenario.case[1], &halved_at(30));
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("rate_floor_kbps_a"), 8.0);
        assert_eq!(findings.value("rate_floor_kbps_b"), 16.0);
    }

    #[test]
    fn p_is_told_of_the_time_that_is_measured_and_of_the_half_before() {
        let scenario = scenario();
        let mut sample = Sample::default();
        let rates = [
            (4.0, 0.9),
            (6.0, 0.01),
            (8.0, 0.03),
            (11.0, 0.1),
            (12.0, 0.1),
        ];
        scenario.loss_event_rate(&mut sample, &scenario.case[0], &rates);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("p_mean_before_a"), 0.02);
        assert_eq!(findings.value("p_cov_before_a"), 0.5);
        assert_eq!(findings.value("p_mean_a"), 0.1);
        assert_eq!(findings.value("p_cov_a"), 0.0);
    }

    #[test]
    fn gaps_of_whole_milliseconds_and_none_at_all_are_told_apart() {
        let mut sample = Sample::default();
        let scenario = scenario();
        gaps(
            &mut sample,
            &scenario.case[0],
            &[0.0, 1e-3, 2.01e-3, 2.5e-3],
        );
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("ipi_back_to_back_pct_a"), 25.0);
        assert_eq!(findings.value("ipi_whole_ms_pct_a"), 75.0);
        assert_eq!(findings.value("ipi_p99_us_a"), 2_500.0);
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
