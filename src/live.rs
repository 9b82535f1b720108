//! The state of a run as one sees it now: a line on the terminal, a sample on the page.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_codec::quality::percentile;
use evenkeel_link::{Loss, QueueLimit};
use evenkeel_media::call::CallEvent;
use evenkeel_media::event::{Discard, EventKind as MediaEvent};
use evenkeel_media::report::{ShownFrame, State};
use evenkeel_net::{LinkSnapshot, RelayHandle};
use evenkeel_rtp::session::{EventKind as SessionEvent, Ignored, Path, RateSource, Statistics};
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace as Decision;
use tfrc::units::{Bytes, Rate};

use crate::call_process::CallProcess;
use crate::choices::Choice;
use crate::failure::Failure;
use crate::page::{Knobs, Sample, SenderState};
use crate::tcp::{TcpFlows, Totals};
use crate::units::millis;

/// The time over which a line's and a sample's figures are taken.
const WINDOW: Duration = Duration::from_secs(1);

/// What the policy of an end that sends has decided.
#[derive(Clone, Copy, Debug)]
struct Sending {
    deadline: Duration,
    stretched: bool,
    /// Losses per packet that TFRC does not count, with `--random-loss`.
    tolerated_loss: Option<f64>,
}

/// Both ends and the link at one moment.
pub(crate) struct Snapshot {
    /// What the report needs of it.
    pub(crate) state: State,
    path: Option<Path>,
    rate_source: Option<RateSource>,
    sending: Option<Sending>,
    ignored: BTreeMap<&'static str, u64>,
    link: Option<LinkSnapshot>,
    /// The TCP flows beside the call, in the link.
    pub(crate) tcp: Option<Totals>,
}

