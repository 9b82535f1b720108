//! Puts frames together from RTP payloads: the order of packets and frames. Each payload format has a file.

mod assembly;
mod chunk;
mod coverage;
mod dv;
mod dv_payload;
mod h264;
mod jpeg;
mod payload;
mod raw;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use self::assembly::{Assembly, Part};
pub use self::dv_payload::DvPayload;
pub use self::payload::{ParameterError, Payload, Payloads};
use crate::event::NotShown;
use crate::frame::ReceivedFrame;
use crate::packetize::tables::TableCache;

/// The effect of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The packet belongs to this frame, which is still incomplete.
    Partial {
        /// The extended timestamp of the frame.
        timestamp: i64,
    },
    /// The packet completed this frame.
    Complete {
        /// The extended timestamp of the frame.
        timestamp: i64,
    },
    /// The packet was refused.
    Refused(Refused),
}

/// The reason for which a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The headers break the payload format.
    Malformed,
    /// The packet contradicts an earlier one of its frame, or its place lies outside the picture.
    Inconsistent,
    /// The frame has been shown or given up, or the packet arrived before.
    Stale,
    /// The frame has reached the limit of packets or bytes.
    Oversized,
}

impl Refused {
    /// Every kind, in the order of the counters.
    pub const ALL: [Self; 4] = [
        Self::Malformed,
        Self::Inconsistent,
        Self::Stale,
        Self::Oversized,
    ];

    /// Returns the name of the reason in logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Inconsistent => "inconsistent",
            Self::Stale => "stale",
            Self::Oversized => "oversized",
        }
    }
}

/// Puts the frames of one stream together.
///
/// The reassembler holds at most [`MAX_FRAMES`](Self::MAX_FRAMES) frames of [`MAX_BYTES`](Self::MAX_BYTES) in all,
/// whatever arrives. An uncompressed picture and a frame of DV have their full size from their first packet on.
#[derive(Debug)]
pub struct Reassembler {
    payloads: Payloads,
    /// The frames by extended timestamp.
    frames: BTreeMap<i64, Assembly>,
    /// The extended timestamp to which the next one is near.
    newest: Option<i64>,
    /// The last frame that was taken or given up; earlier ones were, too.
    released: Option<i64>,
    /// The highest sequence number of all frames.
    highest: u64,
    /// The arrival of the last repair packet.
    repaired: Option<Instant>,
    tables: TableCache,
}

impl Reassembler {
    /// The most frames in flight: half a second of reordering at 25 frames a second.
    pub const MAX_FRAMES: usize = 12;
    /// The most bytes in flight: two pictures of 2040x2040 at 8 bits a pixel.
    pub const MAX_BYTES: usize = 8 << 20;

    /// Creates a reassembler without frames.
    pub fn new(payloads: impl Into<Payloads>) -> Self {
        Self {
            payloads: payloads.into(),
            frames: BTreeMap::new(),
            newest: None,
            released: None,
            highest: 0,
            repaired: None,
            tables: TableCache::default(),
        }
    }

    /// Returns the timestamp on an axis that does not wrap, near the newest one.
    pub fn extend(&self, timestamp: u32) -> i64 {
        match self.newest {
            Some(newest) => newest + i64::from(timestamp.wrapping_sub(newest as u32) as i32),
            None => i64::from(timestamp),
        }
    }

    /// Records a packet. The second value is the frame that was given up for lack of room, if one was.
    pub fn push(&mut self, packet: &MediaPacket<'_>) -> (Pushed, Option<i64>) {
        let payload = self.payloads.of(packet.payload_type);
        let Some(part) = Part::parse(payload, packet.payload) else {
            return (Pushed::Refused(Refused::Malformed), None);
        };
        let timestamp = self.extend(packet.timestamp);
        if self.released.is_some_and(|released| timestamp <= released) {
            return (Pushed::Refused(Refused::Stale), None);
        }
        self.newest = self.newest.max(Some(timestamp));
        self.highest = self.highest.max(packet.sequence);
        let frame = self
            .frames
            .entry(timestamp)
            .or_insert_with(|| Assembly::new(payload.codec(), &part, packet));
        let was_complete = frame.is_complete();
        if frame.codec != payload.codec() {
            return (Pushed::Refused(Refused::Inconsistent), self.make_room());
        }
        if let Err(reason) = frame.push(&part, packet, &mut self.tables) {
            return (Pushed::Refused(reason), self.make_room());
        }
        let pushed = if frame.is_complete() && !was_complete {
            Pushed::Complete { timestamp }
        } else {
            Pushed::Partial { timestamp }
        };
        (pushed, self.make_room())
    }

