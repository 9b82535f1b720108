//! One end of a call: a session with the media that it sends and receives.

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel_codec::FrameTarget;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use evenkeel_rtp::session::{self, EventKind, Incoming, Session};
use tfrc::time::Instant;

use crate::event::{self, NotShown};
use crate::frame::{EncodedFrame, ReceivedFrame};
use crate::packetize::PacketizeError;
use crate::policy::PolicyConfig;
use crate::reassemble::Payloads;
use crate::receiver::ReceivingSide;
use crate::sender::{SenderConfig, SendingSide};

/// An event in a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CallEvent {
    /// An event of the session.
    Session(session::Event),
    /// An event of a frame.
    Media(event::Event),
}

impl CallEvent {
    /// Returns the time of the event on the caller's clock.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Session(event) => event.at,
            Self::Media(event) => event.at,
        }
    }
}

/// One end of a call, driven as an [`Endpoint`].
///
/// A sending end asks [`frame_target`](Self::frame_target) for each captured picture, encodes the picture and
/// passes it to [`push_frame`](Self::push_frame), or calls [`leave_out`](Self::leave_out) if the encoder left it
/// out. A receiving end calls [`poll_frame`](Self::poll_frame) after each call of the driver until the result is
/// `None`. [`poll_event`](Self::poll_event) returns the events.
#[derive(Debug)]
pub struct Call {
    session: Session,
    payloads: Payloads,
    /// The payload type of the first payload that is sent.
    payload_type: u8,
    sender: Option<SendingSide>,
    receiver: Option<ReceivingSide>,
    /// The latest instant that the caller passed.
    now: Instant,
    events: VecDeque<CallEvent>,
}

impl Call {
    /// Creates one end of a call that starts at `now`. `config` is for both directions, `policy` for the media that
    /// is sent, and `payloads` for the packets of both directions.
    ///
    /// # Panics
    ///
    /// Panics if [`Config::validate`](session::Config::validate) refuses `config`.
    #[track_caller]
    pub fn new(
        now: Instant,
        mut config: session::Config,
        policy: PolicyConfig,
        payloads: impl Into<Payloads>,
    ) -> Self {
        let payloads = payloads.into();
        let receiver = config.receive.as_ref().map(|receive| {
            ReceivingSide::new(payloads.clone(), receive.clock_rate, policy.deadline)
        });
        if let Some(send) = &mut config.send {
            send.tfrc.max_credit = MAX_CREDIT;
        }
        if let Some(receive) = &mut config.receive {
            receive.report_frames = true;
        }
        let payload_type = config.send.as_ref().map(|send| send.payload_type);
        let sends = config.send.is_some();
        let session = Session::new(now, config);
        let sender = sends.then(|| {
            let payload_capacity = session.payload_capacity();
            SendingSide::new(&SenderConfig {
                policy,
                payload_capacity,
                packet_overhead: session.packet_overhead(),
                filler_capacity: session.repair_capacity(),
            })
        });
        Self {
            session,
            payloads,
            payload_type: payload_type.unwrap_or_default(),
            sender,
            receiver,
            now,
            events: VecDeque::new(),
        }
    }

    /// Returns the sending side, to change its codec, policy or filler. `None` if this end sends nothing.
    pub const fn sender_mut(&mut self) -> Option<&mut SendingSide> {
        self.sender.as_mut()
    }

    /// Returns the target of the picture captured at `now`; `None` if the picture should not be encoded, or if this
    /// end sends nothing.
    pub fn frame_target(&mut self, now: Instant) -> Option<FrameTarget> {
        self.advance(now);
        let sender = self.sender.as_mut()?;
        self.session.set_ceiling(sender.policy().ceiling());
        let path = self.session.path()?;
        let target = sender.target(self.now, &path);
        self.collect_events();
        target
    }

