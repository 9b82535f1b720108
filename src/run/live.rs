//! The present state of a run: a line for the terminal, and a sample for the page.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_codec::quality::percentile;
use evenkeel_media::call::CallEvent;
use evenkeel_media::event::{Discard, EventKind as MediaEvent};
use evenkeel_media::report::ShownFrame;
use evenkeel_rtp::session::{EventKind as SessionEvent, Ignored, Path, RateSource};
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace as Decision;
use tfrc::units::{Bytes, Rate};

use super::snapshot::{NOT_AUTHENTIC, Sending, Snapshot};
use crate::choices::Choice;
use crate::failure::{self, Failure};
use crate::page::{Sample, SenderState};
use crate::tcp::Totals;
use crate::units::millis;

/// The time over which a line's and a sample's figures are taken.
const WINDOW: Duration = Duration::from_secs(1);
/// The most warnings that a page shows.
const PAGE_WARNINGS: usize = 5;

/// The parts of the first stream that are in this process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AtHand {
    pub(super) sends: bool,
    pub(super) receives: bool,
    /// The link between the two ends, and therefore both ends.
    pub(super) link: bool,
}

/// The figures of the last second, and the counts since the start.
#[derive(Default)]
pub(super) struct Live {
    start: Instant,
    now: Instant,
    snapshot: Option<Snapshot>,
    /// The bytes sent, or received if this process only receives, at each tick of the window.
    bytes: VecDeque<(Instant, Bytes)>,
    /// The filler among the bytes sent.
    filler: VecDeque<(Instant, Bytes)>,
    /// The totals of TCP, where this process emulates the link.
    tcp: VecDeque<(Instant, Totals)>,
    /// The longest wait in the link's queue before each tick of the window, and since the last one.
    waits: VecDeque<(Instant, Duration)>,
    wait: Duration,
    shown: VecDeque<ShownFrame>,
    /// The frames shown since the start, by codec.
    shown_by: BTreeMap<&'static str, u64>,
    /// The choice on the page, where there is one.
    choice: Option<Choice>,
    /// The words that both ends of an encrypted connection show.
    words: Option<String>,
    /// The line by which the other end joins.
    invitation: Option<String>,
    /// True if the connection is to be encrypted and the peer has not come yet.
    awaits_peer: bool,
    phase: SenderState,
    /// The size that the encoder now aims at, once it has one.
    target: Option<Bytes>,
    missed: u64,
    sent: u64,
    displayed: u64,
    damaged: u64,
    concealed: u64,
    frozen: u64,
    late: u64,
    discarded: BTreeMap<&'static str, u64>,
}

