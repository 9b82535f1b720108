//! The events of a session for its owner, and the bounded queue that holds them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::trace::Trace;
use tfrc::units::{LossEventRate, Rate};

use super::sender::{Breach, Lie, RateSource};
use crate::ntp::NtpTime;
use crate::packet::rtcp::FeedbackMode;

/// An event in a session, with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The time of the event on the caller's clock.
    pub at: Instant,
    /// The kind of the event.
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// A peer was found: the first valid packet of a source that replaces nobody.
    PeerLatched {
        /// The address of the peer, to which we send.
        address: SocketAddr,
        /// The synchronisation source of the peer.
        ssrc: u32,
    },
    /// Another source replaced a peer that had left or fallen silent.
    PeerChanged {
        /// The address of the peer, to which we send.
        address: SocketAddr,
        /// The synchronisation source of the peer.
        ssrc: u32,
    },
    /// The peer's source continues from another address, to which we send from now on: an address translator gave the
    /// peer a new port, or the peer changed networks. Without encryption it may also be a forger who reads the media.
    PeerMoved {
        /// The address of the peer until now.
        from: SocketAddr,
        /// The address of the peer from now on.
        to: SocketAddr,
    },
    /// The peer sent BYE, and nothing in the half second after it. A sender continues to probe, as before the first feedback, until it gives up.
    PeerLeft,
    /// The peer lied. Its reports are refused from now on, and the rate falls until media stops, unless the next
    /// reports withstand a test: forged packets may have deceived an honest receiver.
    ReceiverLied {
        /// The address of the peer.
        address: SocketAddr,
        /// The synchronisation source of the peer.
        ssrc: u32,
        /// The claim that proved the lie.
        lie: Lie,
        /// True if the lie was proven before, by the same receiver or another one at its host.
        again: bool,
    },
    /// Three packets that left with a congestion mark of our own arrived without it: the peer or the path hides
    /// marks. Packets to this host leave as not ECN-capable from now on, so that congestion shows as loss.
    MarksLost,
    /// Media of an unknown payload type arrived before any of a known one: the ends may be configured differently.
    /// The media is from the peer, or from any source while there is no peer. The event occurs once, at the second
    /// packet of a stream, because a stray packet is no evidence.
    UnknownPayloadType {
        /// The unknown payload type.
        payload_type: u8,
    },
    /// Media arrived from a second address while the peer is present, and is ignored. The event occurs once, under
    /// the same condition as [`EventKind::UnknownPayloadType`].
    SecondSender {
        /// The address of the peer, whose media is received.
        heard: SocketAddr,
        /// The second address.
        ignored: SocketAddr,
    },
    /// No feedback arrived for the configured time: media stops.
    GaveUp,
    /// The peer answered again after media had stopped, or its reports show that a circuit breaker need not have ended
    /// media: media may flow.
    Returned,
    /// Another source sets the rate from now on.
    RateSource(RateSource),
    /// A circuit breaker tripped (RFC 8083).
    CircuitBreaker {
        /// The breaker that tripped.
        breach: Breach,
        /// True if media ended; otherwise its rate was cut to a tenth, or reports refute the feedback that set it.
        ceased: bool,
    },
    /// The sender's rate control handled feedback, or missed it.
    RateControl(Trace),
    /// The peer asks for a keyframe.
    KeyframeRequested,
    /// We sent TFRC feedback.
    ReportSent {
        /// The format of the report.
        format: FeedbackMode,
        /// The receive rate *X_recv* that it carries.
        receive_rate: Rate,
        /// The loss event rate *p* that it carries.
        loss_event_rate: LossEventRate,
        /// The time from the arrival of the echoed packet to the report.
        delay: Duration,
    },
    /// We reported arrivals instead of p and *X_recv*.
    ArrivalsReported {
        /// The format of the report.
        format: FeedbackMode,
        /// The number of packets that the report covers.
        packets: usize,
    },
    /// A sender report arrived, which relates the peer's media clock to its wall clock.
    SenderReport {
        /// The peer's wall-clock time.
        ntp: NtpTime,
        /// The same instant on its media clock.
        timestamp: u32,
        /// The number of media packets that it has sent, which wraps.
        packets: u32,
    },
    /// A reception report about us arrived (RFC 3550 §6.4.1).
    ReceptionReport {
        /// The packets lost since the report before, as a fraction of 256.
        fraction_lost: u8,
        /// The packets lost since the start; negative where duplicates outnumber losses.
        cumulative_lost: i32,
        /// The interarrival jitter in ticks of our media clock.
        jitter: u32,
    },
}

/// A fixed ring of events, which overwrites the oldest.
#[derive(Debug)]
pub(super) struct EventQueue {
    events: VecDeque<Event>,
}

impl EventQueue {
    /// The length of the ring: more events than a session has between two polls, at one event a call.
    const CAPACITY: usize = 64;

    pub(super) fn new() -> Self {
        Self {
            events: VecDeque::with_capacity(Self::CAPACITY),
        }
    }

    /// Adds an event; returns false if the event replaced the oldest.
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