    /// Queues a coded frame. An end that sends nothing ignores the frame.
    pub fn push_frame(&mut self, now: Instant, frame: EncodedFrame) -> Result<(), PacketizeError> {
        self.advance(now);
        let Some(sender) = &mut self.sender else {
            return Ok(());
        };
        let pushed = sender.push_frame(self.now, frame);
        self.collect_events();
        pushed
    }

    /// Records that the encoder left out the picture that was captured last.
    pub fn leave_out(&mut self, now: Instant) {
        self.advance(now);
        if let Some(sender) = &mut self.sender {
            sender.leave_out(self.now);
        }
        self.collect_events();
    }

    /// Records pictures that the caller did not capture in time.
    pub fn miss(&mut self, now: Instant, pictures: u64) {
        self.advance(now);
        if let Some(sender) = &mut self.sender {
            sender.miss(self.now, pictures);
        }
        self.collect_events();
    }

    /// Returns the frame that is due for display, if one is.
    pub fn poll_frame(&mut self, now: Instant) -> Option<ReceivedFrame> {
        self.advance(now);
        let receiver = self.receiver.as_mut()?;
        let frame = receiver.poll_frame(self.now);
        self.ask_for_keyframe();
        self.collect_events();
        frame
    }

    /// Records that a frame of [`poll_frame`](Self::poll_frame) with this timestamp was not shown. A keyframe is
    /// requested if later frames refer to it.
    pub fn reference_lost(&mut self, now: Instant, timestamp: u32, reason: NotShown) {
        self.advance(now);
        let Some(receiver) = &mut self.receiver else {
            return;
        };
        receiver.reference_lost(self.now, timestamp, reason);
        self.ask_for_keyframe();
        self.collect_events();
    }

    /// Records what a frame of [`poll_frame`](Self::poll_frame) took from [`ReceivedFrame::due`] to its display. So much
    /// earlier frames are handed out, if the deadline demands it.
    pub fn frame_displayed(&mut self, took: Duration) {
        if let Some(receiver) = &mut self.receiver {
            receiver.frame_displayed(took);
        }
    }

    /// Returns the oldest event that the caller has not taken. At most 1,024 wait; newer ones overwrite the oldest.
    pub fn poll_event(&mut self) -> Option<CallEvent> {
        self.events.pop_front()
    }

    /// Returns the session, with its path, its counters and its peer's clock.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the sending side, if there is one.
    pub const fn sender(&self) -> Option<&SendingSide> {
        self.sender.as_ref()
    }

    /// Returns the receiving side, if there is one.
    pub const fn receiver(&self) -> Option<&ReceivingSide> {
        self.receiver.as_ref()
    }

