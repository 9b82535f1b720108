//! The sending buffer: coded frames between the encoder and the pacer (thesis §6.3.1).
//!
//! The newest frame leaves next, unless it refers to those before it, or under the thesis's rules the oldest that can be
//! displayed in time. A frame that has begun is finished, unless the sender was stopped or the peer vanished until the
//! rest of the frame was worthless.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use evenkeel_rtp::session::Path;
use tfrc::time::Instant;
use tfrc::units::Bytes;

use crate::event::{Discard, EventKind, EventQueue};
use crate::packetize::PacketizedFrame;
use crate::policy::Policy;

/// The frames that wait or are being sent.
#[derive(Debug)]
pub struct SendingBuffer {
    /// The frames that have not begun, oldest first.
    waiting: VecDeque<PacketizedFrame>,
    current: Option<Current>,
    /// The bytes of each packet that TFRC counts besides its payload.
    packet_overhead: usize,
    /// True if a frame was given up since [`take_gap`](Self::take_gap).
    gap: bool,
    /// True if a frame was given up, and none has begun since that refers to none before it.
    is_chain_broken: bool,
}

#[derive(Debug)]
struct Current {
    frame: PacketizedFrame,
    /// The index of the next packet to leave.
    next: usize,
    /// The age beyond which the frame is given up.
    expires: Duration,
}

/// A packet about to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextPacket<'a> {
    /// The frame of the packet.
    pub(crate) frame: &'a PacketizedFrame,
    /// The index of the packet in its frame.
    pub(crate) index: usize,
}

impl SendingBuffer {
    /// The most frames that wait (thesis §6.3.2). The target keeps less than one waiting; more than this number
    /// would be too late at any frame rate of a conversation.
    pub const MAX_WAITING: usize = 3;

    /// Creates an empty buffer; `packet_overhead` is the number of bytes of each packet that TFRC counts besides
    /// its payload.
    pub fn new(packet_overhead: usize) -> Self {
        Self {
            waiting: VecDeque::with_capacity(Self::MAX_WAITING),
            current: None,
            packet_overhead,
            gap: false,
            is_chain_broken: false,
        }
    }

    /// Returns true if a coded frame was given up since the last call: frames that refer to it cannot be shown.
    pub(crate) fn take_gap(&mut self) -> bool {
        std::mem::take(&mut self.gap)
    }

    /// Adds a coded frame. Returns the frame that had to leave for it, if the buffer was full.
    pub fn push(&mut self, frame: PacketizedFrame) -> Option<PacketizedFrame> {
        let evicted = if self.waiting.len() == Self::MAX_WAITING {
            self.break_chain();
            self.waiting.pop_front()
        } else {
            None
        };
        self.waiting.push_back(frame);
        evicted
    }

    /// Returns θ: the bytes that wait or remain to be sent, as TFRC will count them.
    pub fn queued(&self) -> Bytes {
        let waiting: Bytes = self.waiting.iter().map(|frame| self.wire_size(frame)).sum();
        let current = self.current.as_ref().map_or(Bytes::ZERO, |current| {
            (current.next..current.frame.packets())
                .map(|index| Bytes::from(current.frame.payload_len(index) + self.packet_overhead))
                .sum()
        });
        waiting + current
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.current.is_none()
    }

    /// Returns the number of packets that have left of the present frame; 0 if no frame is being sent.
    pub(crate) fn begun(&self) -> usize {
        self.current.as_ref().map_or(0, |current| current.next)
    }

    /// Returns the size of a frame as TFRC will count it.
    pub fn wire_size(&self, frame: &PacketizedFrame) -> Bytes {
        frame.payload() + Bytes::from(frame.packets() * self.packet_overhead)
    }

