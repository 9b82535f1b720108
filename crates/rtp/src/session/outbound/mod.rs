//! The media that goes out: its numbers, its rate, and what feedback may say about it.

mod feedback;
mod inheritance;
mod without_feedback;

use tfrc::pacer::Pacer;
use tfrc::sender::Receivable;
use tfrc::sent_packets::SentPacketTracker;
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Ecn, Sender, SenderConfig};

use super::Path;
use super::config::SendConfig;
use super::event::Lie;
use super::fallback::{Breach, RateSource};
use super::gaps::{Gaps, LEFT_OUT, MARKED};
use super::hosts::Hosts;
use super::path_sample::{PathSample, PathSignal};
use super::random::Random;
use super::reception::{REMEMBERED, Reception};
use super::sent_media::SentMedia;
use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::flexfec;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtcp::TfrcFeedback;
use crate::packet::rtp::{HEADER_LEN, RtpHeader};
use feedback::Noted;
use inheritance::Known;

/// Packets that may be under way before reports tell of them: a tenth of a second of uncompressed HDTV's
/// 75,000 packets a second, reports and all.
pub(super) const IN_FLIGHT: usize = 8_192;
/// How far a sender of fixed rate, or one that falls back to it, catches up after it was late: two timer errors of a busy host.
const FIXED_RATE_CREDIT: Duration = Duration::from_millis(10);

/// What sets the times of departure.
#[derive(Debug)]
enum Control {
    Tfrc(Box<Sender>),
    Plain(Pacer, RateSource),
}

/// The source of repair packets.
#[derive(Clone, Copy, Debug)]
struct Repair {
    payload_type: u8,
    ssrc: u32,
    /// That of the next packet.
    sequence: u16,
}

/// The media that we send.
#[derive(Debug)]
pub(super) struct Outbound {
    config: SendConfig,
    control: Control,
    /// What was sent, where p is computed here.
    departures: Option<Box<SentPacketTracker<IN_FLIGHT>>>,
    /// What reports told of it and is not counted yet.
    noted: Option<Noted>,
    /// The number of the last packet, by which deliveries name it.
    last_number: u64,
    /// What feedback told of the path, until the caller takes it.
    path_signal: Option<PathSignal>,
    /// Feedback has reported a loss event since the last sample.
    loss_event: bool,
    /// Packets found lost since the last sample of the path.
    lost: u64,
    /// What the receiver can have received, where it computes p.
    receivable: Receivable,
    /// That of the next media packet, extended: its lower half is RTP's.
    sequence: u32,
    /// That of the next packet of either source, by which TFRC counts. Without repair packets the same.
    transport: u32,
    /// That of the first packet to the present receiver.
    first: u32,
    /// Packets from there on that reports can have told of.
    reported: u64,
    repair: Option<Repair>,
    timestamp_offset: u32,
    packets: u32,
    payload_bytes: u32,
    first_departure: Option<Instant>,
    /// When media began towards the present receiver.
    started: Option<Instant>,
    last_departure: Option<Instant>,
    /// When the packet left that feedback was last about, and that feedback.
    last_echo: Option<(Instant, TfrcFeedback)>,
    /// When media left, where feedback names it by number.
    sent_media: Option<SentMedia>,
    /// The first departure since the last feedback.
    waiting_since: Option<Instant>,
    gave_up: bool,
    gaps: Gaps,
    /// When a packet leaves with a mark of ours.
    test_marks: Gaps,
    /// Our socket marks packets and the format tells of marks.
    is_ecn_capable: bool,
    known: Known,
    hosts: Hosts<Known>,
    /// A report of our own kind came since the start, or since the receiver changed.
    has_feedback: bool,
    /// RTCP about us came, of any kind.
    has_rtcp: bool,
    reception: Reception,
    /// The circuit breaker that tripped first.
    breach: Option<Breach>,
    /// One tripped that ends the media for good.
    has_ceased: bool,
}

