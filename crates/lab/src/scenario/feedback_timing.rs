//! How often TFRC's receiver reports by three rules of timing: in RTCP's compounds, at random times, and at TFRC's own times.
//!
//! Sources: `hdtv` §6; RFC 3550 §6.2, RFC 4585 §3, RFC 5506.

use evenkeel_link::{LinkConfig, Loss};
use evenkeel_sim::{Body, End, FlowId, Observer, Packet, Rtcp, Traffic};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::{BIN, Throughput, cov};
use crate::network::{
    Bottleneck, Feedback, Impairments, Losses, Member, Protocol, Queue, Run, Speaks, Stacks, Tcp,
    Tfrc, require_packet,
};
use crate::real::{BedRecord, BedSetup, Real, RealFlow, RealProtocol, RealReports};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_recordable, require_window};
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackTiming {
    /// Of every data packet, on the wire.
    packet: Size,
    /// Edition and t_RTO of the TFRC flows.
    #[serde(default)]
    tfrc: Tfrc,
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
const WIDE_PATH_RATE: f64 = 100e6;
/// Thousands are counted, once packets come more often than compounds leave: on a test bed, where the ends first
/// agree on the test, from the second second on.
const RULE_MEASURED: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(5)];

impl Scenario for FeedbackTiming {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_packet(self.packet)?;
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

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let cell = self.cell(job.cell);
        let seen = self.flow(&cell, job)?;
        let mut sample = self.sample_of(&cell, &seen.received, seen.datagrams.into());
        if !cell.is_rule {
            let share = seen.control.as_f64() / seen.received.total().as_f64();
            sample.metric(format!("rtcp_pct_{}", cell.name()), share * 100.0);
        }
        Ok(sample)
    }

    fn real(&self) -> Option<&dyn Real> {
        Some(self)
    }
}

impl Real for FeedbackTiming {
    fn takes(&self, cell: usize) -> Duration {
        self.cell(cell).window[1]
    }

    fn setup(&self, job: Job<'_>) -> Result<BedSetup, RunError> {
        let Cell {
            path,
            reports,
            window,
            ..
        } = self.cell(job.cell);
        let back = LinkConfig {
            rate: path.rate.0,
            delay: self.rtt.0 / 2,
            ..LinkConfig::default()
        };
        let mut forward = back;
        path.queue.apply(&mut forward);
        forward.loss = path
            .loss
            .map_or(Loss::None, |share| Loss::Bernoulli(share.0));
        let (feedback, timing) = match reports.timing {
            Timing::OwnMessage => (Feedback::Tfrc, None),
            Timing::PiggyBacked | Timing::Reduced => {
                let timing = RealReports {
                    quarters: reports.quarters,
                    session_bandwidth: Rtcp::bandwidth_for(reports.interval),
                    piggy_backed: reports.timing == Timing::PiggyBacked,
                };
                (Feedback::App, Some(timing))
            }
        };
        Ok(BedSetup {
            links: [forward, back],
            packet: self.packet.0,
            flows: vec![RealFlow {
                speaks: RealProtocol::Tfrc {
                    feedback,
                    floor: None,
                    reports: timing,
                },
                start: Duration::ZERO,
                stop: None,
                away: Vec::new(),
            }],
            rate_change: None,
            shown: window,
            measured: window,
            bin: BIN,
            seed: job.seed,
        })
    }

    /// A test bed counts the reports that came to the sender, not the datagrams that left for it.
    fn sample(&self, job: Job<'_>, seen: BedRecord) -> Sample {
        let cell = self.cell(job.cell);
        let mut sample = self.sample_of(&cell, &seen.received[0], seen.loss_reports.count());
        for (metric, late) in seen.late_us() {
            sample.metric(format!("{metric}_{}", cell.name()), late);
        }
        sample
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

    /// A way to report on a path; behind them all what the rule of the least interval comes to for the session.
    fn cell(&self, cell: usize) -> Cell {
        let reports = self.reports();
        match self.path.get(cell / reports.len()) {
            Some(path) => Cell {
                path: path.clone(),
                reports: reports[cell % reports.len()],
                window: self.measured.map(|time| time.0),
                is_rule: false,
            },
            None => Cell {
                path: Path {
                    name: "session".into(),
                    rate: BitRate(Rate::from_bits_per_sec(WIDE_PATH_RATE)),
                    queue: Queue::DropTail { packets: 1_000 },
                    loss: None,
                },
                reports: Reports {
                    timing: Timing::PiggyBacked,
                    interval: Duration::from_nanos((360e12 / self.session.0.bits_per_sec()) as u64),
                    quarters: 4,
                },
                window: RULE_MEASURED,
                is_rule: true,
            },
        }
    }

    /// One flow, alone on a path.
    fn flow(&self, cell: &Cell, job: Job<'_>) -> Result<ReportedFlow, RunError> {
        let (path, reports) = (&cell.path, cell.reports);
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
                    ..self.tfrc
                },
            },
            reverse: false,
            rtt: self.rtt.0,
            start: Instant::ZERO,
            stop: Instant::MAX,
        };
        let [from, to] = cell.window.map(|time| Instant::ZERO + time);
        let run = Run::new(&bottleneck, &[member], [from, to], job.seed)?;
        let mut seen = ReportedFlow {
            received: Throughput::new(from, to, BIN),
            from,
            to,
            control: Bytes::ZERO,
            datagrams: 0,
        };
        run.watch(to, job, &mut seen)?;
        Ok(seen)
    }

    /// What came of a flow, of which so many reports were seen.
    fn sample_of(&self, cell: &Cell, received: &Throughput, reports: u64) -> Sample {
        let interval = (cell.window[1] - cell.window[0]).as_secs_f64() / reports.max(1) as f64;
        let mut sample = Sample::default();
        if cell.is_rule {
            sample.metric("least_interval_us", interval * 1e6);
            return sample;
        }
        let name = cell.name();
        let rate = received.mean();
        let seconds = received.rates(Duration::from_secs(1));
        sample.metric(format!("rate_kbps_{name}"), rate.bits_per_sec() / 1e3);
        sample.metric(format!("cov_1s_{name}"), cov(&seconds));
        let often = self.rtt.secs() / interval;
        sample.metric(format!("reports_per_round_trip_{name}"), often);
        let Reports {
            timing, quarters, ..
        } = cell.reports;
        if timing != Timing::OwnMessage {
            let round_trips = f64::from(quarters) / 4.0;
            let legend = timing.name().replace('_', "-");
            let kilobits = rate.bits_per_sec() / 1e3;
            let path = &cell.path.name;
            sample.curve(format!("rate_{path}"), &*legend, [(round_trips, kilobits)]);
            sample.curve(
                format!("cov_{path}"),
                &*legend,
                [(round_trips, cov(&seconds))],
            );
        }
        sample
    }
}

/// What is run at a time.
struct Cell {
    path: Path,
    reports: Reports,
    window: [Duration; 2],
    /// It is there for the least interval alone.
    is_rule: bool,
}

impl Cell {
    /// In names of metrics.
    fn name(&self) -> String {
        let (timing, path) = (self.reports.timing, &self.path.name);
        match timing {
            Timing::OwnMessage => format!("{}_{path}", timing.name()),
            Timing::PiggyBacked | Timing::Reduced => {
                format!("{}_{}q_{path}", timing.name(), self.reports.quarters)
            }
        }
    }
}

/// What came of a simulated flow.
struct ReportedFlow {
    received: Throughput,
    from: Instant,
    to: Instant,
    /// What the receiver sent meanwhile.
    control: Bytes,
    datagrams: u32,
}

impl Observer<Traffic> for ReportedFlow {
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
