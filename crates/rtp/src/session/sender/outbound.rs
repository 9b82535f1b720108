//! The media that leaves towards one receiver at a time.

use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;
use tfrc::trust::Receivable;
use tfrc::units::{Bytes, Rate};
use tfrc::{Ecn, Sender};

use super::feedback_state::FeedbackState;
use super::gaps::ReceiverTraps;
use super::host_memory::HostMemory;
use super::lie::Lie;
use super::liveness::Liveness;
use super::numbering::Numbering;
use super::path::Path;
use super::path_sample::{PathSample, PendingSample};
use super::rate_source::RateSource;
use super::reception::{REMEMBERED, Reception};
use super::sending_rate::{Control, SendingRate};
use super::sent_history::SentHistory;
use super::sent_media::SentMedia;
use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::flexfec;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtp::{HEADER_LEN, RtpHeader, media_time};
use crate::session::config::SendConfig;
use crate::session::random::Random;

/// The media that leaves.
#[derive(Debug)]
pub(in crate::session) struct Outbound {
    pub(super) config: SendConfig,
    pub(super) numbering: Numbering,
    pub(super) sent: SentHistory,
    pub(super) liveness: Liveness,
    pub(super) feedback: FeedbackState,
    pub(super) rate: SendingRate,
    pub(super) sample: PendingSample,
    pub(super) host: HostMemory,
    traps: ReceiverTraps,
    /// Our socket marks packets, and the feedback format carries marks.
    is_ecn_capable: bool,
}

impl Outbound {
    pub(in crate::session) fn new(
        now: Instant,
        config: SendConfig,
        ecn: bool,
        random: &mut Random,
    ) -> Self {
        // A receiver whose format carries no marks must get none.
        let reads_marks = !matches!(config.feedback, FeedbackMode::Twcc | FeedbackMode::Sack);
        let control = match config.fixed_rate {
            Some(rate) => Control::plain(rate, RateSource::Fixed),
            None => Control::Tfrc(Box::new(Sender::new(now, config.tfrc_sender()))),
        };
        let numbering = Numbering::new(config.repair, random);
        let sequence = numbering.sequence();
        let media = (config.feedback == FeedbackMode::App).then(|| SentMedia::new(sequence));
        Self {
            numbering,
            sent: SentHistory::new(media),
            liveness: Liveness::default(),
            feedback: FeedbackState::new(sequence),
            rate: SendingRate::new(control),
            sample: PendingSample::default(),
            host: HostMemory::new(),
            traps: ReceiverTraps::new(random),
            is_ecn_capable: ecn && reads_marks,
            config,
        }
    }

    /// The largest packet.
    pub(in crate::session) fn packet_size(&self) -> usize {
        usize::try_from(self.config.packet_size.get()).unwrap_or(usize::MAX)
    }

    /// True if packets carry the transport-wide number.
    fn has_transport_number(&self) -> bool {
        self.config.feedback == FeedbackMode::Twcc || self.numbering.has_repair()
    }

    /// Elements of the header extension: `rtt-sendts`, and the transport-wide number if there is one.
    pub(in crate::session) fn elements(&self) -> usize {
        1 + usize::from(self.has_transport_number())
    }

    /// Bytes of a media packet before its payload: the fixed header and the extension.
    pub(in crate::session) fn headers_len(&self) -> usize {
        let transport = usize::from(self.has_transport_number()) * (1 + TransportSequence::LEN);
        HEADER_LEN + (4 + 1 + RttSendTs::LEN + transport).next_multiple_of(4)
    }

    /// Packets and bytes of payload sent, as a sender report counts them.
    pub(in crate::session) fn counts(&self) -> (u32, u32) {
        (self.numbering.packets(), self.numbering.payload_bytes())
    }

    /// When media last left.
    pub(in crate::session) fn last_departure(&self) -> Option<Instant> {
        self.liveness.last_departure()
    }

    /// `now` on our media clock.
    pub(in crate::session) fn media_clock(&self, now: Instant) -> u32 {
        self.offset(media_time(now, self.config.clock_rate))
    }

    /// A timestamp of the caller's, with our random offset.
    pub(in crate::session) fn offset(&self, timestamp: u32) -> u32 {
        self.numbering.offset(timestamp)
    }

    /// When the next packet may leave; `None` once given up.
    pub(in crate::session) fn next_departure(&self, now: Instant) -> Option<Instant> {
        if self.liveness.has_given_up() {
            return None;
        }
        self.rate.next_departure(now)
    }

