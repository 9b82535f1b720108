//! The same TFRC flows on the same bottleneck with each feedback format, one format at a time.
//!
//! Source: `light` §IV.

use evenkeel_link::{Loss, Random};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{
    BIN, Throughput, efficiency, friendliness, jain, mean, reaching_time, stability,
};
use crate::network::{
    Bottleneck, Feedback, Impairments, Losses, Measured, Member, Protocol, Queue, Run, Speaks,
    Stacks, Tcp, Tfrc,
};
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formats {
    /// Of every data packet, on the wire.
    packet: Size,
    tcp: Tcp,
    /// Edition and t_RTO of the TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
    /// What the flows are, one after the other; the others are compared with the first.
    speaks: Vec<Speaking>,
    /// One cell each for every way to speak.
    case: Vec<Case>,
    /// When each flow ends, which are so many.
    stop: Vec<Time>,
    /// Each flow starts at a random time up to this.
    start_spread: Time,
    /// What else is on the bottleneck.
    #[serde(default)]
    beside: Vec<OtherFlows>,
    /// From and to when it is measured, each over the flows that run all the while.
    period: Vec<[Time; 2]>,
    /// When the load changes, and from when to when the rate is measured that the first flow comes down to:
    /// how long that takes.
    response: Option<Response>,
}

/// What a flow speaks, and what it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Speaking {
    Tcp,
    Tfrc,
    Ccfb,
    Twcc,
    Sack,
    App,
}

impl Speaking {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tfrc => "tfrc",
            Self::Ccfb => "ccfb",
            Self::Twcc => "twcc",
            Self::Sack => "sack",
            Self::App => "app",
        }
    }

    const fn speaks(self) -> Speaks {
        let feedback = match self {
            Self::Tcp => return Speaks::Long(Protocol::Tcp, Feedback::Tfrc),
            Self::Tfrc => Feedback::Tfrc,
            Self::Ccfb => Feedback::Ccfb,
            Self::Twcc => Feedback::Twcc,
            Self::Sack => Feedback::Sack,
            Self::App => Feedback::App,
        };
        Speaks::Long(Protocol::Tfrc, feedback)
    }
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
    /// Packets of data lost at random besides.
    loss: Option<Share>,
    /// Reports lost at random.
    report_loss: Option<Share>,
    /// How many flows of each kind beside, in place of their own counts.
    counts: Option<Vec<usize>>,
}

/// Flows of another kind, always the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OtherFlows {
    /// In names of metrics.
    name: String,
    protocol: Protocol,
    count: usize,
    start: Time,
    /// The end of the run, unless given.
    stop: Option<Time>,
}

/// A change of the load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Response {
    at: Time,
    /// When it has come down for good.
    settled: [Time; 2],
}

/// The rate has settled when it is within a fifth of the rate at the end.
const SETTLED_FACTOR: f64 = 1.2;
/// The most flows of a run.
const MOST_FLOWS: usize = 500;

impl Scenario for Formats {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        self.stacks().verify()?;
        require(!self.speaks.is_empty(), "speaks", "one or more")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, case) in self.case.iter().enumerate() {
            let sound = case.queue.verify(self.packet);
            sound.map_err(|wrong| wrong.inside("case", index))?;
            let rtt = require(!case.rtt.0.is_zero(), "rtt", "above 0");
            rtt.map_err(|wrong| wrong.inside("case", index))?;
            let flows = self.stop.len() + self.counts(case).sum::<usize>();
            let named = case.counts.as_ref();
            let fits = named.is_none_or(|counts| counts.len() == self.beside.len());
            let few = require(
                fits && flows <= MOST_FLOWS,
                "counts",
                "one a kind, 500 in all",
            );
            few.map_err(|wrong| wrong.inside("case", index))?;
        }
        for beside in &self.beside {
            beside.protocol.verify()?;
        }
        require(!self.stop.is_empty(), "stop", "one or more")?;
        let ordered = |[from, to]: &[Time; 2]| from < to && to.0 <= self.end();
        let periods = !self.period.is_empty() && self.period.iter().all(ordered);
        require(periods, "period", "[from, to] before the last flow ends")?;
        let response = self.response.is_none_or(|response| {
            ordered(&response.settled) && response.at <= response.settled[0]
        });
        require(response, "response", "before what it settles to")
    }

    fn cells(&self) -> usize {
        self.case.len() * self.speaks.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.speaks.len()];
        let speaking = self.speaks[job.cell % self.speaks.len()];
        let bottleneck = Bottleneck {
            impairments: Impairments {
                loss: case.loss.map(Losses::Bernoulli),
                ..Impairments::default()
            },
            report_loss: case
                .report_loss
                .map_or(Loss::None, |share| Loss::Bernoulli(share.0)),
            jitter: 1.0,
            ..Bottleneck::new(case.rate, case.queue)
        };
        let window = [Instant::ZERO, Instant::ZERO + self.end()];
        let members = self.members(case, speaking, job.seed);
        let run = Run::new(&bottleneck, &members, window, job.seed)?;
        let measured = run.measure(window, job)?;
        Ok(self.sample_of(case, speaking, &measured))
    }

    fn derive(&self, findings: &mut Findings) {
        let first = self.speaks[0].name();
        for other in self.speaks[1..].iter().map(|other| other.name()) {
            for case in &self.case {
                let mut compare = |metric: &str, name: &str| {
                    let of = |who: &str| findings.value(&format!("{metric}_{who}_{name}"));
                    let ratio = of(other) / of(first);
                    findings.derive(format!("{metric}_{other}_over_{first}_{name}"), ratio);
                };
                for index in 0..self.period.len() {
                    let name = self.in_names(&case.name, index);
                    compare("rate", &name);
                    compare("stability", &name);
                }
                if self.response.is_some() {
                    compare("response_time_s", &case.name);
                }
            }
        }
    }
}

