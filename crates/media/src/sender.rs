//! The sending side of a call: policy, sending buffer and packetiser.

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

/// What a sending side is told when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderConfig {
    /// The deadline and what it is made of.
    pub policy: PolicyConfig,
    /// The largest RTP payload in bytes
    /// ([`Session::payload_capacity`](evenkeel_rtp::session::Session::payload_capacity)).
    pub payload_capacity: usize,
    /// What TFRC counts of a packet besides its payload, in bytes.
    pub packet_overhead: usize,
    /// The largest payload of a packet of filler in bytes
    /// ([`Session::repair_capacity`](evenkeel_rtp::session::Session::repair_capacity)); 0 for none.
    pub filler_capacity: usize,
}

/// A packet that may leave now.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// For [`Session::write_media`](evenkeel_rtp::session::Session::write_media).
    pub info: MediaInfo,
    /// What made the frame.
    pub codec: Codec,
    /// The RTP payload.
    pub payload: &'a [u8],
}

/// Frames in, packets out.
///
/// For each captured picture: ask [`target`](Self::target), encode, [`push_frame`](Self::push_frame) or
/// [`leave_out`](Self::leave_out).
/// Whenever the pacer lets a packet go: [`next_packet`](Self::next_packet), and if it was sent,
/// [`packet_sent`](Self::packet_sent).
#[derive(Debug)]
pub struct SendingSide {
    policy: Policy,
    buffer: SendingBuffer,
    packetizer: Packetizer,
    /// What makes the frames, as far as that was said.
    codec: Option<Codec>,
    filling: Filling,
    /// When a frame was last pushed.
    pushed: Instant,
    /// The target given last, until a frame answers it.
    target: Option<Bytes>,
    /// What the path was seen to carry in a frame's time, in coded bytes, and what the last frame left of it.
    carried: Bytes,
    unused: Bytes,
    /// A keyframe is owed: one was asked for, or a frame that others refer to was given up.
    owes_keyframe: bool,
    /// When the last one was asked of the encoder.
    keyframe: Option<Instant>,
    /// Where a payload is put together.
    payload: Vec<u8>,
    events: EventQueue,
}