impl Live {
    /// Creates the state before any event.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            start: now,
            now,
            ..Self::default()
        }
    }

    /// Handles an event of either end.
    pub(super) fn handle_event(&mut self, event: &CallEvent) {
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
                SessionEvent::PeerLatched { .. } | SessionEvent::PeerChanged { .. } => {
                    self.phase = SenderState::Waiting;
                }
                SessionEvent::PeerLeft => self.phase = SenderState::PeerGone,
                SessionEvent::GaveUp => self.phase = SenderState::GivenUp,
                _ => {}
            },
            CallEvent::Media(event) => match event.kind {
                MediaEvent::Target { size, .. } => self.target = Some(size),
                MediaEvent::Missed { pictures } => self.missed += pictures,
                MediaEvent::Sent { .. } => self.sent += 1,
                MediaEvent::Discarded { reason, .. } => self.count_discarded(reason),
                MediaEvent::Completed { late: true, .. } => self.late += 1,
                MediaEvent::Dropped { reason, .. } => self.frozen += u64::from(reason.freezes()),
                _ => {}
            },
        }
    }

    /// Records a frame that was shown.
    pub(super) fn handle_shown(&mut self, frame: &ShownFrame) {
        self.displayed += 1;
        *self.shown_by.entry(frame.codec.name()).or_default() += 1;
        self.damaged += u64::from(frame.damaged);
        self.concealed += u64::from(frame.concealed > 0);
        self.shown.push_back(*frame);
    }

    /// Records the state at a tick, and forgets states older than the window.
    pub(super) fn handle_snapshot(&mut self, now: Instant, snapshot: Snapshot) {
        self.now = now;
        let oldest = now - WINDOW;
        let state = &snapshot.state;
        let bytes = state.sent.or(state.received);
        self.bytes.extend(bytes.map(|bytes| (now, bytes)));
        self.filler
            .extend(state.filler_sent.map(|filler| (now, filler)));
        self.tcp.extend(snapshot.tcp.map(|tcp| (now, tcp)));
        forget(&mut self.bytes, oldest);
        forget(&mut self.filler, oldest);
        forget(&mut self.tcp, oldest);
        self.waits.push_back((now, std::mem::take(&mut self.wait)));
        forget(&mut self.waits, oldest);
        while self.shown.front().is_some_and(|frame| frame.at < oldest) {
            self.shown.pop_front();
        }
        self.snapshot = Some(snapshot);
    }

    /// Records how long a packet waited in the link's queue on the way of the media.
    pub(super) fn handle_wait(&mut self, wait: Duration) {
        self.wait = self.wait.max(wait);
    }

    /// Records the words that both ends of an encrypted connection show, once the peer has come.
    pub(super) fn handle_words(&mut self, words: Option<&str>, is_connected: bool) {
        self.awaits_peer = !is_connected;
        if self.words.as_deref() != words {
            self.words = words.map(Into::into);
        }
    }

    /// Records that the peer has ended an encrypted call.
    pub(super) fn handle_peer_left(&mut self) {
        self.phase = SenderState::PeerGone;
    }

    /// Records the line by which the other end joins.
    pub(super) fn handle_invitation(&mut self, line: String) {
        self.invitation = Some(line);
    }

    /// Records the choice on the page.
    pub(super) fn handle_choice(&mut self, choice: Choice) {
        self.choice = Some(choice);
    }

    /// Returns the parts that are in this process, of which there can be figures.
    pub(super) fn at_hand(&self) -> AtHand {
        let state = self.snapshot.as_ref().map(|snapshot| snapshot.state);
        state.map_or_else(AtHand::default, |state| AtHand {
            sends: state.sent.is_some(),
            receives: state.received.is_some(),
            link: state.link_rate.is_some(),
        })
    }

    /// Returns the source of the first end's rate, if that end sends.
    pub(super) fn rate_source(&self) -> Option<RateSource> {
        self.snapshot.as_ref()?.rate_source
    }

    /// Returns the deadline in force at the first end, if it sends.
    pub(super) fn deadline(&self) -> Option<Duration> {
        Some(self.sending()?.deadline)
    }

    /// Returns the losses per packet that TFRC does not count, with `--random-loss`.
    pub(super) fn tolerated_loss(&self) -> Option<f64> {
        self.sending()?.tolerated_loss
    }

    /// Returns the datagrams that the ends ignored, by kind.
    pub(super) fn ignored(&self) -> BTreeMap<&'static str, u64> {
        let snapshot = self.snapshot.as_ref();
        snapshot.map_or_else(BTreeMap::new, |snapshot| snapshot.ignored.clone())
    }

    fn sending(&self) -> Option<Sending> {
        self.snapshot.as_ref()?.sending
    }

    /// Returns the failure of a run that should have shown pictures and has shown none, with the most likely cause.
    pub(super) fn no_picture(&self) -> Option<Failure> {
        let snapshot = self.snapshot.as_ref()?;
        let received = snapshot.state.received.filter(|_| self.displayed == 0)?;
        let ignored = snapshot.ignored.iter().max_by_key(|(_, count)| **count);
        let why = match ignored {
            _ if self.frozen + self.late > 0 => "frames arrived, but none could be shown: check that both ends have the same codec and --size".into(),
            _ if received > Bytes::ZERO => "no frame arrived whole: check the loss on the path, or lower --max-rate at the sender".into(),
            _ if snapshot.link.is_some() => "no packet came through the emulated link: give more --seconds or --rate, or less --loss".into(),
            Some((kind, count)) if *kind == Ignored::WrongSource.name() => format!(
                "{count} datagrams came from another address than the peer's: check the peer's address, and --from"
            ),
            Some((&NOT_AUTHENTIC, count)) => format!(
                "{count} datagrams were not of the peer's encrypted connection: if they are RTP in the clear, add --plain at this end"
            ),
            Some((kind, count)) => format!(
                "{count} datagrams were ignored ({kind}): check that both ends have the same --sdp, codec and --feedback"
            ),
            None => "nothing arrived from the peer: check that it runs, its address and port, and that no firewall \
                drops UDP"
                .into(),
        };
        Some(Failure::runtime(format_args!(
            "no picture was shown: {why}"
        )))
    }

    /// Returns one line for the terminal.
    pub(super) fn line(&self) -> String {
        let sample = self.sample();
        let mbps = |bps: Option<f64>| bps.unwrap_or_default() / 1e6;
        let mut line = format!("{:5.0} s", sample.t_s);
        if self.awaits_peer {
            return line + "  waiting for the other end";
        }
        if let Some(x) = sample.x_bps {
            line += &format!("  X {:6.2} Mb/s", x / 1e6);
        }
        line += &format!("  throughput {:6.2} Mb/s", mbps(sample.throughput_bps));
        if let (Some(flows), Some(rate)) = (sample.knobs.tcp, sample.tcp_bps) {
            line += &format!("  TCP {flows} × {:.2} Mb/s", rate / 1e6);
        }
        if let Some(p) = sample.p {
            let rtt = sample.rtt_ms.unwrap_or_default();
            line += &format!("  RTT {rtt:4.0} ms  p {:6.3} %", p * 100.0);
        }
        if let Some(queue) = sample.queue_ms {
            line += &format!("  queue {queue:3.0} ms");
        }
        if let Some(delay) = sample.frame_delay_p95_ms {
            line += &format!("  delay p95 {delay:4.0} ms");
        }
        if let Some(psnr) = sample.psnr_db {
            line += &format!("  PSNR {psnr:4.1} dB");
        }
        let counts = [
            (sample.frames_missed.filter(|frames| *frames > 0), "missed"),
            (sample.frames_sent, "sent"),
            (sample.frames_discarded, "discarded"),
            (sample.frames_shown, "shown"),
            (sample.frames_late, "incomplete"),
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

    /// Returns one sample for the page.
    pub(super) fn sample(&self) -> Sample {
        let delays = self.shown.iter().filter_map(|frame| frame.delay);
        let delays: Vec<f64> = delays.map(millis).collect();
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
            words: self.words.clone(),
            invitation: self.invitation.clone().filter(|_| self.awaits_peer),
            x_bps: path.map(|path| path.allowed_rate.bits_per_sec()),
            x_recv_bps: path.map(|path| path.receive_rate.bits_per_sec()),
            throughput_bps: rate(&self.bytes).map(Rate::bits_per_sec),
            filler_bps: rate(&self.filler).map(Rate::bits_per_sec),
            tcp_bps: self.tcp_rate().map(Rate::bits_per_sec),
            link_bps: link.map(|link| link.rate.bits_per_sec()),
            rtt_ms: path.and_then(|path| path.rtt).map(millis),
            queue_ms: link.and_then(|_| self.longest_wait()).map(millis),
            p: path.map(|path| path.loss_event_rate.get()),
            frame_delay_ms: percentile(&delays, 50.0),
            frame_delay_p95_ms: percentile(&delays, 95.0),
            psnr_db: percentile(&psnrs, 50.0),
            target_bytes: self.target.map(Bytes::get),
            frames_missed: sent(self.missed),
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
            ignored: self.ignored(),
            warnings: last_warnings(),
            command: String::new(),
            knobs: snapshot
                .map(|snapshot| snapshot.knobs(self.choice))
                .unwrap_or_default(),
        }
    }

    fn is_stretched(&self) -> bool {
        self.sending().is_some_and(|sending| sending.stretched)
    }

    fn path(&self) -> Option<&Path> {
        self.snapshot.as_ref()?.path.as_ref()
    }

    /// Returns the mean rate of one flow.
    fn tcp_rate(&self) -> Option<Rate> {
        let ((_, first), (_, last)) = (self.tcp.front()?, self.tcp.back()?);
        last.rate_of_one_since(first)
    }

    /// Returns the longest wait in the window.
    fn longest_wait(&self) -> Option<Duration> {
        self.waits.iter().map(|(_, wait)| *wait).max()
    }

    fn count_discarded(&mut self, reason: Discard) {
        *self.discarded.entry(reason.name()).or_default() += 1;
    }
}

/// Returns the newest warnings, as many as a viewer reads.
fn last_warnings() -> Vec<String> {
    let mut warnings = failure::warnings();
    let older = warnings.len().saturating_sub(PAGE_WARNINGS);
    warnings.split_off(older)
}

/// Returns the mean rate over the ticks of the window, once there are two.
fn rate(ticks: &VecDeque<(Instant, Bytes)>) -> Option<Rate> {
    let ((from, first), (to, last)) = (ticks.front()?, ticks.back()?);
    (to > from).then(|| (*last - *first) / (*to - *from))
}

/// Forgets old ticks, but keeps at least two, from which a difference is taken.
fn forget<T>(ticks: &mut VecDeque<(Instant, T)>, oldest: Instant) {
    while ticks.len() > 2 && ticks.front().is_some_and(|(at, _)| *at < oldest) {
        ticks.pop_front();
    }
}
