//! The sending side of a call: policy, sending buffer and packetiser.

#[cfg(test)]
mod tests;

use std::time::Duration;

use evenkeel_codec::Codec;
use evenkeel_codec::FrameTarget;
use evenkeel_rtp::session::{MediaInfo, Path, PathSample};
use tfrc::time::Instant;
use tfrc::units::Bytes;

use crate::event::{Discard, Event, EventKind, EventQueue};
use crate::filler::{Departed, Filler, Filling, PathLoss};
use crate::frame::EncodedFrame;
use crate::packetize::{PacketizeError, Packetizer};
use crate::policy::{CodedFrame, Policy, PolicyConfig, Rules};
use crate::sending_buffer::SendingBuffer;

/// The configuration of a sending side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The deadline and its parts.
    pub policy: PolicyConfig,
    /// The largest RTP payload in bytes
    /// ([`Session::payload_capacity`](evenkeel_rtp::session::Session::payload_capacity)).
    pub payload_capacity: usize,
    /// The bytes of a packet that TFRC counts besides its payload.
    pub packet_overhead: usize,
    /// The largest payload of a packet of filler in bytes
    /// ([`Session::repair_capacity`](evenkeel_rtp::session::Session::repair_capacity)); 0 for none.
    pub filler_capacity: usize,
}

/// A packet that may leave now.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// The argument of [`Session::write_media`](evenkeel_rtp::session::Session::write_media).
    pub info: MediaInfo,
    /// The codec of the frame.
    pub codec: Codec,
    /// The RTP payload.
    pub payload: &'a [u8],
}

/// The sending side, which takes frames and returns packets.
///
/// For each captured picture, ask [`target`](Self::target), encode, and call [`push_frame`](Self::push_frame) or
/// [`leave_out`](Self::leave_out). Whenever the pacer permits a packet, call [`next_packet`](Self::next_packet),
/// and if it was sent, [`packet_sent`](Self::packet_sent).
#[derive(Debug)]
pub struct SendingSide {
    policy: Policy,
    buffer: SendingBuffer,
    packetizer: Packetizer,
    /// The codec of the frames, if it was set.
    codec: Option<Codec>,
    filling: Filling,
    /// The time at which a frame was last pushed.
    pushed: Instant,
    /// The last target, until a frame answers it.
    target: Option<Bytes>,
    /// The coded bytes that the path carries in a frame's time, and the part that the last frame left unused.
    carried: Bytes,
    unused: Bytes,
    /// True if a keyframe is owed: the peer requested one, or a frame that others refer to was given up.
    owes_keyframe: bool,
    /// The time at which the encoder was last asked for a keyframe.
    keyframe: Option<Instant>,
    /// The buffer in which a payload is put together.
    payload: Vec<u8>,
    events: EventQueue,
}

impl SendingSide {
    /// Creates a sending side without frames.
    pub fn new(config: &SenderConfig) -> Self {
        let packet = config.payload_capacity + config.packet_overhead;
        // The headers of RFC 2435 §3.1 are a first guess, which measured frames replace.
        let data = config.payload_capacity.saturating_sub(12).max(1);
        Self {
            policy: Policy::new(config.policy, packet as f64 / data as f64),
            buffer: SendingBuffer::new(config.packet_overhead),
            packetizer: Packetizer::new(config.payload_capacity),
            codec: None,
            filling: Filling::new(
                config.policy.filler,
                config.filler_capacity,
                Bytes::from(packet),
            ),
            pushed: Instant::ZERO,
            target: None,
            carried: Bytes::ZERO,
            unused: Bytes::ZERO,
            owes_keyframe: false,
            keyframe: None,
            payload: Vec::with_capacity(config.payload_capacity),
            events: EventQueue::default(),
        }
    }

