//! The media that leaves to one receiver at a time.

use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;
use tfrc::trust::Receivable;
use tfrc::units::{Bytes, Rate};
use tfrc::{Ecn, Sender};

use super::feedback_state::FeedbackState;
use super::host_memory::HostMemory;
use super::lie::Lie;
use super::liveness::Liveness;
use super::numbering::Numbering;
use super::path::Path;
use super::path_sample::{PathSample, PendingSample};
use super::rate_source::RateSource;
use super::receiver_traps::ReceiverTraps;
use super::reception::REMEMBERED;
use super::sending_rate::{Control, SendingRate};
use super::sent_history::SentHistory;
use super::sent_media::SentMedia;
use crate::packet::ext::TransportSequence;
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
    /// True if our socket marks packets, and the feedback format carries marks.
    is_ecn_capable: bool,
    /// True if media has `rtt-sendts`.
    pub(super) has_timing: bool,
}

impl Outbound {
    pub(in crate::session) fn new(
        now: Instant,
        config: SendConfig,
        ecn: bool,
        has_timing: bool,
        random: &mut Random,
    ) -> Self {
        // A receiver whose report format carries no marks must get no ECN-capable packets.
        let reads_marks = !matches!(config.feedback, FeedbackMode::Twcc | FeedbackMode::Sack);
        let control = match config.fixed_rate {
            Some(rate) => Control::plain(rate, RateSource::Fixed),
            None => Control::Tfrc(Box::new(Sender::new(now, config.tfrc_sender()))),
        };
        let has_transport = config.feedback == FeedbackMode::Twcc || config.repair.is_some();
        let numbering = Numbering::new(config.repair, has_transport, random);
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
            has_timing,
            config,
        }
    }

    /// Returns the length of the largest packet.
    pub(in crate::session) fn packet_size(&self) -> usize {
        usize::try_from(self.config.packet_size.get()).unwrap_or(usize::MAX)
    }

    /// Returns the packets and bytes of payload sent, as a sender report counts them.
    pub(in crate::session) fn counts(&self) -> (u32, u32) {
        (self.numbering.packets(), self.numbering.payload_bytes())
    }

    /// Returns when the last media packet left.
    pub(in crate::session) fn last_departure(&self) -> Option<Instant> {
        self.liveness.last_departure()
    }

    /// Returns `now` on our media clock.
    pub(in crate::session) fn media_clock(&self, now: Instant) -> u32 {
        self.offset(media_time(now, self.config.clock_rate))
    }

    /// Returns a timestamp of the caller with our random offset.
    pub(in crate::session) fn offset(&self, timestamp: u32) -> u32 {
        self.numbering.offset(timestamp)
    }

    /// Returns when the next packet may leave; `None` once media has been given up.
    pub(in crate::session) fn next_departure(&self, now: Instant) -> Option<Instant> {
        if self.liveness.has_given_up() {
            return None;
        }
        self.rate.next_departure(now)
    }

    /// Returns the extended sequence number of the next packet.
    pub(in crate::session) fn sequence(&self) -> u32 {
        self.numbering.sequence()
    }

    /// Returns the transport-wide number of the next packet.
    pub(in crate::session) fn transport(&self) -> TransportSequence {
        TransportSequence(self.numbering.transport() as u16)
    }

    /// Returns the bytes by which a repair packet exceeds a media packet with the same payload. Media packets
    /// leave room for them if there are repair packets.
    pub(in crate::session) fn repair_overhead(&self) -> usize {
        if self.numbering.has_repair() {
            self.headers_len() - HEADER_LEN + flexfec::OVERHEAD
        } else {
            0
        }
    }

    /// Sets the payload type of media packets from now on.
    pub(in crate::session) fn set_payload_type(&mut self, payload_type: u8) {
        self.config.payload_type = payload_type;
    }

    /// Returns the header of the next media packet.
    pub(in crate::session) fn header(&self, ssrc: u32, timestamp: u32, marker: bool) -> RtpHeader {
        RtpHeader {
            payload_type: self.config.payload_type,
            marker,
            sequence: self.numbering.sequence() as u16,
            timestamp: self.offset(timestamp),
            ssrc,
        }
    }

    /// Returns the header of the next repair packet, if there are any.
    pub(in crate::session) fn repair_header(&self, now: Instant) -> Option<RtpHeader> {
        let timestamp = media_time(now, self.config.clock_rate);
        self.numbering.repair_header(timestamp)
    }

    /// Returns our source of repair packets, if there is one.
    pub(in crate::session) fn repair_source(&self) -> Option<u32> {
        self.numbering.repair_source()
    }

    /// Returns true for our source of repair packets.
    pub(in crate::session) fn is_repair_source(&self, ssrc: u32) -> bool {
        self.repair_source() == Some(ssrc)
    }

    /// Records that the media packet of that header leaves, and returns its ECN field. TFRC is no scalable control,
    /// so the field is never ECT(1) (RFC 9331 §4).
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

    /// Records that the repair packet of that header leaves, and returns its ECN field.
    pub(in crate::session) fn handle_repair_sent(&mut self, now: Instant, size: usize) -> Ecn {
        self.numbering.count_repair();
        // Repair packets leave between frames.
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
        let leaves_out_numbers = self.leaves_out_numbers();
        if let Some(departures) = &mut self.sent.departures
            && self.config.verify
            && leaves_out_numbers
            // Without TFRC, losses are counted by numbers alone, and a left-out number would count as one.
            && self.rate.is_tfrc()
        {
            let numbers = &mut self.traps.left_out;
            let left_out = if departures.suspicions().are_on_probation() {
                numbers.test_run(ends_frame)
            } else {
                numbers.is_next(ends_frame).into()
            };
            for _ in 0..left_out {
                departures.handle_left_out(now);
                self.numbering.leave_out();
                // The left-out number takes the time of a packet, so that it looks like a lost packet.
                self.rate.handle_sent(now, size);
            }
        }
        ecn
    }

    /// Returns the ECN field of the next packet: sometimes a mark of our own, if reports cover single packets.
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

    /// Returns true if sender reports carry R.
    pub(in crate::session) fn sends_round_trip(&self) -> bool {
        self.config.feedback == FeedbackMode::App
    }

    /// Returns the number of the packet that left last.
    pub(in crate::session) fn last_number(&self) -> u64 {
        self.sent.last_number()
    }

    /// Returns the sample of the path from feedback since the last call.
    pub(in crate::session) fn poll_path(&mut self) -> Option<PathSample<'_>> {
        self.sample.take(self.sent.departures.as_deref())
    }

    /// Returns the report format that receivers use.
    pub(in crate::session) fn feedback_mode(&self) -> FeedbackMode {
        self.config.feedback
    }

    /// Handles the nofeedback timer.
    pub(in crate::session) fn handle_timeout(&mut self, now: Instant) -> Option<Trace> {
        let is_running = self.liveness.is_running();
        match &mut self.rate.control {
            Control::Tfrc(sender) if is_running => sender.handle_timeout(now),
            _ => None,
        }
    }

    /// Returns when the nofeedback timer expires; it runs from the first packet on.
    pub(in crate::session) fn nofeedback_expiry(&self) -> Option<Instant> {
        match &self.rate.control {
            Control::Tfrc(sender) if self.liveness.is_running() => Some(sender.poll_timeout()),
            _ => None,
        }
    }

    /// Returns when media is given up, unless feedback arrives.
    pub(in crate::session) fn give_up_expiry(&self) -> Option<Instant> {
        let is_over = self.liveness.has_given_up() || self.rate.breakers.has_ceased();
        if is_over || self.config.fixed_rate.is_some() {
            return None;
        }
        self.liveness.expiry(self.config.give_up)
    }

    /// Gives media up if it is time, and returns true if so.
    pub(in crate::session) fn check_give_up(&mut self, now: Instant) -> bool {
        let due = self.give_up_expiry().is_some_and(|expiry| expiry <= now);
        if due {
            self.liveness.give_up();
        }
        due
    }

    /// Returns true once media has been given up.
    pub(in crate::session) fn has_given_up(&self) -> bool {
        self.liveness.has_given_up()
    }

    /// Restarts as before the first feedback, for a receiver that is new, or back. The counts of lies and loss
    /// events continue.
    pub(in crate::session) fn restart(&mut self, now: Instant) {
        self.learn();
        self.begin(now);
    }

    /// Begins with the memory of the host.
    pub(super) fn begin(&mut self, now: Instant) {
        self.host.forget(now);
        self.liveness.started = Some(now);
        let suspicions = self.host.known.suspicions;
        self.sent.receivable = Receivable::default().suspecting(suspicions);
        if self.config.fixed_rate.is_none() {
            self.rate.restart(self.new_sender(now));
            let first = self.numbering.transport();
            self.feedback.restart(first);
            self.sent.departures = None;
            if self.config.feedback.reports_arrivals() {
                let (estimator, verify) = (self.estimator(), self.config.verify);
                self.sent
                    .record_departures(first, estimator, suspicions, verify);
            }
        }
    }

    /// Returns true if numbers are left out to test the receiver: transport-wide numbers cost no receiver a packet.
    pub(super) fn leaves_out_numbers(&self) -> bool {
        self.numbering.has_transport() || self.config.leave_out_sequence_numbers
    }

    /// Returns true while packets leave as ECN-capable.
    pub(in crate::session) fn uses_ecn(&self) -> bool {
        self.is_ecn_capable && !self.host.known.loses_marks
    }

    /// Returns true if a lie was proven at this host before the last one.
    pub(in crate::session) fn lies_again(&self) -> bool {
        self.sent.suspicions().are_repeated()
    }

    /// Returns the lie of the receiver, if one was proven.
    pub(in crate::session) fn lie(&self) -> Option<Lie> {
        self.host.known.lie
    }

    /// Returns the number of X_recv claims above what was sent to the present receiver.
    pub(in crate::session) fn capped(&self) -> u64 {
        self.sent.receivable.capped()
    }

    /// Resumes media for a peer that sent a packet after media had stopped.
    pub(in crate::session) fn resume(&mut self, now: Instant) {
        self.restart(now);
        self.liveness.resume();
    }

    /// Returns the share of packets lost, by the last reception reports.
    pub(in crate::session) fn reported_loss(&self) -> f64 {
        self.rate.reception.loss(REMEMBERED)
    }

    /// Returns the round-trip time, once TFRC knows it.
    pub(in crate::session) fn rtt(&self) -> Option<Duration> {
        self.rate.rtt()
    }

    /// Limits X to what the caller can use.
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

    /// Returns the rates and the state of the path.
    pub(in crate::session) fn path(&self) -> Path {
        self.rate.path()
    }

    /// Returns a TFRC sender in its initial state towards a receiver.
    pub(super) fn new_sender(&self, now: Instant) -> Box<Sender> {
        let config = self.config.tfrc_sender();
        Box::new(if self.host.has_past() {
            Sender::returning(now, config)
        } else {
            Sender::new(now, config)
        })
    }
}