impl Formats {
    fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp_packet: self.packet,
            tcp: self.tcp,
            tfrc: Tfrc {
                // All modes alike: bytes on the wire, and patience with packets that are late.
                session: true,
                reordering: true,
                ..self.tfrc
            },
        }
    }

    fn counts<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = usize> + 'a {
        let usual = self.beside.iter().map(|beside| beside.count);
        usual.enumerate().map(|(index, usual)| {
            let own = case.counts.as_ref().and_then(|counts| counts.get(index));
            own.copied().unwrap_or(usual)
        })
    }

    fn end(&self) -> Duration {
        let last = self.stop.iter().map(|stop| stop.0).max();
        last.unwrap_or_default()
    }

    fn members(&self, case: &Case, speaking: Speaking, seed: u64) -> Vec<Member> {
        let member = |speaks, start, stop| Member {
            speaks,
            stacks: self.stacks(),
            reverse: false,
            rtt: case.rtt.0,
            start: Instant::ZERO + start,
            stop: Instant::ZERO + stop,
        };
        let own = (1..).zip(&self.stop).map(|(index, stop)| {
            let late = self.start_spread.secs() * Random::new(seed, index).unit();
            member(speaking.speaks(), duration_from_secs(late), stop.0)
        });
        let beside = self
            .beside
            .iter()
            .zip(self.counts(case))
            .flat_map(|(beside, count)| {
                let speaks = Speaks::Long(beside.protocol, Feedback::Tfrc);
                let stop = beside.stop.map_or(self.end(), |stop| stop.0);
                let spread = self.start_spread.0 / u32::try_from(count.max(1)).unwrap_or(1);
                (0..count as u32)
                    .map(move |index| member(speaks, beside.start.0 + spread * index, stop))
            });
        own.chain(beside).collect()
    }

    fn sample_of(&self, case: &Case, speaking: Speaking, measured: &Measured) -> Sample {
        let mut sample = Sample::default();
        let name = format!("{}_{}", speaking.name(), case.name);
        let (own, beside) = measured.received.split_at(self.stop.len());
        for (index, period) in self.period.iter().enumerate() {
            let flows: Vec<&Throughput> = own
                .iter()
                .zip(&self.stop)
                .filter(|(_, stop)| **stop >= period[1])
                .map(|(flow, _)| flow)
                .collect();
            let suffix = self.in_names(&name, index);
            self.in_period(&mut sample, &suffix, case, (&flows, beside), *period);
        }
        if let Some(response) = self.response {
            self.respond(&mut sample, &name, &own[0], response);
        }
        let second = Duration::from_secs(1);
        let kilobits = own[0]
            .rates(second)
            .into_iter()
            .map(|rate| rate * 8.0 / 1e3);
        let points = own[0].times(second).into_iter().zip(kilobits);
        sample.curve(
            format!("rates_{}", case.name),
            speaking.name(),
            points.collect::<Vec<_>>(),
        );
        sample
    }

    /// How names of metrics end, of what this name says and in this period.
    fn in_names(&self, name: &str, period: usize) -> String {
        match self.period.len() {
            1 => name.to_owned(),
            _ => format!("{name}_{}", period + 1),
        }
    }

    fn in_period(
        &self,
        sample: &mut Sample,
        suffix: &str,
        case: &Case,
        (flows, beside): (&[&Throughput], &[Throughput]),
        period: [Time; 2],
    ) {
        let period = period.map(|time| Instant::ZERO + time.0);
        let within = |flow: &Throughput, timescale| flow.within(timescale, period);
        let average = |flow: &Throughput| mean(&within(flow, BIN));
        let rates: Vec<f64> = flows.iter().map(|flow| average(flow)).collect();
        let seconds: Vec<Vec<f64>> = flows
            .iter()
            .map(|flow| within(flow, Duration::from_secs(1)))
            .collect();
        let capacity = case.rate.0.bytes_per_sec();
        sample.metric(format!("rate_{suffix}"), mean(&rates) * 8.0 / 1e3);
        sample.metric(format!("efficiency_{suffix}"), efficiency(&rates, capacity));
        sample.metric(format!("stability_{suffix}"), stability(&seconds));
        sample.metric(format!("fairness_{suffix}"), jain(&rates));
        let mut others = beside.iter();
        for (group, count) in self.beside.iter().zip(self.counts(case)) {
            let group_rates: Vec<f64> = others.by_ref().take(count).map(average).collect();
            if group_rates.is_empty() {
                continue;
            }
            let key = format!("{}_{suffix}", group.name);
            sample.metric(format!("rate_of_{key}"), mean(&group_rates) * 8.0 / 1e3);
            sample.metric(format!("t_over_{key}"), friendliness(&rates, &group_rates));
        }
    }

    /// How long the flow takes after the change to come down to what it comes down to.
    fn respond(&self, sample: &mut Sample, name: &str, flow: &Throughput, response: Response) {
        let timescale = Duration::from_millis(500);
        let at = |time: Time| Instant::ZERO + time.0;
        let settled = mean(&flow.within(timescale, response.settled.map(at)));
        let later = flow.within(timescale, [at(response.at), Instant::MAX]);
        let down = [f64::NEG_INFINITY, settled * SETTLED_FACTOR];
        let time = reaching_time(&later, timescale.as_secs_f64(), down);
        sample.metric(format!("response_time_s_{name}"), time);
        sample.metric(format!("settled_kbps_{name}"), settled * 8.0 / 1e3);
    }
}