    /// Ends the call: only a BYE remains to be sent, which waits for `poll_transmit`.
    pub fn close(&mut self, now: Instant) {
        self.advance(now);
        if let Some(sender) = &mut self.sender {
            sender.close(self.now);
        }
        self.session.close(self.now);
        self.collect_events();
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Requests a keyframe for as long as one is needed.
    fn ask_for_keyframe(&mut self) {
        if self
            .receiver
            .as_ref()
            .is_some_and(ReceivingSide::wants_keyframe)
        {
            self.session.request_keyframe(self.now);
        }
    }

    /// Collects the events of all parts, and passes session events to media where they matter.
    fn collect_events(&mut self) {
        self.observe_path();
        while let Some(event) = self.session.poll_event() {
            match event.kind {
                EventKind::SenderReport { timestamp, .. } => {
                    if let Some(receiver) = &mut self.receiver {
                        receiver.report_arrived(event.at, timestamp);
                    }
                }
                EventKind::KeyframeRequested => {
                    if let (Some(sender), Some(path)) = (&mut self.sender, self.session.path()) {
                        sender.request_keyframe(event.at, &path);
                    }
                }
                EventKind::PeerChanged { .. } => {
                    if let Some(sender) = &mut self.sender {
                        sender.reset(event.at);
                    }
                    if let Some(receiver) = &mut self.receiver {
                        receiver.reset(event.at);
                    }
                }
                _ => {}
            }
            self.push_event(CallEvent::Session(event));
        }
        while let Some(event) = self.sender.as_mut().and_then(SendingSide::poll_event) {
            self.push_event(CallEvent::Media(event));
        }
        while let Some(event) = self.receiver.as_mut().and_then(ReceivingSide::poll_event) {
            self.push_event(CallEvent::Media(event));
        }
    }

    /// Passes the session's path sample to the sending side.
    fn observe_path(&mut self) {
        let (Some(sender), Some(path)) = (&mut self.sender, self.session.path()) else {
            return;
        };
        let loss = self.session.reported_loss();
        let Some(sample) = self.session.poll_path() else {
            return;
        };
        sender.observe_path(self.now, &sample, &path, loss);
        self.session.set_ceiling(sender.policy().ceiling());
        if let Some(ratio) = sender.policy().tolerated_loss() {
            self.session.tolerate_losses(ratio);
        }
    }

    fn push_event(&mut self, event: CallEvent) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Writes a media packet, if one may leave now and a frame is worth sending.
    fn transmit_media(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        let sender = self.sender.as_mut()?;
        let departure = self.session.next_departure(self.now)?;
        if departure > self.now || !sender.has_data() {
            return None;
        }
        let path = self.session.path()?;
        let sequence = self.session.next_sequence();
        let packet = sender.next_packet(self.now, &path, sequence)?;
        let payload_type = self.payloads.payload_type(packet.codec);
        self.session
            .set_payload_type(payload_type.unwrap_or(self.payload_type));
        let transmit = self
            .session
            .write_media(self.now, &packet.info, packet.payload, buf)
            .ok()?;
        let numbers = (sequence, self.session.last_number());
        sender.packet_sent(self.now, &path, numbers, &buf[..transmit.len]);
        Some(transmit)
    }

    /// Writes a packet of filler, if one may leave now and no media has precedence.
    fn transmit_filler(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        let sender = self.sender.as_mut()?;
        let departure = self.session.next_departure(self.now)?;
        if departure > self.now || !sender.has_filler() {
            return None;
        }
        let payload = sender.next_filler()?;
        let transmit = self.session.write_repair(self.now, payload, buf).ok()?;
        sender.filler_sent(self.now, self.session.last_number(), transmit.len);
        Some(transmit)
    }
}

impl Endpoint for Call {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        self.advance(now);
        let incoming = self.session.handle_datagram(self.now, datagram);
        if let Some(receiver) = &mut self.receiver {
            match incoming {
                Incoming::Media(packet) => receiver.push_packet(self.now, &packet),
                Incoming::Repair => receiver.repair_arrived(self.now),
                Incoming::Dummy | Incoming::Control | Incoming::Ignored(_) => {}
            }
            while let Some(packet) = self.session.poll_recovered() {
                receiver.push_packet(self.now, &packet);
            }
        }
        self.collect_events();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.session.handle_timeout(self.now);
        self.collect_events();
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        self.advance(now);
        let control = self.session.poll_transmit(self.now, buf);
        let transmit = control
            .or_else(|| self.transmit_filler(buf))
            .or_else(|| self.transmit_media(buf));
        self.collect_events();
        transmit
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let departure = match &self.sender {
            Some(sender) if sender.has_data() || sender.has_filler() => {
                self.session.next_departure(self.now)
            }
            _ => None,
        };
        let playout = self.receiver.as_ref().and_then(ReceivingSide::poll_timeout);
        self.session
            .poll_timeout()
            .into_iter()
            .chain(departure.map(|at| (at, Reason::Departure)))
            .chain(playout.map(|at| (at, Reason::Playout)))
            .min_by_key(|&(at, _)| at)
    }
}

/// The longest time that a sender which woke late may catch up with. A longer one would make a burst of every
/// frame, because the pause before a frame is as long.
const MAX_CREDIT: Duration = Duration::from_millis(2);
/// The length of the event queue: ten seconds of video between two polls.
const MAX_EVENTS: usize = 1_024;
