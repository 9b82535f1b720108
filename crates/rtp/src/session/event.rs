//! What a session tells its owner, and the bounded queue it waits in.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{LossEventRate, Rate};

use super::sender::{Breach, Lie, RateSource};
use crate::ntp::NtpTime;
use crate::packet::rtcp::FeedbackMode;

/// Something that happened in a session, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When, on the caller's clock.
    pub at: Instant,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// A peer was found: the first valid packet of a source that nobody replaced.
    PeerLatched {
        /// Where it sends from, and where we answer.
        address: SocketAddr,
        /// Its synchronisation source.
        ssrc: u32,
    },
    /// Another source took the place of a peer that had left or fallen silent.
    PeerChanged {
        /// Where it sends from, and where we answer.
        address: SocketAddr,
        /// Its synchronisation source.
        ssrc: u32,
    },
    /// The peer said BYE. A sender probes on, as before the first feedback, until it gives up.
    PeerLeft,
    /// The peer was caught, or is at a host where one was: its reports count as none from now on, and the rate falls
    /// until media stops.
    ReceiverLied {
        /// Where it sends from.
        address: SocketAddr,
        /// Its synchronisation source.
        ssrc: u32,
        /// By what it was caught, or the one before it.
        lie: Lie,
        /// It is held for one that was caught at its host before, be that itself or another.
        again: bool,
    },
    /// Three packets that left with a congestion mark of our own came without: the peer or the path hides
    /// marks. Packets to this host leave as not ECN-capable from now on, so that congestion shows as loss.
    MarksLost,
    /// RTP came of a payload type that this end does not take, before any that it does: the ends may be set up
    /// differently. From the peer, or from anyone while there is none. Told once, at the second packet of a stream: one
    /// that strayed says nothing of the peer.
    UnknownPayloadType {
        /// The one that came.
        payload_type: u8,
    },
    /// Media came from an address that is not the peer's, while that is there: its packets are ignored. Told once, as
    /// [`EventKind::UnknownPayloadType`] is.
    SecondSender {
        /// The peer's, which is heard.
        heard: SocketAddr,
        /// The other.
        ignored: SocketAddr,
    },
    /// No feedback for the configured time: media stops.
    GaveUp,
    /// The peer was heard again after we had given up: media may flow.
    Returned,
    /// Something else sets the rate from now on.
    RateSource(RateSource),
    /// A circuit breaker tripped (RFC 8083).
    CircuitBreaker {
        /// Which.
        breach: Breach,
        /// The media has ended for good; otherwise its rate was cut to a tenth.
        ceased: bool,
    },
    /// The sender's rate control took in feedback, or missed it.
    RateControl(Trace),
    /// The peer asks for a keyframe.
    KeyframeRequested,
    /// We sent TFRC feedback.
    ReportSent {
        /// In which format.
        format: FeedbackMode,
        /// The receive rate *X_recv* that it carries.
        receive_rate: Rate,
        /// The loss event rate *p* that it carries.
        loss_event_rate: LossEventRate,
        /// The time from the arrival of the packet that it echoes.
        delay: Duration,
    },
    /// We reported which packets came, in place of p and *X_recv*.
    ArrivalsReported {
        /// In which format.
        format: FeedbackMode,
        /// How many packets the report speaks of.
        packets: usize,
    },
    /// A sender report arrived: the peer's media clock is pinned to its wall clock.
    SenderReport {
        /// The peer's wall-clock time.
        ntp: NtpTime,
        /// The same instant on its media clock.
        timestamp: u32,
    },
    /// A reception report about us arrived (RFC 3550 §6.4.1).
    ReceptionReport {
        /// Packets lost since the report before, as a fraction of 256.
        fraction_lost: u8,
        /// Packets lost since the start; negative where duplicates outnumber losses.
        cumulative_lost: i32,
        /// Interarrival jitter in ticks of our media clock.
        jitter: u32,
    },
}

/// A fixed ring: the newest events survive.
#[derive(Debug)]
pub(super) struct EventQueue {
    events: VecDeque<Event>,
}

impl EventQueue {
    /// More than a well-driven session produces between two drains, at one event a call.
    const CAPACITY: usize = 64;

    pub(super) fn new() -> Self {
        Self {
            events: VecDeque::with_capacity(Self::CAPACITY),
        }
    }

    /// Adds an event; gives false if the oldest had to make room.
    pub(super) fn push(&mut self, at: Instant, kind: EventKind) -> bool {
        let full = self.events.len() == Self::CAPACITY;
        if full {
            self.events.pop_front();
        }
        self.events.push_back(Event { at, kind });
        !full
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_keeps_the_newest_events() {
        let mut queue = EventQueue::new();
        let mut kept = 0;
        for n in 0..100 {
            kept += u32::from(queue.push(Instant::from_secs(n), EventKind::GaveUp));
        }
        assert_eq!(kept, 64);
        assert_eq!(queue.pop().map(|e| e.at), Some(Instant::from_secs(36)));
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 63);
    }
}
