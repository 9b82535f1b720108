//! The receiving side of a call: reassembly and playout.

#[cfg(test)]
mod tests;

use std::time::Duration;

use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use crate::chain::Chain;
use crate::event::{Event, EventKind, EventQueue, NotShown};
use crate::frame::ReceivedFrame;
use crate::playout::Playout;
use crate::reassemble::{InFlight, Payloads, Pushed, Reassembler, Refused};

/// The receiving side, which takes packets and returns frames when they are due.
#[derive(Debug)]
pub struct ReceivingSide {
    reassembler: Reassembler,
    playout: Playout,
    chain: Chain,
    refused: [u64; Refused::ALL.len()],
    /// True once pictures of another size were reported.
    reported_other_size: bool,
    events: EventQueue,
}

impl ReceivingSide {
    /// Creates the receiving side of a stream, for timestamps of `clock_rate` ticks a second. Frames are to be
    /// shown within `deadline` of their capture.
    pub fn new(payloads: impl Into<Payloads>, clock_rate: u32, deadline: Duration) -> Self {
        Self {
            reassembler: Reassembler::new(payloads),
            playout: Playout::new(clock_rate, deadline),
            chain: Chain::default(),
            refused: [0; Refused::ALL.len()],
            reported_other_size: false,
            events: EventQueue::default(),
        }
    }

    /// Handles a media packet that the session accepted.
    pub fn push_packet(&mut self, now: Instant, packet: &MediaPacket<'_>) {
        let timestamp = self.reassembler.extend(packet.timestamp);
        if self.playout.is_discontinuous(timestamp, packet.arrival) {
            self.reset(now);
        }
        let timestamp = self.reassembler.extend(packet.timestamp);
        self.playout
            .packet_arrived(timestamp, packet.arrival, packet.rtt);
        let (pushed, evicted) = self.reassembler.push(packet);
        if !matches!(pushed, Pushed::Complete { .. }) {
            self.report_other_size(now, packet);
        }
        match pushed {
            Pushed::Complete { timestamp } => {
                let late = self.playout.frame_arrived(timestamp, packet.arrival);
                let timestamp = packet.timestamp;
                self.events
                    .push(now, EventKind::Completed { timestamp, late });
            }
            Pushed::Partial { timestamp } if packet.marker => {
                // Damaged frames also show when frames end.
                self.playout.frame_arrived(timestamp, packet.arrival);
            }
            Pushed::Partial { .. } => {}
            Pushed::Refused(reason) => self.refused[reason as usize] += 1,
        }
        if let Some(timestamp) = evicted {
            self.chain.break_off();
            self.not_shown(now, timestamp, NotShown::Overflow);
        }
    }

    /// Handles a sender report, with the media timestamp of its departure.
    pub fn report_arrived(&mut self, arrival: Instant, timestamp: u32) {
        let timestamp = self.reassembler.extend(timestamp);
        if !self.playout.is_discontinuous(timestamp, arrival) {
            self.playout.report_arrived(timestamp, arrival);
        }
    }

    /// Records a repair packet that arrived. The packets that it recovers follow by
    /// [`push_packet`](Self::push_packet), and more may arrive.
    pub fn repair_arrived(&mut self, now: Instant) {
        self.reassembler.repair_arrived(now);
    }

    /// Returns the frame that is due for display, if one is. The newest due frame wins.
    pub fn poll_frame(&mut self, now: Instant) -> Option<ReceivedFrame> {
        loop {
            let mut frames = self.reassembler.frames();
            let frame = frames.next()?;
            if self.ready_at(&frame) > now {
                return None;
            }
            let next = frames.next();
            let timestamp = frame.timestamp;
            let ready = self.ready_at(&frame);
            let superseded = next.is_some_and(|next| next.complete && self.ready_at(&next) <= now);
            drop(frames);
            let taken = self.reassembler.take(timestamp, now)?;
            let linked = taken.and_then(|taken| {
                let picture = self.chain.link(taken.picture, &frame);
                let picture = picture.ok_or(NotShown::NoReference)?;
                Ok(ReceivedFrame {
                    picture,
                    due: ready.max(taken.due),
                    ..taken
                })
            });
            match linked {
                Ok(frame) if superseded => {
                    self.chain.keep(frame.picture);
                    self.not_shown(now, timestamp, NotShown::Superseded);
                }
                Ok(frame) => {
                    let kind = EventKind::Shown {
                        timestamp: frame.timestamp,
                        parts: frame.picture.parts(),
                    };
                    self.events.push(now, kind);
                    return Some(frame);
                }
                Err(reason) => {
                    self.chain.break_off();
                    self.not_shown(now, timestamp, reason);
                }
            }
        }
    }

    /// Records what a frame of [`poll_frame`](Self::poll_frame) took from [`ReceivedFrame::due`] to its display.
    pub fn frame_displayed(&mut self, took: Duration) {
        self.playout.frame_displayed(took);
    }

    /// Records that a frame of [`poll_frame`](Self::poll_frame) with this timestamp was not shown. Frames that
    /// refer to it cannot be shown either.
    pub fn reference_lost(&mut self, now: Instant, timestamp: u32, reason: NotShown) {
        let timestamp = self.reassembler.extend(timestamp);
        self.chain.lose(timestamp);
        self.not_shown(now, timestamp, reason);
    }

    /// Returns when to call [`poll_frame`](Self::poll_frame), if no packet arrives before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let frame = self.reassembler.frames().next()?;
        Some(self.ready_at(&frame))
    }

    /// Returns true while only a keyframe can be shown.
    pub fn wants_keyframe(&self) -> bool {
        self.chain.wants_keyframe()
    }

    /// Returns how long playout holds the fastest frame.
    pub fn allowance(&self) -> Duration {
        self.playout.allowance()
    }

    /// Returns the number of packets refused for this reason.
    pub fn refused(&self, reason: Refused) -> u64 {
        self.refused[reason as usize]
    }

    /// Returns the oldest event that the caller has not taken.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Restarts, because the peer is another one or its clock jumped.
    pub fn reset(&mut self, now: Instant) {
        self.reassembler.reset();
        self.playout.reset();
        self.chain = Chain::default();
        self.events.push(now, EventKind::Resynchronised);
    }

    /// Returns when a frame may be taken: at its display time, or later if more of it is expected.
    fn ready_at(&self, frame: &InFlight) -> Instant {
        let due = self.playout.display_at(frame.timestamp);
        if frame.settled {
            return due.unwrap_or(frame.last_arrival);
        }
        // The sender fell silent within the frame.
        let patience = frame.last_arrival + SILENT_SENDER_TIMEOUT;
        due.map_or(patience, |due| due.max(patience))
    }

    /// Reports pictures of another size once. A picture that is whole has the right size, in any order of lines.
    fn report_other_size(&mut self, now: Instant, packet: &MediaPacket<'_>) {
        if !self.reported_other_size
            && let Some([sent, received]) = self.reassembler.other_size(packet)
        {
            self.reported_other_size = true;
            self.events
                .push(now, EventKind::OtherSize { sent, received });
        }
    }

    fn not_shown(&mut self, now: Instant, timestamp: i64, reason: NotShown) {
        let timestamp = timestamp as u32;
        self.events
            .push(now, EventKind::Dropped { timestamp, reason });
    }
}

/// The time without packets after which an incomplete frame is shown. It exceeds the longest gap between two
/// packets of a frame at a rate that video can use.
const SILENT_SENDER_TIMEOUT: Duration = Duration::from_millis(500);