    /// Handles the sample and the state of the path after feedback. `loss` is the share of packets lost by
    /// reception reports, where there are any.
    pub fn observe_path(&mut self, now: Instant, sample: &PathSample<'_>, path: &Path, loss: f64) {
        let before = self.policy.stretched();
        self.policy.observe_path(now, sample, path);
        self.filling.set_loss(PathLoss {
            events: path.loss_event_rate.get(),
            packets: loss,
        });
        self.push_deadline_event(now, before);
    }

    /// Restarts for another peer, which has a path of its own.
    pub fn reset(&mut self, now: Instant) {
        let before = self.policy.stretched();
        self.policy.forget_path();
        // The new peer has no picture yet.
        self.owes_keyframe = true;
        self.push_deadline_event(now, before);
    }

    /// Sets the codec of later frames. Frames that wait are sent unchanged.
    pub fn set_codec(&mut self, codec: Codec) {
        if self.codec.replace(codec) != Some(codec) {
            self.policy.set_encoder(codec.has_own_size());
        }
    }

    /// Sets the rules, which also apply to frames that wait.
    pub fn set_rules(&mut self, now: Instant, rules: Rules) {
        let before = self.policy.stretched();
        self.policy.set_rules(rules);
        self.push_deadline_event(now, before);
    }

    /// Sets the filler, which is used if the session sends packets of filler at all.
    pub fn set_filler(&mut self, filler: Filler) {
        self.filling.set_filler(filler);
    }

    /// Returns the target of the picture captured at `now`; `None` if it should not be encoded.
    pub fn target(&mut self, now: Instant, path: &Path) -> Option<FrameTarget> {
        self.buffer.expire(now, &mut self.events);
        let queued = self.queued();
        let available = self.policy.available_rate(path);
        self.filling
            .begin_interval(available * self.policy.config().frame_interval);
        let stretched = self.policy.stretched();
        let target = self.policy.target(now, path, queued);
        self.push_deadline_event(now, stretched);
        let Some(mut target) = target else {
            self.discard(now, None, Discard::Busy);
            return None;
        };
        // A keyframe is no larger than another picture, so the rate permits one for each gap.
        self.owes_keyframe |= self.buffer.take_gap();
        self.carried = target.rate * self.policy.config().frame_interval;
        let share = self.filling.media_share(target.size);
        target.size = Bytes::new((target.size.as_f64() * share) as u64);
        target.rate = target.rate * share;
        target.keyframe = std::mem::take(&mut self.owes_keyframe);
        if target.keyframe {
            self.keyframe = Some(now);
            self.events.push(now, EventKind::Keyframe);
        }
        self.target = Some(target.size);
        let kind = EventKind::Target {
            size: target.size,
            queued,
            deadline: target.deadline,
        };
        self.events.push(now, kind);
        Some(target)
    }

    /// Handles the peer's request for a keyframe. A keyframe that was coded less than a round trip ago answers it,
    /// because the peer cannot have received that keyframe before the request.
    pub fn request_keyframe(&mut self, now: Instant, path: &Path) {
        let rtt = path.rtt.unwrap_or_default();
        let is_answered = |at: Instant| now.saturating_since(at) < rtt;
        if !self.keyframe.is_some_and(is_answered) {
            self.owes_keyframe = true;
        }
    }

    /// Adds a coded frame to the sending buffer. An error leaves the buffer unchanged.
    pub fn push_frame(&mut self, now: Instant, frame: EncodedFrame) -> Result<(), PacketizeError> {
        let target = self.target.take();
        self.pushed = now;
        let frame = self.packetizer.packetize(frame)?;
        let scan = frame.size();
        self.unused = self.carried - scan;
        self.policy.observe_frame(&CodedFrame {
            preparation: frame.age(now),
            target,
            scan,
            wire: self.buffer.wire_size(&frame),
        });
        let kind = EventKind::Queued {
            timestamp: frame.timestamp(),
            target,
            size: scan,
            packets: frame.packets(),
        };
        self.events.push(now, kind);
        if let Some(evicted) = self.buffer.push(frame) {
            self.discard(now, Some(evicted.timestamp()), Discard::Limit);
        }
        Ok(())
    }