impl Snapshot {
    /// Asks the first end, which sends, the last, which receives, and the link.
    pub(crate) fn take(
        ends: &[(&'static str, CallProcess)],
        relay: Option<&RelayHandle<TcpFlows>>,
    ) -> Result<Self, Failure> {
        let mut snapshot = Self {
            state: State::default(),
            path: None,
            rate_source: None,
            sending: None,
            ignored: BTreeMap::new(),
            link: relay
                .map(RelayHandle::snapshot)
                .transpose()
                .map_err(Failure::runtime)?
                .map(|relay| relay.forward),
            tcp: relay
                .map(|relay| relay.call(TcpFlows::totals))
                .transpose()
                .map_err(Failure::runtime)?,
        };
        for (index, (_, end)) in ends.iter().enumerate() {
            let (path, rate_source, statistics, sending, receives) = end
                .endpoint
                .call(|endpoint, _| {
                    let call = &endpoint.call;
                    let sending = call.sender().map(|sender| Sending {
                        deadline: sender.policy().deadline(),
                        stretched: sender.policy().stretched().is_some(),
                        tolerated_loss: sender.policy().tolerated_loss(),
                    });
                    let path = call.session().path().map(|path| Path {
                        allowed_rate: call.sender().map_or(path.allowed_rate, |sender| {
                            sender.policy().available_rate(&path)
                        }),
                        ..path
                    });
                    (
                        path,
                        call.session().rate_source(),
                        call.session().statistics().clone(),
                        sending,
                        call.receiver().is_some(),
                    )
                })
                .map_err(Failure::runtime)?;
            snapshot.count_ignored(&statistics);
            if index == 0 && sending.is_some() {
                (snapshot.path, snapshot.sending) = (path, sending);
                snapshot.rate_source = rate_source;
                snapshot.state.sent = Some(Bytes::new(statistics.bytes_sent));
                snapshot.state.filler_sent = Some(Bytes::new(statistics.repair_bytes_sent));
            }
            if index + 1 == ends.len() && receives {
                snapshot.state.received = Some(Bytes::new(statistics.bytes_received));
                snapshot.state.packets_received = statistics.packets_received;
                snapshot.state.packets_lost = statistics.packets_lost;
                snapshot.state.packets_recovered = statistics.packets_recovered;
            }
        }
        snapshot.state.allowed_rate = snapshot.path.map(|path| path.allowed_rate);
        snapshot.state.loss_event_rate = snapshot.path.map(|path| path.loss_event_rate.get());
        snapshot.state.link_rate = snapshot.link.map(|link| link.rate);
        Ok(snapshot)
    }

    fn count_ignored(&mut self, statistics: &Statistics) {
        for kind in Ignored::ALL {
            let count = statistics.ignored(*kind);
            if count > 0 {
                *self.ignored.entry(kind.name()).or_default() += count;
            }
        }
    }
}

/// What of the first stream is in this process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AtHand {
    pub(crate) sends: bool,
    pub(crate) receives: bool,
    /// The link between the two, and so both ends of it.
    pub(crate) link: bool,
}

/// What the last second looked like, and the counts since the start.
pub(crate) struct Live {
    start: Instant,
    now: Instant,
    snapshot: Option<Snapshot>,
    /// Sent, or received where only that is at hand, at each tick of the window.
    bytes: VecDeque<(Instant, Bytes)>,
    /// What TCP had done at each of them, where the link is ours.
    tcp: VecDeque<(Instant, Totals)>,
    /// Of that, filler.
    filler: VecDeque<(Instant, Bytes)>,
    shown: VecDeque<ShownFrame>,
    /// Those of the whole run, by codec.
    shown_by: BTreeMap<&'static str, u64>,
    /// What was chosen on the page, where one can.
    choice: Option<Choice>,
    phase: SenderState,
    target: Bytes,
    sent: u64,
    displayed: u64,
    damaged: u64,
    concealed: u64,
    frozen: u64,
    late: u64,
    discarded: BTreeMap<&'static str, u64>,
}

impl Live {
    /// Nothing has happened yet.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            start: now,
            now,
            snapshot: None,
            bytes: VecDeque::new(),
            tcp: VecDeque::new(),
            filler: VecDeque::new(),
            shown: VecDeque::new(),
            shown_by: BTreeMap::new(),
            choice: None,
            phase: SenderState::Waiting,
            target: Bytes::ZERO,
            sent: 0,
            displayed: 0,
            damaged: 0,
            concealed: 0,
            frozen: 0,
            late: 0,
            discarded: BTreeMap::new(),
        }
    }

    /// Takes in an event of either end.
    pub(crate) fn handle_event(&mut self, event: &CallEvent) {
        match event {
            CallEvent::Session(event) => match event.kind {
                SessionEvent::RateControl(Decision::Feedback {
                    loss_event_rate, ..
                }) => {
                    self.phase = if loss_event_rate.is_zero() {
                        SenderState::SlowStart
                    } else {
                        SenderState::CongestionAvoidance
                    };
                }
                SessionEvent::RateControl(Decision::NoFeedback { .. }) => {
                    self.phase = SenderState::NoFeedback;
                }
                SessionEvent::PeerLeft => self.phase = SenderState::PeerGone,
                SessionEvent::GaveUp => self.phase = SenderState::GivenUp,
                _ => {}
            },
            CallEvent::Media(event) => match event.kind {
                MediaEvent::Target { size, .. } => self.target = size,
                MediaEvent::Sent { .. } => self.sent += 1,
                MediaEvent::Discarded { reason, .. } => self.count_discarded(reason),
                MediaEvent::Completed { late: true, .. } => self.late += 1,
                MediaEvent::Dropped { reason, .. } => self.frozen += u64::from(reason.freezes()),
                _ => {}
            },
        }
    }

    /// Takes in a frame that was shown.
    pub(crate) fn handle_shown(&mut self, frame: &ShownFrame) {
        self.displayed += 1;
        *self.shown_by.entry(frame.codec.name()).or_default() += 1;
        self.damaged += u64::from(frame.damaged);
        self.concealed += u64::from(frame.concealed > 0);
        self.shown.push_back(*frame);
    }

    /// Takes in the state at a tick, and forgets what is older than the window.
    pub(crate) fn handle_snapshot(&mut self, now: Instant, snapshot: Snapshot) {
        self.now = now;
        self.bytes.push_back((
            now,
            snapshot
                .state
                .sent
                .or(snapshot.state.received)
                .unwrap_or_default(),
        ));
        let oldest = now - WINDOW;
        self.tcp.extend(snapshot.tcp.map(|tcp| (now, tcp)));
        let filler = snapshot.state.filler_sent.unwrap_or_default();
        self.filler.push_back((now, filler));
        forget(&mut self.bytes, oldest);
        forget(&mut self.filler, oldest);
        forget(&mut self.tcp, oldest);
        while self.shown.front().is_some_and(|frame| frame.at < oldest) {
            self.shown.pop_front();
        }
        self.snapshot = Some(snapshot);
    }

    /// Takes in what is chosen on the page.
    pub(crate) fn handle_choice(&mut self, choice: Choice) {
        self.choice = Some(choice);
    }

    /// What there can be figures of.
    pub(crate) fn at_hand(&self) -> AtHand {
        let state = self.snapshot.as_ref().map(|snapshot| snapshot.state);
        state.map_or_else(AtHand::default, |state| AtHand {
            sends: state.sent.is_some(),
            receives: state.received.is_some(),
            link: state.link_rate.is_some(),
        })
    }

    /// What sets the rate of the first end, if it sends.
    pub(crate) fn rate_source(&self) -> Option<RateSource> {
        self.snapshot.as_ref()?.rate_source
    }

    /// The deadline in force at the first end, if it sends.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        Some(self.sending()?.deadline)
    }

    /// The losses per packet that TFRC does not count, with `--random-loss`.
    pub(crate) fn tolerated_loss(&self) -> Option<f64> {
        self.sending()?.tolerated_loss
    }

    fn sending(&self) -> Option<Sending> {
        self.snapshot.as_ref()?.sending
    }

    /// One line for the terminal.
    pub(crate) fn line(&self) -> String {
        let sample = self.sample();
        let seconds = self.now.saturating_since(self.start).as_secs_f64();
        let mut line = format!("{seconds:5.0} s");
        if self.path().is_some() {
            line += &format!("  X {:6.2} Mb/s", sample.x_bps / 1e6);
        }
        line += &format!("  throughput {:6.2} Mb/s", sample.throughput_bps / 1e6);
        if let (Some(flows), Some(rate)) = (sample.knobs.tcp, sample.tcp_bps) {
            line += &format!("  TCP {flows} × {:.2} Mb/s", rate / 1e6);
        }
        if self.path().is_some() {
            line += &format!(
                "  RTT {:4.0} ms  p {:6.3} %",
                sample.rtt_ms,
                sample.p * 100.0
            );
        }
        if let Some(queue) = sample.queue_ms {
            line += &format!("  queue {queue:3.0} ms");
        }
        if self.shown.iter().any(|frame| frame.delay.is_some()) {
            line += &format!("  delay p95 {:4.0} ms", sample.frame_delay_p95_ms);
        }
        if let Some(psnr) = sample.psnr_db {
            line += &format!("  PSNR {psnr:4.1} dB");
        }
        let counts = [
            (sample.frames_sent, "sent"),
            (sample.frames_discarded, "discarded"),
            (sample.frames_shown, "shown"),
            (sample.frames_late, "late"),
        ];
        let counts = counts.map(|(frames, what)| Some(format!("{} {what}", frames?)));
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        line += &format!("  frames: {}", counts.join(", "));
        if let (Some(deadline), true) = (sample.deadline_ms, self.is_stretched()) {
            line += &format!("  (deadline {deadline:.0} ms)");
        }
        if let Some(ratio) = sample.tolerated_loss {
            line += &format!("  (tolerates {:.1} % loss)", ratio * 100.0);
        }
        let ignored: u64 = sample.ignored.values().sum();
        if ignored > 0 {
            line += &format!("  ignored {ignored}");
        }
        line
    }

    /// One sample for the page.
    pub(crate) fn sample(&self) -> Sample {
        let delays: Vec<f64> = self
            .shown
            .iter()
            .filter_map(|frame| frame.delay)
            .map(millis)
            .collect();
        let psnrs: Vec<f64> = self.shown.iter().filter_map(|frame| frame.psnr).collect();
        let snapshot = self.snapshot.as_ref();
        let link = snapshot.and_then(|snapshot| snapshot.link);
        let path = self.path();
        let AtHand {
            sends, receives, ..
        } = self.at_hand();
        let sent = |frames: u64| sends.then_some(frames);
        let received = |frames: u64| receives.then_some(frames);
        Sample {
            t_s: self.now.saturating_since(self.start).as_secs_f64(),
            x_bps: path.map_or(0.0, |path| path.allowed_rate.bits_per_sec()),
            x_recv_bps: path.map_or(0.0, |path| path.receive_rate.bits_per_sec()),
            throughput_bps: rate(&self.bytes).bits_per_sec(),
            filler_bps: rate(&self.filler).bits_per_sec(),
            tcp_bps: self.tcp_rate().map(Rate::bits_per_sec),
            link_bps: link.map(|link| link.rate.bits_per_sec()),
            rtt_ms: path.and_then(|path| path.rtt).map_or(0.0, millis),
            queue_ms: link.map(|link| millis(link.queue_delay)),
            p: path.map_or(0.0, |path| path.loss_event_rate.get()),
            frame_delay_ms: percentile(&delays, 50.0).unwrap_or(f64::NAN),
            frame_delay_p95_ms: percentile(&delays, 95.0).unwrap_or(f64::NAN),
            psnr_db: percentile(&psnrs, 50.0),
            target_bytes: self.target.get(),
            frames_sent: sent(self.sent),
            frames_shown: received(self.displayed),
            shown: self.shown_by.clone(),
            frames_late: received(self.late),
            frames_damaged: received(self.damaged),
            frames_concealed: received(self.concealed),
            frames_frozen: received(self.frozen),
            frames_discarded: sent(self.discarded.values().sum()),
            discarded: self.discarded.clone(),
            state: self.phase,
            deadline_ms: self.deadline().map(millis),
            tolerated_loss: self.tolerated_loss(),
            ignored: snapshot
                .map(|snapshot| snapshot.ignored.clone())
                .unwrap_or_default(),
            knobs: link
                .map(|link| Knobs {
                    codec: self.choice.map(|choice| choice.codec),
                    policy: self.choice.map(|choice| choice.rules),
                    filler: self.choice.map(|choice| choice.filler),
                    ..knobs(&link, snapshot.and_then(|snapshot| snapshot.tcp))
                })
                .unwrap_or_default(),
        }
    }

    fn is_stretched(&self) -> bool {
        self.sending().is_some_and(|sending| sending.stretched)
    }

    fn path(&self) -> Option<&Path> {
        self.snapshot.as_ref()?.path.as_ref()
    }

    /// Of one flow in the mean.
    fn tcp_rate(&self) -> Option<Rate> {
        let ((_, first), (_, last)) = (self.tcp.front()?, self.tcp.back()?);
        last.rate_of_one_since(first)
    }

    fn count_discarded(&mut self, reason: Discard) {
        *self.discarded.entry(reason.name()).or_default() += 1;
    }
}