    /// Returns the size of the uncompressed picture that this packet ends and the expected size, if the two differ.
    pub fn other_size(&self, packet: &MediaPacket<'_>) -> Option<[(u16, u16); 2]> {
        if !packet.marker {
            return None;
        }
        let Part::Raw { payload, size } =
            Part::parse(self.payloads.of(packet.payload_type), packet.payload)?
        else {
            return None;
        };
        let sent = raw::size_by_end(&payload)?;
        (sent != size).then_some([sent, size])
    }

    /// Records a repair packet that arrived.
    pub fn repair_arrived(&mut self, now: Instant) {
        self.repaired = Some(now);
    }

    /// Returns the frames in flight, oldest first.
    pub fn frames(&self) -> impl Iterator<Item = InFlight> + '_ {
        self.frames.iter().map(|(&timestamp, frame)| InFlight {
            timestamp,
            complete: frame.is_complete(),
            settled: frame.is_complete() || self.is_settled(timestamp, frame),
            ended: frame.marker.is_some(),
            last_arrival: frame.last_arrival,
            sequences: frame.span(),
        })
    }

    /// Takes a frame out. Later packets of this frame, and of older frames, are stale.
    pub fn take(
        &mut self,
        timestamp: i64,
        now: Instant,
    ) -> Option<Result<ReceivedFrame, NotShown>> {
        let frame = self.frames.remove(&timestamp)?;
        self.released = self.released.max(Some(timestamp));
        Some(frame.finish(now))
    }

    /// Forgets every frame, but not the tables, which apply for the life of the stream.
    pub fn reset(&mut self) {
        self.frames.clear();
        self.newest = None;
        self.released = None;
        self.highest = 0;
        self.repaired = None;
    }

    /// Returns true if no missing packet is expected any more: [`REORDERING`] packets with higher numbers have
    /// overtaken it. If repair packets arrive, which leave before the next frame, that frame must have begun, too.
    fn is_settled(&self, timestamp: i64, frame: &Assembly) -> bool {
        let newer = self.newest.is_some_and(|newest| newest > timestamp);
        let Some(missing) = frame.last_missing() else {
            return false;
        };
        let repairs = |at: Instant| frame.last_arrival.saturating_since(at) < REPAIRS_WITHIN;
        let ended = frame.marker.is_some() && !self.repaired.is_some_and(repairs);
        (ended || newer) && self.highest >= missing.saturating_add(REORDERING)
    }

    /// Gives up the oldest frame while there are too many frames or bytes.
    fn make_room(&mut self) -> Option<i64> {
        let bytes: usize = self.frames.values().map(|frame| frame.bytes).sum();
        if self.frames.len() <= Self::MAX_FRAMES && bytes <= Self::MAX_BYTES {
            return None;
        }
        let (timestamp, _) = self.frames.pop_first()?;
        self.released = self.released.max(Some(timestamp));
        Some(timestamp)
    }
}

/// The arrivals with higher numbers after which a packet is lost (RFC 5348 §5.1: NDUPACK).
const REORDERING: u64 = 3;

/// The time after a repair packet within which another may follow.
const REPAIRS_WITHIN: Duration = Duration::from_secs(1);

/// The state of a frame that has not been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// The extended timestamp of the frame.
    pub timestamp: i64,
    /// True if all of the frame has arrived.
    pub complete: bool,
    /// True if the frame is complete, or no missing packet is expected any more.
    pub settled: bool,
    /// True if the last packet has arrived.
    pub ended: bool,
    /// The arrival of the frame's latest packet.
    pub last_arrival: Instant,
    /// The first and the last sequence number that arrived.
    pub sequences: (u64, u64),
}
