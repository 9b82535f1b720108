//! How often TFRC's receiver reports, and by which rules of timing: with RTCP's compounds alone, at random
//! times, or whenever it wants to, in packets of reduced size. (`hdtv` §6; RFC 3550 §6.2, RFC 4585 §3,
//! RFC 5506.)

use evenkeel_sim::{Body, End, FlowId, Observer, Packet, Traffic};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use super::{Impossible, Job, RunError, Scenario, require, require_recordable, require_window};
use crate::findings::Sample;
use crate::metrics::{BIN, Throughput, cov};
use crate::network::{
    Bottleneck, Feedback, Impairments, Losses, Member, Protocol, Queue, Run, Speaks, Stacks, Tcp,
    Tfrc,
};
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackTiming {
    /// Of every data packet, on the wire.
    packet: Size,
    /// With empty queues.
    rtt: Time,
    /// A flow has each to itself.
    path: Vec<Path>,
    /// From report to report, in quarters of a round trip.
    quarters: Vec<u32>,
    /// From and to when it is measured.
    measured: [Time; 2],
    /// The session whose least interval is measured (RFC 3550 §6.2), on a path of its own.
    session: BitRate,
}

/// A path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Path {
    /// In names of metrics.
    name: String,
    rate: BitRate,
    queue: Queue,
    /// Packets of data lost at random besides.
    loss: Option<Share>,
}

/// When reports leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    /// With compounds alone, by RTCP's timer.
    PiggyBacked,
    /// By TFRC's timer and at a loss event, in packets of reduced size.
    Reduced,
    /// The same in TFRC's own message once a round trip, to compare with.
    OwnMessage,
}

impl Timing {
    const fn name(self) -> &'static str {
        match self {
            Self::PiggyBacked => "piggy_backed",
            Self::Reduced => "reduced",
            Self::OwnMessage => "tfrc",
        }
    }
}

/// How a flow reports.
#[derive(Clone, Copy, Debug)]
struct Reports {
    timing: Timing,
    interval: Duration,
    quarters: u32,
}

/// The path of the session whose least interval is measured carries its reports, if not its media.
const WIDE: f64 = 100e6;
/// Reports reach both ends from the second round trip on; thousands are counted then.
const RULE_MEASURED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

impl Scenario for FeedbackTiming {
    fn verify(&self) -> Result<(), Impossible> {
        require(!self.rtt.0.is_zero(), "rtt", "above 0")?;
        require(!self.path.is_empty(), "path", "one or more")?;
        for (index, path) in self.path.iter().enumerate() {
            let sound = path.queue.verify(self.packet);
            sound.map_err(|wrong| wrong.inside("path", index))?;
        }
        let some =
            !self.quarters.is_empty() && self.quarters.iter().all(|&q| (1..=400).contains(&q));
        require(some, "quarters", "one or more numbers from 1 to 400")?;
        let whole = self.session.0 > Rate::ZERO;
        require(whole, "session", "above 0")?;
        require_window("measured", self.measured)?;
        require_recordable("measured", self.measured, 1)?;
        let long = self.measured[1].0 - self.measured[0].0 >= Duration::from_secs(2);
        require(long, "measured", "two seconds or more")
    }

    /// Those of each path, and the session's.
    fn cells(&self) -> usize {
        self.path.len() * self.reports().len() + 1
    }

    fn is_random(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let reports = self.reports();
        let Some(path) = self.path.get(job.cell / reports.len()) else {
            return self.least_interval(job);
        };
        let reports = reports[job.cell % reports.len()];
        let window = self.measured.map(|time| time.0);
        let seen = self.flow(path, reports, window, job)?;
        Ok(seen.sample(path, reports, self.rtt.0))
    }
}

impl FeedbackTiming {
    /// All ways to report, TFRC's own message first.
    fn reports(&self) -> Vec<Reports> {
        let at = |timing, quarters| Reports {
            timing,
            interval: self.rtt.0 * quarters / 4,
            quarters,
        };
        let timings = [Timing::PiggyBacked, Timing::Reduced];
        let swept = timings.into_iter().flat_map(|timing| {
            self.quarters
                .iter()
                .map(move |&quarters| at(timing, quarters))
        });
        [at(Timing::OwnMessage, 4)]
            .into_iter()
            .chain(swept)
            .collect()
    }