impl Outbound {
    pub(super) fn new(now: Instant, config: SendConfig, ecn: bool, random: &mut Random) -> Self {
        // Who cannot tell of marks must get none.
        let reads_marks = !matches!(config.feedback, FeedbackMode::Twcc | FeedbackMode::Sack);
        let control = match config.fixed_rate {
            Some(rate) => Control::Plain(plain_pacer(rate), RateSource::Fixed),
            None => Control::Tfrc(Box::new(Sender::new(now, sender_config(&config)))),
        };
        let sequence = random.next_u32() & 0xffff;
        let repair = config.repair.map(|repair| {
            let mut random = random.fork("repair");
            Repair {
                payload_type: repair.payload_type,
                ssrc: repair.ssrc.unwrap_or(random.next_u32()),
                sequence: random.next_u32() as u16,
            }
        });
        Self {
            control,
            departures: None,
            noted: None,
            last_number: 0,
            path_signal: None,
            loss_event: false,
            lost: 0,
            receivable: Receivable::default(),
            sequence,
            transport: sequence,
            first: sequence,
            reported: 0,
            repair,
            timestamp_offset: random.next_u32(),
            packets: 0,
            payload_bytes: 0,
            first_departure: None,
            started: None,
            last_departure: None,
            last_echo: None,
            sent_media: (config.feedback == FeedbackMode::App).then(|| SentMedia::new(sequence)),
            waiting_since: None,
            gave_up: false,
            gaps: Gaps::new(random.fork("gaps"), LEFT_OUT),
            test_marks: Gaps::new(random.fork("marks"), MARKED),
            is_ecn_capable: ecn && reads_marks,
            known: Known::nothing(),
            hosts: Hosts::new(),
            has_feedback: false,
            has_rtcp: false,
            reception: Reception::default(),
            breach: None,
            has_ceased: false,
            config,
        }
    }

    /// The largest packet.
    pub(super) fn packet_size(&self) -> usize {
        usize::try_from(self.config.packet_size.get()).unwrap_or(usize::MAX)
    }

    /// True if packets carry the transport-wide number.
    fn has_transport_number(&self) -> bool {
        self.config.feedback == FeedbackMode::Twcc || self.repair.is_some()
    }

    /// Elements of the header extension: `rtt-sendts`, and the transport-wide number if there is one.
    pub(super) fn elements(&self) -> usize {
        1 + usize::from(self.has_transport_number())
    }

    /// Bytes of a media packet before its payload: the fixed header and the extension.
    pub(super) fn headers_len(&self) -> usize {
        let transport = usize::from(self.has_transport_number()) * (1 + TransportSequence::LEN);
        HEADER_LEN + (4 + 1 + RttSendTs::LEN + transport).next_multiple_of(4)
    }

    /// Packets and bytes of payload sent, as a sender report counts them.
    pub(super) fn counts(&self) -> (u32, u32) {
        (self.packets, self.payload_bytes)
    }

    /// When media last left.
    pub(super) fn last_departure(&self) -> Option<Instant> {
        self.last_departure
    }

    /// `now` on our media clock.
    pub(super) fn media_clock(&self, now: Instant) -> u32 {
        self.offset(crate::packet::rtp::media_time(now, self.config.clock_rate))
    }

    /// A timestamp of the caller's, with our random offset.
    pub(super) fn offset(&self, timestamp: u32) -> u32 {
        timestamp.wrapping_add(self.timestamp_offset)
    }

    /// When the next packet may leave; `None` once given up.
    pub(super) fn next_departure(&self, now: Instant) -> Option<Instant> {
        if self.gave_up || self.has_ceased {
            return None;
        }
        Some(match &self.control {
            Control::Tfrc(sender) => sender.next_departure(now),
            Control::Plain(pacer, _) => pacer.next_departure(now),
        })
    }

    /// The extended sequence number of the next packet.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The transport-wide number of the next packet.
    pub(super) fn transport(&self) -> TransportSequence {
        TransportSequence(self.transport as u16)
    }

    /// What a repair packet needs beyond a media packet of the same payload: where there are any, media
    /// packets leave room for it.
    pub(super) fn repair_overhead(&self) -> usize {
        let copied = self.headers_len() - HEADER_LEN;
        self.repair.map_or(0, |_| copied + flexfec::OVERHEAD)
    }

    /// What media packets carry from now on.
    pub(super) fn set_payload_type(&mut self, payload_type: u8) {
        self.config.payload_type = payload_type;
    }

    /// The header of the next media packet.
    pub(super) fn header(&self, ssrc: u32, timestamp: u32, marker: bool) -> RtpHeader {
        RtpHeader {
            payload_type: self.config.payload_type,
            marker,
            sequence: self.sequence as u16,
            timestamp: self.offset(timestamp),
            ssrc,
        }
    }

    /// The header of the next repair packet, if there are any.
    pub(super) fn repair_header(&self, now: Instant) -> Option<RtpHeader> {
        let repair = self.repair.as_ref()?;
        Some(RtpHeader {
            payload_type: repair.payload_type,
            marker: false,
            sequence: repair.sequence,
            timestamp: self.media_clock(now),
            ssrc: repair.ssrc,
        })
    }

    /// True for a source of ours.
    pub(super) fn is_repair_source(&self, ssrc: u32) -> bool {
        self.repair.is_some_and(|repair| repair.ssrc == ssrc)
    }