    /// The extended sequence number of the next packet.
    pub(in crate::session) fn sequence(&self) -> u32 {
        self.numbering.sequence()
    }

    /// The transport-wide number of the next packet.
    pub(in crate::session) fn transport(&self) -> TransportSequence {
        TransportSequence(self.numbering.transport() as u16)
    }

    /// What a repair packet needs beyond a media packet of the same payload: where there are any, media
    /// packets leave room for it.
    pub(in crate::session) fn repair_overhead(&self) -> usize {
        if self.numbering.has_repair() {
            self.headers_len() - HEADER_LEN + flexfec::OVERHEAD
        } else {
            0
        }
    }

    /// What media packets carry from now on.
    pub(in crate::session) fn set_payload_type(&mut self, payload_type: u8) {
        self.config.payload_type = payload_type;
    }

    /// The header of the next media packet.
    pub(in crate::session) fn header(&self, ssrc: u32, timestamp: u32, marker: bool) -> RtpHeader {
        RtpHeader {
            payload_type: self.config.payload_type,
            marker,
            sequence: self.numbering.sequence() as u16,
            timestamp: self.offset(timestamp),
            ssrc,
        }
    }

    /// The header of the next repair packet, if there are any.
    pub(in crate::session) fn repair_header(&self, now: Instant) -> Option<RtpHeader> {
        let timestamp = media_time(now, self.config.clock_rate);
        self.numbering.repair_header(timestamp)
    }

    /// True for a source of ours.
    pub(in crate::session) fn is_repair_source(&self, ssrc: u32) -> bool {
        self.numbering.is_repair_source(ssrc)
    }

    /// The media packet of that header leaves; with which ECN field. TFRC is no scalable control, so never with
    /// ECT(1) (RFC 9331 §4).
    pub(in crate::session) fn handle_sent(
        &mut self,
        now: Instant,
        size: usize,
        payload: usize,
        ends_frame: bool,
    ) -> Ecn {
        if let Some(sent) = &mut self.sent.media {
            sent.handle_sent(now, self.numbering.sequence());
        }
        self.numbering.count_media(payload);
        self.depart(now, size, ends_frame)
    }

    /// The repair packet of that header leaves; with which ECN field.
    pub(in crate::session) fn handle_repair_sent(&mut self, now: Instant, size: usize) -> Ecn {
        self.numbering.count_repair();
        // Its place is between frames.
        self.depart(now, size, true)
    }

    fn depart(&mut self, now: Instant, size: usize, ends_frame: bool) -> Ecn {
        if self.liveness.is_first(now) {
            // TFRC begins with the first packet, not with the session (RFC 5348 §4.2).
            self.begin(now);
        }
        let (rtt, size) = (self.rtt(), Bytes::from(size));
        self.sent.handle_sent(now, size, rtt);
        self.numbering.take_transport();
        self.liveness.handle_sent(now);
        self.rate.handle_sent(now, size);
        let ecn = self.ecn();
        if let Some(departures) = &mut self.sent.departures
            && self.config.verify
            // Elsewhere losses are counted by numbers alone.
            && self.rate.is_tfrc()
            && self.traps.gaps.is_next(ends_frame)
        {
            departures.handle_left_out(now);
            self.numbering.take_transport();
            // It takes the time of a packet, so that it looks like one that is lost.
            self.rate.handle_sent(now, size);
        }
        ecn
    }

    /// Now and then a mark of our own, where reports tell of single packets.
    fn ecn(&mut self) -> Ecn {
        if !self.uses_ecn() {
            return Ecn::NotEct;
        }
        match &mut self.sent.departures {
            Some(departures) if self.config.verify && self.traps.test_marks.is_next(true) => {
                departures.handle_test_mark();
                Ecn::Ce
            }
            _ => Ecn::Ect0,
        }
    }

    /// True if sender reports take R along.
    pub(in crate::session) fn sends_round_trip(&self) -> bool {
        self.config.feedback == FeedbackMode::App
    }

    /// The number of the packet that left last.
    pub(in crate::session) fn last_number(&self) -> u64 {
        self.sent.last_number()
    }