/// What the ticks of the window come to.
fn rate(ticks: &VecDeque<(Instant, Bytes)>) -> Rate {
    match (ticks.front(), ticks.back()) {
        (Some((from, first)), Some((to, last))) if to > from => (*last - *first) / (*to - *from),
        _ => Rate::ZERO,
    }
}

/// Leaves two ticks at least, to take a difference of.
fn forget<T>(ticks: &mut VecDeque<(Instant, T)>, oldest: Instant) {
    while ticks.len() > 2 && ticks.front().is_some_and(|(at, _)| *at < oldest) {
        ticks.pop_front();
    }
}

/// A link's state and its TCP as the page's sliders show them: the delay is the base round trip.
fn knobs(link: &LinkSnapshot, tcp: Option<Totals>) -> Knobs {
    let bytes_per_sec = link.rate.bytes_per_sec();
    Knobs {
        rate_bps: Some(link.rate.bits_per_sec()),
        delay_ms: Some(link.delay.as_secs_f64() * 2e3),
        queue_ms: match link.queue {
            QueueLimit::Time(time) => Some(time.as_secs_f64() * 1e3),
            QueueLimit::Bytes(bytes) => Some(bytes.as_f64() / bytes_per_sec * 1e3),
            QueueLimit::Packets(_) => None,
        },
        loss_pct: Some(probability(link.loss) * 100.0),
        tcp: tcp.map(|tcp| tcp.flows),
        ..Knobs::default()
    }
}

/// The share of packets that a loss model takes.
fn probability(loss: Loss) -> f64 {
    match loss {
        // What a policer takes depends on the load.
        Loss::None | Loss::Periodic(0) | Loss::Policer(_) => 0.0,
        Loss::Bernoulli(share) => share,
        Loss::Periodic(every) => 1.0 / every as f64,
        Loss::GilbertElliott(model) => model.mean_loss().unwrap_or(0.0),
    }
}