impl SendingSide {
    /// A sending side with nothing to send.
    pub fn new(config: &SenderConfig) -> Self {
        let packet = config.payload_capacity + config.packet_overhead;
        // Main and restart header (RFC 2435 §3.1): a first guess, replaced by what frames cost.
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

    /// Feedback came, which leaves the path in this state. `loss` is the share of packets lost, as far as reception reports
    /// tell.
    pub fn observe_path(&mut self, now: Instant, sample: &PathSample<'_>, path: &Path, loss: f64) {
        let before = self.policy.stretched();
        self.policy.observe_path(now, sample, path);
        self.filling.set_loss(PathLoss {
            events: path.loss_event_rate.get(),
            packets: loss,
        });
        self.note_deadline(now, before);
    }

    /// Another peer took the place of the one before, on a path of its own.
    pub fn reset(&mut self, now: Instant) {
        let before = self.policy.stretched();
        self.policy.forget_path();
        // The new one has seen nothing yet.
        self.owes_keyframe = true;
        self.note_deadline(now, before);
    }

    /// From now on frames are of this codec. Those that wait go as they are.
    pub fn set_codec(&mut self, codec: Codec) {
        if self.codec.replace(codec) != Some(codec) {
            self.policy.set_encoder(codec.has_own_size());
        }
    }

    /// From now on these rules hold, for the frames that wait too.
    pub fn set_rules(&mut self, now: Instant, rules: Rules) {
        let before = self.policy.stretched();
        self.policy.set_rules(rules);
        self.note_deadline(now, before);
    }

    /// From now on this fills the rate, if the session sends packets of filler at all.
    pub fn set_filler(&mut self, filler: Filler) {
        self.filling.set_filler(filler);
    }

    /// What to make of the picture captured at `now`; `None` if it is better not encoded.
    pub fn target(&mut self, now: Instant, path: &Path) -> Option<FrameTarget> {
        self.buffer.expire(now, &mut self.events);
        let queued = self.queued();
        let available = self.policy.available_rate(path);
        self.filling
            .begin_interval(available * self.policy.config().frame_interval);
        let stretched = self.policy.stretched();
        let target = self.policy.target(now, path, queued);
        self.note_deadline(now, stretched);
        let Some(mut target) = target else {
            self.discard(now, None, Discard::Busy);
            return None;
        };
        // A keyframe weighs no more than another picture, so the rate bears one for each gap.
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

    /// The peer asks for a keyframe. One that was coded less than a round trip ago is the answer: the peer
    /// cannot have seen it when it asked.
    pub fn request_keyframe(&mut self, now: Instant, path: &Path) {
        let rtt = path.rtt.unwrap_or_default();
        let is_answered = |at: Instant| now.saturating_since(at) < rtt;
        if !self.keyframe.is_some_and(is_answered) {
            self.owes_keyframe = true;
        }
    }

    /// A coded frame for the sending buffer. An error leaves the buffer as it was.
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

    /// The encoder made nothing of the picture whose target was asked for last.
    pub fn leave_out(&mut self, now: Instant) {
        self.target = None;
        self.discard(now, None, Discard::LeftOut);
    }

    /// True if a departure would find something. It may turn out too late to be sent then.
    pub fn has_data(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// What the buffer holds (θ), as TFRC will count it, and the repair packets of the frame that left last.
    pub fn queued(&self) -> Bytes {
        self.buffer.queued() + self.filling.queued()
    }

    /// The packet that leaves if one leaves now; it will have this extended sequence number.
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

    /// The packet that [`next_packet`](Self::next_packet) gave has left in these bytes, with this sequence number and under
    /// this number of the session's.
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

    /// A packet of filler left, of this length and under this number.
    pub fn filler_sent(&mut self, now: Instant, number: u64, len: usize) {
        self.policy.filler_sent(now, number, len);
        self.filling.use_room(len);
    }

    /// True if what leaves next is filler: repair packets that a frame has room for go with it, the rest where no
    /// media wait.
    pub fn has_filler(&self) -> bool {
        self.filling.has_data() && (self.filling.is_owed() || self.buffer.is_empty())
    }

    /// The payload of the packet of filler that leaves if one leaves now.
    pub fn next_filler(&mut self) -> Option<&[u8]> {
        self.filling
            .write(&mut self.payload)
            .then_some(&self.payload)
    }

    /// The policy, for its deadline and what it measured.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The oldest event that was not taken yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Gives up what is queued.
    pub fn close(&mut self, now: Instant) {
        self.filling.set_filler(Filler::None);
        self.buffer.clear(now, &mut self.events);
    }

    fn discard(&mut self, now: Instant, timestamp: Option<u32>, reason: Discard) {
        let kind = EventKind::Discarded { timestamp, reason };
        self.events.push(now, kind);
    }

    fn note_deadline(&mut self, now: Instant, before: Option<Duration>) {
        match (before, self.policy.stretched()) {
            (None, Some(deadline)) => self.events.push(now, EventKind::Stretched { deadline }),
            (Some(_), None) => self.events.push(now, EventKind::Relaxed),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::{AccessUnit, CodedPicture};
    use tfrc::units::{LossEventRate, Rate};

    const PATH: Path = Path {
        allowed_rate: Rate::from_bits_per_sec(3e6),
        instantaneous_rate: Rate::from_bits_per_sec(3e6),
        rtt: Some(Duration::from_millis(100)),
        loss_event_rate: LossEventRate::ZERO,
        receive_rate: Rate::ZERO,
        rate_source: evenkeel_rtp::session::RateSource::Feedback,
    };

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn sender() -> SendingSide {
        sender_with(PolicyConfig::new(Duration::from_millis(40)))
    }

    fn sender_with(policy: PolicyConfig) -> SendingSide {
        SendingSide::new(&SenderConfig {
            policy,
            payload_capacity: 1_000,
            packet_overhead: 24,
            filler_capacity: 0,
        })
    }

    fn codes_keyframe(sender: &mut SendingSide, ms: u64) -> bool {
        let target = sender.target(at(ms), &PATH);
        target.expect("a path with room").keyframe
    }

    #[test]
    fn every_picture_has_a_target_or_a_reason() {
        let mut sender = sender();
        assert!(sender.target(at(0), &PATH).is_some());
        sender.leave_out(at(0));
        let events = std::iter::from_fn(|| sender.poll_event());
        let kinds: Vec<_> = events.map(|event| event.kind).collect();
        assert!(
            matches!(
                kinds[..],
                [
                    EventKind::Target { .. },
                    EventKind::Discarded {
                        timestamp: None,
                        reason: Discard::LeftOut
                    }
                ]
            ),
            "{kinds:?}"
        );
    }

    #[test]
    fn short_deadline_is_reported_with_the_first_target() {
        let policy = PolicyConfig {
            deadline: Duration::from_millis(20),
            ..PolicyConfig::new(Duration::from_millis(40))
        };
        let mut sender = sender_with(policy);
        let target = sender.target(at(0), &PATH).expect("a path with room");
        let kind = sender.poll_event().map(|event| event.kind);
        let deadline = target.deadline;
        assert_eq!(kind, Some(EventKind::Stretched { deadline }));
        assert!(deadline > policy.deadline);
    }

    #[test]
    fn keyframes_are_coded_on_request_once_a_round_trip_at_most() {
        let mut sender = sender();
        assert!(!codes_keyframe(&mut sender, 0));
        sender.request_keyframe(at(10), &PATH);
        sender.request_keyframe(at(20), &PATH);
        assert!(codes_keyframe(&mut sender, 40));
        // 99 ms after the one that was coded, the peer cannot have seen it.
        sender.request_keyframe(at(139), &PATH);
        assert!(!codes_keyframe(&mut sender, 139));
        sender.request_keyframe(at(140), &PATH);
        assert!(codes_keyframe(&mut sender, 140));
    }

    #[test]
    fn a_frame_that_was_given_up_makes_a_keyframe_of_the_next_whenever_the_last_one_was() {
        let mut sender = sender();
        sender.request_keyframe(at(0), &PATH);
        assert!(codes_keyframe(&mut sender, 0));
        for n in 0..=SendingBuffer::MAX_WAITING as u64 {
            let units = vec![Some(vec![0x61, 0x80, 1])];
            let frame = EncodedFrame {
                captured: at(n),
                timestamp: n as u32,
                picture: CodedPicture::from(AccessUnit { units }),
            };
            assert!(!codes_keyframe(&mut sender, n + 1));
            sender.push_frame(at(n + 1), frame).expect("well formed");
        }
        assert!(codes_keyframe(&mut sender, 10));
    }
}
