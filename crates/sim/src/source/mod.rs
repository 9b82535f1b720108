//! Sources that send datagrams whatever the network does.

use crate::agent::{Agent, Packet};
use crate::traffic::Body;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// When the next datagram leaves, and how large it is.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A packet of this size at this rate, evenly spaced.
    Constant {
        /// The size on the wire.
        size: Bytes,
        /// The rate on the wire.
        rate: Rate,
    },
}

/// A source from `start` until `stop`.
#[derive(Clone, Debug)]
pub struct Source {
    pattern: Pattern,
    next: Option<Instant>,
    stop: Instant,
    sequence: u64,
}

impl Source {
    /// A source that waits for its start. One that stops before it starts sends nothing.
    pub fn new(pattern: Pattern, start: Instant, stop: Instant) -> Self {
        Self {
            pattern,
            next: (start < stop).then_some(start),
            stop,
            sequence: 0,
        }
    }

    /// How many datagrams it has sent.
    pub fn packets_sent(&self) -> u64 {
        self.sequence
    }

    /// The size of the datagram that leaves now, and the time to the one after it.
    fn draw(&mut self) -> (Bytes, Duration) {
        match &self.pattern {
            Pattern::Constant { size, rate } => (*size, *size / *rate),
        }
    }
}

impl Agent for Source {
    type Body = Body;

    fn handle_packet(&mut self, _now: Instant, _packet: Packet<Body>) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        let due = self.next.filter(|&due| due <= now)?;
        let (size, gap) = self.draw();
        self.next = Some(due + gap).filter(|&next| next < self.stop);
        let sequence = self.sequence;
        self.sequence += 1;
        Some(Packet {
            size,
            ecn: Ecn::NotEct,
            body: Body::Datagram {
                sequence,
                sent: now,
            },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
}
