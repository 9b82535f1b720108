//! What happens to frames between the encoder and the display, as typed events for the trace.

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::Bytes;

use evenkeel_codec::picture::Parts;

/// Something that happened to a frame or to the flow of frames, and when.
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
    /// The policy gave the encoder its target.
    Target {
        /// How large the coded scan may be.
        size: Bytes,
        /// What the sending buffer held at that moment, as it will be counted on the wire, and repair packets that are owed (θ).
        queued: Bytes,
        /// From capture to display, at the latest.
        deadline: Duration,
    },
    /// A coded frame entered the sending buffer.
    Queued {
        /// Its media timestamp.
        timestamp: u32,
        /// What it was asked to be, if [`EventKind::Target`] came before it.
        target: Option<Bytes>,
        /// What it is: its coded scan.
        size: Bytes,
        /// Packets that it will take.
        packets: usize,
    },
    /// The first packet of a frame left.
    Begun {
        /// Its media timestamp.
        timestamp: u32,
        /// Since its capture.
        age: Duration,
    },
    /// The last packet of a frame left.
    Sent {
        /// Its media timestamp.
        timestamp: u32,
        /// Since its capture.
        age: Duration,
    },
    /// The sender gave a frame up.
    Discarded {
        /// Its media timestamp; `None` if it was not even encoded.
        timestamp: Option<u32>,
        /// Why.
        reason: Discard,
    },
    /// No frame worth sending can be on time on this path: from now on frames go by this deadline.
    Stretched {
        /// From capture to display.
        deadline: Duration,
    },
    /// Frames are on time by the configured deadline again.
    Relaxed,
    /// The last missing packet of a received frame arrived.
    Completed {
        /// Its media timestamp.
        timestamp: u32,
        /// True if its display time had passed.
        late: bool,
    },
    /// A frame was handed out for display.
    Shown {
        /// Its media timestamp.
        timestamp: u32,
        /// How much of it arrived.
        parts: Parts,
    },
    /// A frame of which something arrived will not be shown.
    Dropped {
        /// Its media timestamp.
        timestamp: u32,
        /// Why.
        reason: NotShown,
    },
    /// The encoder was told to code a keyframe: one was asked for, or a coded frame was given up.
    Keyframe,
    /// The media clock of the peer jumped, and playout began anew.
    Resynchronised,
    /// Uncompressed pictures end elsewhere than those that are received: they have another size. Told once.
    OtherSize {
        /// Columns and rows of those that come.
        sent: (u16, u16),
        /// Of those that are received.
        received: (u16, u16),
    },
}

/// Why the sender gave a frame up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discard {
    /// It was not encoded: the frame being sent keeps the sender busy until there is a fresher one.
    Busy,
    /// Its encoder left it out, for the sake of those that are sent, or had no room for it.
    LeftOut,
    /// When its turn came it could no longer be displayed in time (equation 6.4).
    TooLate,
    /// A fresher frame took its place before its first packet left.
    Superseded,
    /// As many frames waited as may wait.
    Limit,
    /// It was half sent when the sender was stopped or the peer vanished, and is now too old.
    Abandoned,
    /// The call was closed.
    Closed,
}

impl Discard {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 7] = [
        Self::Busy,
        Self::LeftOut,
        Self::TooLate,
        Self::Superseded,
        Self::Limit,
        Self::Abandoned,
        Self::Closed,
    ];

    /// The name by which logs and reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::LeftOut => "left_out",
            Self::TooLate => "too_late",
            Self::Superseded => "superseded",
            Self::Limit => "limit",
            Self::Abandoned => "abandoned",
            Self::Closed => "closed",
        }
    }
}

/// Why a frame of which something arrived was not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotShown {
    /// A newer frame was due too.
    Superseded,
    /// Not one of its parts arrived whole.
    Empty,
    /// The packet with its quantisation tables was lost, and they were not known.
    NoTables,
    /// More frames were in flight than are kept.
    Overflow,
    /// It, or a picture that it refers to, is damaged, and no keyframe has come since.
    NoReference,
    /// It was due, and those due before it still waited for the display.
    Behind,
    /// The decoder made nothing of it.
    Undecodable,
}

impl NotShown {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 7] = [
        Self::Superseded,
        Self::Empty,
        Self::NoTables,
        Self::Overflow,
        Self::NoReference,
        Self::Behind,
        Self::Undecodable,
    ];

    /// True if the picture before stays on display for it; false if a newer one was shown in its place.
    pub const fn freezes(self) -> bool {
        !matches!(self, Self::Superseded)
    }

    /// The name by which logs and reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superseded => "superseded",
            Self::Empty => "empty",
            Self::NoTables => "no_tables",
            Self::Overflow => "overflow",
            Self::NoReference => "no_reference",
            Self::Behind => "behind",
            Self::Undecodable => "undecodable",
        }
    }
}

/// Events that wait to be read: bounded, the oldest give way.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<Event>,
}

impl EventQueue {
    /// A frame makes at most five events a side: a second of video between two drains.
    const CAPACITY: usize = 256;

    pub(crate) fn push(&mut self, at: Instant, kind: EventKind) {
        if self.events.len() == Self::CAPACITY {
            self.events.pop_front();
        }
        self.events.push_back(Event { at, kind });
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_nobody_drains_keeps_the_newest() {
        let mut queue = EventQueue::default();
        for n in 0..300 {
            queue.push(Instant::from_secs(n), EventKind::Relaxed);
        }
        assert_eq!(queue.pop().map(|e| e.at), Some(Instant::from_secs(44)));
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 255);
    }

    #[test]
    fn reasons_are_told_apart_by_name() {
        for (i, reason) in Discard::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, i);
        }
        for (i, reason) in NotShown::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, i);
        }
    }
}