    /// Records that the encoder left out the picture of the last target.
    pub fn leave_out(&mut self, now: Instant) {
        self.target = None;
        self.discard(now, None, Discard::LeftOut);
    }

    /// Records pictures that were not captured in time.
    pub fn miss(&mut self, now: Instant, pictures: u64) {
        self.events.push(now, EventKind::Missed { pictures });
    }

    /// Returns true if frames wait to be sent. They may prove too late when they are due.
    pub fn has_data(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Returns the bytes in the buffer (θ), as TFRC will count them, and the repair packets of the last frame.
    pub fn queued(&self) -> Bytes {
        self.buffer.queued() + self.filling.queued()
    }

    /// Returns the packet that leaves if one leaves now; it will have this extended sequence number.
    pub fn next_packet(
        &mut self,
        now: Instant,
        path: &Path,
        sequence: u32,
    ) -> Option<Outgoing<'_>> {
        let policy = &self.policy;
        let next = self
            .buffer
            .next_packet(now, path, policy, &mut self.events)?;
        self.payload.clear();
        next.frame.write(next.index, sequence, &mut self.payload);
        Some(Outgoing {
            info: MediaInfo {
                timestamp: next.frame.timestamp(),
                marker: next.index + 1 == next.frame.packets(),
            },
            codec: next.frame.codec(),
            payload: &self.payload,
        })
    }

    /// Records that the packet of [`next_packet`](Self::next_packet) left as these bytes, with this sequence number
    /// and under this number of the session.
    pub fn packet_sent(
        &mut self,
        now: Instant,
        path: &Path,
        (sequence, number): (u32, u64),
        packet: &[u8],
    ) {
        let is_first = self.buffer.begun() == 0;
        let is_last = self.buffer.packet_sent(now, &mut self.events);
        self.policy.packet_sent(now, number, packet.len(), is_last);
        self.filling.use_room(packet.len());
        let next = self.pushed + self.policy.config().frame_interval;
        let until_next = path.allowed_rate * next.saturating_since(now);
        let departed = Departed {
            packet,
            sequence: sequence as u16,
            ends: (is_first, is_last),
        };
        self.filling
            .handle_sent(&departed, self.unused.min(until_next));
    }

    /// Records that a packet of filler left, of this length and under this number.
    pub fn filler_sent(&mut self, now: Instant, number: u64, len: usize) {
        self.policy.filler_sent(now, number, len);
        self.filling.use_room(len);
    }

    /// Returns true if filler leaves next. Repair packets for which a frame has room precede later media; other
    /// filler leaves only where no media waits.
    pub fn has_filler(&self) -> bool {
        self.filling.has_data() && (self.filling.is_owed() || self.buffer.is_empty())
    }

    /// Returns the payload of the packet of filler that leaves if one leaves now.
    pub fn next_filler(&mut self) -> Option<&[u8]> {
        self.filling
            .write(&mut self.payload)
            .then_some(&self.payload)
    }

    /// Returns the policy, with its deadline and measurements.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the oldest event that the caller has not taken.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Gives up all frames that wait.
    pub fn close(&mut self, now: Instant) {
        self.filling.set_filler(Filler::None);
        self.buffer.clear(now, &mut self.events);
    }

    fn discard(&mut self, now: Instant, timestamp: Option<u32>, reason: Discard) {
        let kind = EventKind::Discarded { timestamp, reason };
        self.events.push(now, kind);
    }

    fn push_deadline_event(&mut self, now: Instant, before: Option<Duration>) {
        match (before, self.policy.stretched()) {
            (None, Some(deadline)) => self.events.push(now, EventKind::Stretched { deadline }),
            (Some(_), None) => self.events.push(now, EventKind::Relaxed),
            _ => {}
        }
    }
}