    /// What feedback told of the path since the last call.
    pub(in crate::session) fn poll_path(&mut self) -> Option<PathSample<'_>> {
        self.sample.take(self.sent.departures.as_deref())
    }

    /// What receivers report.
    pub(in crate::session) fn feedback_mode(&self) -> FeedbackMode {
        self.config.feedback
    }

    /// Serves the nofeedback timer.
    pub(in crate::session) fn handle_timeout(&mut self, now: Instant) -> Option<Trace> {
        let is_running = self.liveness.is_running();
        match &mut self.rate.control {
            Control::Tfrc(sender) if is_running => sender.handle_timeout(now),
            _ => None,
        }
    }

    /// When the nofeedback timer expires, if it runs: it does from the first packet on.
    pub(in crate::session) fn nofeedback_expiry(&self) -> Option<Instant> {
        match &self.rate.control {
            Control::Tfrc(sender) if self.liveness.is_running() => Some(sender.poll_timeout()),
            _ => None,
        }
    }

    /// When we shall give up, unless feedback comes.
    pub(in crate::session) fn give_up_expiry(&self) -> Option<Instant> {
        let is_over = self.liveness.has_given_up() || self.rate.has_ceased();
        if is_over || self.config.fixed_rate.is_some() {
            return None;
        }
        self.liveness.expiry(self.config.give_up)
    }

    /// Gives up if it is time; true if so.
    pub(in crate::session) fn check_give_up(&mut self, now: Instant) -> bool {
        let due = self.give_up_expiry().is_some_and(|expiry| expiry <= now);
        if due {
            self.liveness.give_up();
        }
        due
    }

    /// True once given up.
    pub(in crate::session) fn has_given_up(&self) -> bool {
        self.liveness.has_given_up()
    }

    /// Begins again as if no feedback had ever come: the receiver is a new one, or back. Lies are counted on, and so
    /// are loss events.
    pub(in crate::session) fn restart(&mut self, now: Instant) {
        self.learn();
        self.begin(now);
    }

    /// Begins with what is known of the host.
    pub(super) fn begin(&mut self, now: Instant) {
        self.host.forget(now);
        self.liveness.started = Some(now);
        let suspicions = self.host.known.suspicions;
        self.sent.receivable = Receivable::default().suspecting(suspicions);
        if self.config.fixed_rate.is_none() {
            self.rate.control = Control::Tfrc(self.new_sender(now));
            self.rate.reception = Reception::default();
            let first = self.numbering.transport();
            self.feedback.restart(first);
            self.sent.departures = None;
            if self.config.feedback.tells_arrivals() {
                let (estimator, verify) = (self.estimator(), self.config.verify);
                self.sent
                    .record_departures(first, estimator, suspicions, verify);
            }
        }
    }

    /// True while packets leave as ECN-capable.
    pub(in crate::session) fn uses_ecn(&self) -> bool {
        self.is_ecn_capable && !self.host.known.loses_marks
    }

    /// By what a receiver at its host was caught.
    pub(in crate::session) fn lie(&self) -> Option<Lie> {
        self.host.known.lie
    }

    /// True once the receiver was caught lying.
    pub(in crate::session) fn has_caught_a_lie(&self) -> bool {
        self.host.known.lie.is_some()
    }

    /// Claims of X_recv above what was sent to the present receiver.
    pub(in crate::session) fn capped(&self) -> u64 {
        self.sent.receivable.capped()
    }

    /// The peer was heard after we had given up.
    pub(in crate::session) fn resume(&mut self, now: Instant) {
        self.restart(now);
        self.liveness.resume();
    }

    /// The share of packets lost, by the last reception reports.
    pub(in crate::session) fn reported_loss(&self) -> f64 {
        self.rate.reception.loss(REMEMBERED)
    }

    /// The round-trip time, once TFRC knows it.
    pub(in crate::session) fn rtt(&self) -> Option<Duration> {
        self.rate.rtt()
    }

    /// Holds X to what the caller can use.
    pub(in crate::session) fn set_ceiling(&mut self, ceiling: Rate) {
        if let Control::Tfrc(sender) = &mut self.rate.control {
            sender.set_ceiling(ceiling);
        }
    }

    pub(in crate::session) fn tolerate_losses(&mut self, ratio: f64) {
        if let Some(departures) = &mut self.sent.departures {
            departures.tolerate_losses(ratio);
        }
    }

    /// What is known of the path.
    pub(in crate::session) fn path(&self) -> Path {
        self.rate.path()
    }

    /// TFRC as it begins towards a receiver.
    pub(super) fn new_sender(&self, now: Instant) -> Box<Sender> {
        let config = self.config.tfrc_sender();
        Box::new(if self.host.has_past() {
            Sender::returning(now, config)
        } else {
            Sender::new(now, config)
        })
    }
}
