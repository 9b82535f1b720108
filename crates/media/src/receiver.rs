//! The receiving side of a call: reassembly and playout.

use std::time::Duration;

use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use crate::event::{Event, EventKind, EventQueue, NotShown};
use crate::frame::ReceivedFrame;
use crate::playout::Playout;
use crate::reassemble::jpeg::{InFlight, JpegReassembler, Pushed, Refused};

/// Packets in, frames out when they are due.
#[derive(Debug)]
pub struct ReceivingSide {
    reassembler: JpegReassembler,
    playout: Playout,
    refused: [u64; Refused::ALL.len()],
    events: EventQueue,
}

impl ReceivingSide {
    /// A receiving side for timestamps of `clock_rate` ticks a second.
    pub fn new(clock_rate: u32) -> Self {
        Self {
            reassembler: JpegReassembler::new(),
            playout: Playout::new(clock_rate),
            refused: [0; Refused::ALL.len()],
            events: EventQueue::default(),
        }
    }

    /// Takes a media packet that the session accepted.
    pub fn push_packet(&mut self, now: Instant, packet: &MediaPacket<'_>) {
        let timestamp = self.reassembler.extend(packet.timestamp);
        if self.playout.is_discontinuous(timestamp, packet.arrival) {
            self.reset(now);
        }
        let (pushed, evicted) = self.reassembler.push(packet);
        match pushed {
            Pushed::Complete { timestamp } => {
                let late = self.playout.frame_arrived(timestamp, packet.arrival);
                let timestamp = packet.timestamp;
                self.events
                    .push(now, EventKind::Completed { timestamp, late });
            }
            Pushed::Partial { timestamp } if packet.marker => {
                // Damaged frames tell when frames end, too.
                self.playout.frame_arrived(timestamp, packet.arrival);
            }
            Pushed::Partial { .. } => {}
            Pushed::Refused(reason) => self.refused[reason as usize] += 1,
        }
        if let Some(timestamp) = evicted {
            self.not_shown(now, timestamp, NotShown::Overflow);
        }
    }

    /// The frame that is due for display, if one is. The newest due frame wins.
    pub fn poll_frame(&mut self, now: Instant) -> Option<ReceivedFrame> {
        loop {
            let mut frames = self.reassembler.frames();
            let frame = frames.next()?;
            if self.ready_at(&frame) > now {
                return None;
            }
            let next = frames.next();
            let timestamp = frame.timestamp;
            let superseded = next.is_some_and(|next| next.complete && self.ready_at(&next) <= now);
            drop(frames);
            match self.reassembler.take(timestamp, now)? {
                _ if superseded => self.not_shown(now, timestamp, NotShown::Superseded),
                Ok(frame) => {
                    let intervals = &frame.image.intervals;
                    let kind = EventKind::Shown {
                        timestamp: frame.timestamp,
                        missing: intervals.iter().filter(|i| i.is_none()).count(),
                        intervals: intervals.len(),
                    };
                    self.events.push(now, kind);
                    return Some(frame);
                }
                Err(reason) => self.not_shown(now, timestamp, reason),
            }
        }
    }

    /// When [`poll_frame`](Self::poll_frame) has something to do, if nothing arrives before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let frame = self.reassembler.frames().next()?;
        Some(self.ready_at(&frame))
    }

    /// How long playout holds a frame that came as fast as any.
    pub fn allowance(&self) -> Duration {
        self.playout.allowance()
    }

    /// Packets that were of no use for this reason.
    pub fn refused(&self, reason: Refused) -> u64 {
        self.refused[reason as usize]
    }

    /// The oldest event that was not taken yet.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Begins anew: the peer is another one, or its clock jumped.
    pub fn reset(&mut self, now: Instant) {
        self.reassembler.reset();
        self.playout.reset();
        self.events.push(now, EventKind::Resynchronised);
    }

    /// When a frame may be taken: at its display time, or later if more of it is on its way.
    fn ready_at(&self, frame: &InFlight) -> Instant {
        let due = self.playout.display_at(frame.timestamp);
        if frame.settled {
            return due.unwrap_or(frame.last_arrival);
        }
        // The sender fell silent in the middle of it.
        let patience = frame.last_arrival + PATIENCE;
        due.map_or(patience, |due| due.max(patience))
    }

    fn not_shown(&mut self, now: Instant, timestamp: i64, reason: NotShown) {
        let timestamp = timestamp as u32;
        self.events
            .push(now, EventKind::Dropped { timestamp, reason });
    }
}

/// A frame whose packets stopped coming is shown as it is after this long: longer than the longest
/// gap between two packets of a frame at a rate that video can use.
const PATIENCE: Duration = Duration::from_millis(500);
