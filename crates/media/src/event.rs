//! The events of frames between the encoder and the display, typed for the trace.

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::Bytes;

use evenkeel_codec::picture::Parts;

/// An event of a frame or of the flow of frames, with its time.
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
    /// The policy gave the encoder its target.
    Target {
        /// The largest size of the coded scan.
        size: Bytes,
        /// The bytes in the sending buffer as counted on the wire, and the repair packets that are owed (θ).
        queued: Bytes,
        /// The longest time from capture to display.
        deadline: Duration,
    },
    /// Pictures were not captured in time, because the source or the encoder was too slow.
    Missed {
        /// The number of pictures.
        pictures: u64,
    },
    /// A coded frame entered the sending buffer.
    Queued {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// The size that was asked for, if [`EventKind::Target`] came before.
        target: Option<Bytes>,
        /// The size of the coded scan.
        size: Bytes,
        /// The number of packets of the frame.
        packets: usize,
    },
    /// The first packet of a frame left.
    Begun {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// The time since the capture.
        age: Duration,
    },
    /// The last packet of a frame left.
    Sent {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// The time since the capture.
        age: Duration,
    },
    /// The sender gave a frame up.
    Discarded {
        /// The media timestamp of the frame; `None` if it was not even encoded.
        timestamp: Option<u32>,
        /// The reason.
        reason: Discard,
    },
    /// No frame worth sending can be on time on this path: a longer deadline applies from now on.
    Stretched {
        /// The longest time from capture to display.
        deadline: Duration,
    },
    /// The configured deadline applies again.
    Relaxed,
    /// The last missing packet of a received frame arrived.
    Completed {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// True if its display time had passed.
        late: bool,
    },
    /// A frame was passed on for display.
    Shown {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// The parts that arrived.
        parts: Parts,
    },
    /// A frame will not be shown although some of it arrived.
    Dropped {
        /// The media timestamp of the frame.
        timestamp: u32,
        /// The reason.
        reason: NotShown,
    },
    /// The encoder was asked for a keyframe: the peer requested one, or a coded frame was given up.
    Keyframe,
    /// The media clock of the peer jumped, and playout restarted.
    Resynchronised,
    /// Uncompressed pictures have another size than the one that is received. The event occurs once.
    OtherSize {
        /// The width and height of the pictures that arrive.
        sent: (u16, u16),
        /// The width and height of the pictures that are received.
        received: (u16, u16),
    },
}

impl EventKind {
    /// Returns true for an event of the sending side, and false for one of the receiving side.
    pub const fn is_of_sender(&self) -> bool {
        match self {
            Self::Target { .. }
            | Self::Missed { .. }
            | Self::Queued { .. }
            | Self::Begun { .. }
            | Self::Sent { .. }
            | Self::Discarded { .. }
            | Self::Stretched { .. }
            | Self::Relaxed
            | Self::Keyframe => true,
            Self::Completed { .. }
            | Self::Shown { .. }
            | Self::Dropped { .. }
            | Self::Resynchronised
            | Self::OtherSize { .. } => false,
        }
    }
}

/// The reason for which the sender gave a frame up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discard {
    /// The picture was not encoded: the present frame keeps the sender busy until a fresher one is captured.
    Busy,
    /// The encoder left it out, for the sake of other frames or for lack of memory.
    LeftOut,
    /// The frame could no longer be displayed in time when its turn came (equation 6.4).
    TooLate,
    /// A fresher frame replaced it before its first packet left.
    Superseded,
    /// A frame to which it refers was given up.
    NoReference,
    /// The sending buffer was full.
    Limit,
    /// The frame was half sent when the sender was stopped or the peer vanished, and is now too old.
    Abandoned,
    /// The call was closed.
    Closed,
}

impl Discard {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 8] = [
        Self::Busy,
        Self::LeftOut,
        Self::TooLate,
        Self::Superseded,
        Self::NoReference,
        Self::Limit,
        Self::Abandoned,
        Self::Closed,
    ];

    /// Returns the name of the reason in logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::LeftOut => "left_out",
            Self::TooLate => "too_late",
            Self::Superseded => "superseded",
            Self::NoReference => "no_reference",
            Self::Limit => "limit",
            Self::Abandoned => "abandoned",
            Self::Closed => "closed",
        }
    }
}

/// The reason for which a frame was not shown although some of it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotShown {
    /// A newer frame was due as well.
    Superseded,
    /// None of its parts arrived whole.
    Empty,
    /// The packet with its quantisation tables was lost, and the tables were not known.
    NoTables,
    /// Too many frames were in flight.
    Overflow,
    /// The frame, or a picture that it refers to, is damaged, and no keyframe has arrived since.
    NoReference,
    /// The frame was due while earlier ones still waited for the display.
    Behind,
    /// The decoder could not decode it.
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

    /// Returns true if the picture before stays on display; false if a newer one was shown instead.
    pub const fn freezes(self) -> bool {
        !matches!(self, Self::Superseded)
    }

    /// Returns the name of the reason in logs and reports.
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

/// A bounded queue of events, which overwrites the oldest.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<Event>,
}

impl EventQueue {
    /// The length of the queue: a frame makes at most five events a side, so this is a second of video between two
    /// polls.
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