    /// One flow, alone on a path.
    fn flow(
        &self,
        path: &Path,
        reports: Reports,
        window: [Duration; 2],
        job: Job<'_>,
    ) -> Result<Seen, RunError> {
        let bottleneck = Bottleneck {
            impairments: Impairments {
                loss: path.loss.map(Losses::Bernoulli),
                ..Impairments::default()
            },
            ..Bottleneck::new(path.rate, path.queue)
        };
        let feedback = match reports.timing {
            Timing::OwnMessage => Feedback::Tfrc,
            Timing::PiggyBacked | Timing::Reduced => Feedback::App,
        };
        let member = Member {
            speaks: Speaks::Long(Protocol::Tfrc, feedback),
            stacks: Stacks {
                packet: self.packet,
                // None takes part.
                tcp_packet: self.packet,
                tcp: Tcp::default(),
                tfrc: Tfrc {
                    session: true,
                    reordering: true,
                    rtcp_interval: Some(Time(reports.interval)),
                    piggy_backed: reports.timing == Timing::PiggyBacked,
                    report_quarters: reports.quarters,
                    ..Tfrc::default()
                },
            },
            reverse: false,
            rtt: self.rtt.0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        };
        let [from, to] = window.map(|time| Instant::ZERO + time);
        let run = Run::new(&bottleneck, &[member], [from, to], job.seed)?;
        let mut seen = Seen::new([from, to]);
        run.watch(to, job, &mut seen)?;
        Ok(seen)
    }

    /// What the rule of the least interval comes to for a session of that bandwidth.
    fn least_interval(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let path = Path {
            name: "session".into(),
            rate: BitRate(Rate::from_bits_per_sec(WIDE)),
            queue: Queue::DropTail { packets: 1_000 },
            loss: None,
        };
        let reports = Reports {
            timing: Timing::PiggyBacked,
            interval: Duration::from_nanos((360e12 / self.session.0.bits_per_sec()) as u64),
            quarters: 4,
        };
        let seen = self.flow(&path, reports, RULE_MEASURED, job)?;
        let mut sample = Sample::default();
        sample.metric("least_interval_us", seen.interval().as_secs_f64() * 1e6);
        Ok(sample)
    }
}

/// What came of a flow.
struct Seen {
    received: Throughput,
    from: Instant,
    to: Instant,
    /// What the receiver sent meanwhile.
    control: Bytes,
    datagrams: u32,
}

impl Seen {
    fn new([from, to]: [Instant; 2]) -> Self {
        Self {
            received: Throughput::new(from, to, BIN),
            from,
            to,
            control: Bytes::ZERO,
            datagrams: 0,
        }
    }

    /// From one of the receiver's datagrams to the next.
    fn interval(&self) -> Duration {
        (self.to - self.from) / self.datagrams.max(1)
    }

    fn sample(&self, path: &Path, reports: Reports, rtt: Duration) -> Sample {
        let (timing, quarters) = (reports.timing.name(), f64::from(reports.quarters));
        let name = match reports.timing {
            Timing::OwnMessage => format!("{timing}_{}", path.name),
            Timing::PiggyBacked | Timing::Reduced => {
                format!("{timing}_{}q_{}", reports.quarters, path.name)
            }
        };
        let rate = self.received.mean();
        let seconds = self.received.rates(Duration::from_secs(1));
        let mut sample = Sample::default();
        sample.metric(format!("rate_kbps_{name}"), rate.bits_per_sec() / 1e3);
        sample.metric(format!("cov_1s_{name}"), cov(&seconds));
        let often = rtt.as_secs_f64() / self.interval().as_secs_f64();
        sample.metric(format!("reports_per_round_trip_{name}"), often);
        let share = self.control.as_f64() / self.received.total().as_f64();
        sample.metric(format!("rtcp_pct_{name}"), share * 100.0);
        if reports.timing != Timing::OwnMessage {
            let round_trips = quarters / 4.0;
            let legend = reports.timing.name().replace('_', "-");
            let kilobits = rate.bits_per_sec() / 1e3;
            sample.curve(
                format!("rate_{}", path.name),
                &*legend,
                [(round_trips, kilobits)],
            );
            sample.curve(
                format!("cov_{}", path.name),
                &*legend,
                [(round_trips, cov(&seconds))],
            );
        }
        sample
    }
}

impl Observer<Traffic> for Seen {
    fn sent(&mut self, now: Instant, _flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver && self.from <= now && now < self.to {
            self.control += packet.size;
            self.datagrams += 1;
        }
    }

    fn arrived(&mut self, now: Instant, _flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver {
            self.received.add(now, packet.size);
        }
    }
}