    /// The media packet of that header leaves; with which ECN field. TFRC is no scalable control, so never with
    /// ECT(1) (RFC 9331 §4).
    pub(super) fn handle_sent(
        &mut self,
        now: Instant,
        size: usize,
        payload: usize,
        ends_frame: bool,
    ) -> Ecn {
        if let Some(sent) = &mut self.sent_media {
            sent.handle_sent(now, self.sequence);
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.packets = self.packets.wrapping_add(1);
        self.payload_bytes = self.payload_bytes.wrapping_add(payload as u32);
        self.depart(now, size, ends_frame)
    }

    /// The repair packet of that header leaves; with which ECN field.
    pub(super) fn handle_repair_sent(&mut self, now: Instant, size: usize) -> Ecn {
        if let Some(repair) = &mut self.repair {
            repair.sequence = repair.sequence.wrapping_add(1);
        }
        // Its place is between frames.
        self.depart(now, size, true)
    }

    fn depart(&mut self, now: Instant, size: usize, ends_frame: bool) -> Ecn {
        if self.first_departure.is_none() {
            self.first_departure = Some(now);
            // TFRC begins with the first packet, not with the session (RFC 5348 §4.2).
            self.begin(now);
        }
        let rtt = self.rtt();
        if let Some(departures) = &mut self.departures {
            self.last_number = departures.next_number();
            departures.handle_sent(now, Bytes::from(size), rtt);
        } else {
            self.last_number += 1;
            self.receivable.handle_sent(now, Bytes::from(size), rtt);
        }
        self.transport = self.transport.wrapping_add(1);
        self.last_departure = Some(now);
        self.waiting_since.get_or_insert(now);
        self.pace(now, size);
        let ecn = self.ecn();
        if let Some(departures) = &mut self.departures
            && self.config.verify
            // Elsewhere losses are counted by numbers alone.
            && matches!(self.control, Control::Tfrc(_))
            && self.gaps.is_next(ends_frame)
        {
            departures.handle_left_out(now);
            self.transport = self.transport.wrapping_add(1);
            // It takes the time of a packet, so that it looks like one that is lost.
            self.pace(now, size);
        }
        if self.repair.is_none() {
            self.sequence = self.transport;
        }
        ecn
    }

    /// Now and then a mark of our own, where reports tell of single packets.
    fn ecn(&mut self) -> Ecn {
        if !self.uses_ecn() {
            return Ecn::NotEct;
        }
        match &mut self.departures {
            Some(departures) if self.config.verify && self.test_marks.is_next(true) => {
                departures.handle_test_mark();
                Ecn::Ce
            }
            _ => Ecn::Ect0,
        }
    }

    fn pace(&mut self, now: Instant, size: usize) {
        let size = Bytes::from(size);
        match &mut self.control {
            Control::Tfrc(sender) => sender.handle_sent(now, size),
            Control::Plain(pacer, _) => {
                pacer.handle_sent(now, size);
            }
        }
    }

    /// True if sender reports take R along.
    pub(super) fn tells_round_trip(&self) -> bool {
        self.config.feedback == FeedbackMode::App
    }

    /// The number of the packet that left last.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// What feedback told of the path since the last call.
    pub(super) fn poll_path(&mut self) -> Option<PathSample<'_>> {
        let signal = self.path_signal.take()?;
        let departures = self.departures.as_deref();
        let loss_event = core::mem::take(&mut self.loss_event);
        let lost = core::mem::take(&mut self.lost);
        Some(PathSample {
            signal,
            loss_event,
            lost,
            departures,
        })
    }

    /// What receivers report.
    pub(super) fn feedback_mode(&self) -> FeedbackMode {
        self.config.feedback
    }