    /// Returns the packet that leaves if one leaves now. Frames that are no longer worth sending are given up.
    pub(crate) fn next_packet(
        &mut self,
        now: Instant,
        path: &Path,
        policy: &Policy,
        events: &mut EventQueue,
    ) -> Option<NextPacket<'_>> {
        self.expire(now, events);
        if self.current.is_none() {
            let frame = self.choose(now, path, policy, events)?;
            self.current = Some(Current {
                expires: worthless_at(&frame, now, path, policy),
                frame,
                next: 0,
            });
        }
        let current = self.current.as_ref()?;
        Some(NextPacket {
            frame: &current.frame,
            index: current.next,
        })
    }

    /// Records that the packet of [`next_packet`](Self::next_packet) left. Returns true if it ended its frame.
    pub(crate) fn packet_sent(&mut self, now: Instant, events: &mut EventQueue) -> bool {
        let Some(current) = &mut self.current else {
            return true;
        };
        let (timestamp, age) = (current.frame.timestamp(), current.frame.age(now));
        if current.next == 0 {
            events.push(now, EventKind::Begun { timestamp, age });
        }
        current.next += 1;
        if current.next < current.frame.packets() {
            return false;
        }
        events.push(now, EventKind::Sent { timestamp, age });
        self.current = None;
        true
    }

    /// Gives up a half-sent frame that is worthless by now.
    pub(crate) fn expire(&mut self, now: Instant, events: &mut EventQueue) {
        let worthless = |current: &mut Current| current.frame.age(now) > current.expires;
        if let Some(current) = self.current.take_if(worthless) {
            self.break_chain();
            discard(now, &current.frame, Discard::Abandoned, events);
        }
    }

    /// Gives up all frames.
    pub(crate) fn clear(&mut self, now: Instant, events: &mut EventQueue) {
        let current = self.current.take().map(|current| current.frame);
        for frame in current.into_iter().chain(self.waiting.drain(..)) {
            discard(now, &frame, Discard::Closed, events);
        }
    }

    fn break_chain(&mut self) {
        self.gap = true;
        self.is_chain_broken = true;
    }

    /// Chooses the frame to begin: the newest, or under the thesis's rules the oldest that can be displayed in
    /// time.
    fn choose(
        &mut self,
        now: Instant,
        path: &Path,
        policy: &Policy,
        events: &mut EventQueue,
    ) -> Option<PacketizedFrame> {
        loop {
            let frame = self.waiting.pop_front()?;
            let is_superseded =
                policy.prefers_newest() && self.waiting.iter().any(|newer| !newer.refers_back());
            let is_worthless = frame.age(now) >= policy.deadline().saturating_add(WORTHLESS_AFTER);
            let may_begin = policy.may_begin(frame.age(now), self.wire_size(&frame), path);
            let lacks_reference = self.is_chain_broken && frame.refers_back();
            let reason = if lacks_reference {
                Discard::NoReference
            } else if is_superseded {
                Discard::Superseded
            } else if is_worthless || !may_begin {
                Discard::TooLate
            } else {
                self.is_chain_broken = false;
                return Some(frame);
            };
            self.break_chain();
            discard(now, &frame, reason, events);
        }
    }
}

/// Returns the age at which the rest of a frame that begins now is given up: a second after its display, or after
/// the time that it takes to send if that is longer.
fn worthless_at(frame: &PacketizedFrame, now: Instant, path: &Path, policy: &Policy) -> Duration {
    let sending = frame.payload() / path.instantaneous_rate;
    let age = frame.age(now).saturating_add(sending);
    age.max(policy.deadline()).saturating_add(WORTHLESS_AFTER)
}

/// The time after its display time at which a half-sent frame is worthless: the sender was stopped, its peer
/// vanished or its rate collapsed.
const WORTHLESS_AFTER: Duration = Duration::from_secs(1);

fn discard(now: Instant, frame: &PacketizedFrame, reason: Discard, events: &mut EventQueue) {
    let timestamp = Some(frame.timestamp());
    events.push(now, EventKind::Discarded { timestamp, reason });
}
