//! What happens inside a link, as typed events for the trace.

use std::collections::VecDeque;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// Something that happened in the link, with the instant at which it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet arrived and waits, or goes on the wire at once.
    Enqueued {
        /// When it arrived.
        at: Instant,
        /// Its size on the wire.
        size: Bytes,
        /// What waits in the queue, with it, before the wire takes its next packet.
        backlog: Bytes,
    },
    /// A packet's last bit has gone onto the wire.
    Transmitted {
        /// When the last bit left.
        at: Instant,
        /// Its size on the wire.
        size: Bytes,
        /// How long it waited before its first bit left.
        waited: Duration,
    },
    /// A packet was marked with CE instead of dropped.
    Marked {
        /// When.
        at: Instant,
        /// Its size on the wire.
        size: Bytes,
    },
    /// A packet is gone.
    Dropped {
        /// When it arrived, or was dropped from the queue.
        at: Instant,
        /// Its size on the wire.
        size: Bytes,
        /// Why.
        reason: DropReason,
        /// Which: its [`Packet::number`](crate::Packet::number).
        packet: u64,
    },
    /// The rate was changed.
    RateChanged {
        /// When.
        at: Instant,
        /// The rate from then on; the mean rate, if the link follows a trace.
        rate: Rate,
    },
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The path lost it: [`Loss`](crate::Loss).
    Loss,
    /// The queue was at its limit: [`QueueLimit`](crate::QueueLimit).
    QueueFull,
    /// The queue's discipline chose it: [`Discipline`](crate::Discipline).
    Early,
    /// The link holds as much as it may hold at all, whatever its configuration.
    Capacity,
}

/// A bounded list of events: who does not read loses the oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    /// The size of the packet on the wire and how long it waited, if that was seen.
    pub(crate) on_wire: Option<(Bytes, Duration)>,
    events: VecDeque<Event>,
    overwritten: u64,
}

impl EventLog {
    pub(crate) fn push(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.overwritten += 1;
        }
        self.events.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn overwritten(&self) -> u64 {
        self.overwritten
    }
}

/// Two events a packet: a second of 1500-byte packets at 24 Mb/s between two reads.
const MAX_EVENTS: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_nobody_reads_keeps_the_newest() {
        let mut log = EventLog::default();
        for nanos in 0..MAX_EVENTS as u64 + 3 {
            log.push(Event::RateChanged {
                at: Instant::from_nanos(nanos),
                rate: Rate::ZERO,
            });
        }
        assert_eq!(log.overwritten(), 3);
        assert!(matches!(
            log.pop(),
            Some(Event::RateChanged { at, .. }) if at == Instant::from_nanos(3)
        ));
    }
}