    /// Serves the nofeedback timer.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Trace> {
        let is_running = self.is_running();
        match &mut self.control {
            Control::Tfrc(sender) if is_running => sender.handle_timeout(now),
            _ => None,
        }
    }

    /// When the nofeedback timer expires, if it runs: it does from the first packet on.
    pub(super) fn nofeedback_expiry(&self) -> Option<Instant> {
        match &self.control {
            Control::Tfrc(sender) if self.is_running() => Some(sender.poll_timeout()),
            _ => None,
        }
    }

    /// When we shall give up, unless feedback comes.
    pub(super) fn give_up_expiry(&self) -> Option<Instant> {
        if self.gave_up || self.has_ceased || self.config.fixed_rate.is_some() {
            return None;
        }
        self.waiting_since.map(|since| since + self.config.give_up)
    }

    /// Gives up if it is time; true if so.
    pub(super) fn check_give_up(&mut self, now: Instant) -> bool {
        let due = self.give_up_expiry().is_some_and(|expiry| expiry <= now);
        self.gave_up |= due;
        due
    }

    /// True once given up.
    pub(super) fn has_given_up(&self) -> bool {
        self.gave_up
    }

    /// Begins again as if no feedback had ever come: the receiver is a new one, or back. Lies are counted on, and so
    /// are loss events.
    pub(super) fn restart(&mut self, now: Instant) {
        self.learn();
        self.begin(now);
    }

    /// Begins with what is known of the host.
    fn begin(&mut self, now: Instant) {
        self.forget(now);
        self.started = Some(now);
        let suspicions = self.known.suspicions;
        self.receivable = Receivable::default().suspecting(suspicions);
        if self.config.fixed_rate.is_none() {
            self.control = Control::Tfrc(self.new_sender(now));
            (self.has_feedback, self.reception) = (false, Reception::default());
            (self.first, self.reported) = (self.transport, 0);
            self.noted = None;
            let (first, estimator) = (u64::from(self.first), self.estimator());
            self.departures = self.config.feedback.tells_arrivals().then(|| {
                let departures = SentPacketTracker::new(first, estimator).suspecting(suspicions);
                Box::new(if self.config.verify {
                    departures
                } else {
                    departures.trusting()
                })
            });
        }
    }

    /// True while packets leave as ECN-capable.
    pub(super) fn uses_ecn(&self) -> bool {
        self.is_ecn_capable && !self.known.loses_marks
    }

    /// By what a receiver at its host was caught.
    pub(super) fn lie(&self) -> Option<Lie> {
        self.known.lie
    }

    /// True once the receiver was caught lying.
    pub(super) fn has_caught_a_lie(&self) -> bool {
        self.known.lie.is_some()
    }

    /// Claims of X_recv above what was sent to the present receiver.
    pub(super) fn capped(&self) -> u64 {
        self.receivable.capped()
    }

    /// The peer was heard after we had given up.
    pub(super) fn resume(&mut self, now: Instant) {
        self.restart(now);
        self.gave_up = false;
        self.waiting_since = None;
    }

    /// The share of packets lost, by the last reception reports.
    pub(super) fn reported_loss(&self) -> f64 {
        self.reception.loss(REMEMBERED)
    }

    /// The round-trip time, once TFRC knows it.
    pub(super) fn rtt(&self) -> Option<Duration> {
        match &self.control {
            Control::Tfrc(sender) => sender.rtt(),
            Control::Plain(..) => None,
        }
    }

    /// Holds X to what the caller can use.
    pub(super) fn set_ceiling(&mut self, ceiling: Rate) {
        if let Control::Tfrc(sender) = &mut self.control {
            sender.set_ceiling(ceiling);
        }
    }

    pub(super) fn tolerate_losses(&mut self, ratio: f64) {
        if let Some(departures) = &mut self.departures {
            departures.tolerate_losses(ratio);
        }
    }

    /// What is known of the path.
    pub(super) fn path(&self) -> Path {
        match &self.control {
            Control::Tfrc(sender) => Path {
                allowed_rate: sender.allowed_rate(),
                instantaneous_rate: sender.instantaneous_rate(),
                rtt: self.rtt(),
                loss_event_rate: sender.loss_event_rate(),
                receive_rate: sender.receive_rate(),
                source: RateSource::Feedback,
            },
            Control::Plain(pacer, source) => Path {
                allowed_rate: pacer.rate(),
                instantaneous_rate: pacer.rate(),
                rtt: self.rtt(),
                loss_event_rate: LossEventRate::ZERO,
                receive_rate: Rate::ZERO,
                source: *source,
            },
        }
    }

    /// TFRC as it begins towards a receiver.
    fn new_sender(&self, now: Instant) -> Box<Sender> {
        let config = sender_config(&self.config);
        Box::new(if self.has_past() {
            Sender::returning(now, config)
        } else {
            Sender::new(now, config)
        })
    }

    fn is_running(&self) -> bool {
        self.last_departure.is_some() && !self.gave_up
    }
}

fn plain_pacer(rate: Rate) -> Pacer {
    Pacer::new(FIXED_RATE_CREDIT, rate, Some(FIXED_RATE_CREDIT))
}

/// How TFRC behaves, its packets being ours.
fn sender_config(config: &SendConfig) -> SenderConfig {
    let mut tfrc = config.tfrc.clone();
    match config.segment_size {
        Some(size) => tfrc.segment_size = size,
        // TFRC-SP competes with the packets of others, whatever the size of ours.
        None if tfrc.small_packets => {}
        None => tfrc.segment_size = config.packet_size,
    }
    tfrc
}
