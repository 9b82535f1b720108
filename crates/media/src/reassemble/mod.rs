//! Frames from RTP payloads: the order of packets and frames here, each payload format in its file.

mod chunk;
mod coverage;
mod dv;
mod dv_payload;
mod h264;
#[cfg(test)]
mod h264_stream;
mod jpeg;
mod payload;
mod raw;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_codec::dif::System;
use evenkeel_rtp::packet::payload::h264::H264Payload;
use evenkeel_rtp::packet::payload::jpeg::JpegHeader;
use evenkeel_rtp::packet::payload::raw::RawPayload;
use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use self::dv::DvAssembly;
pub use self::dv_payload::DvPayload;
use self::h264::H264Assembly;
use self::jpeg::JpegAssembly;
pub use self::payload::{ParameterError, Payload, Payloads};
use self::raw::RawAssembly;
use crate::event::NotShown;
use crate::frame::ReceivedFrame;
use crate::packetize::tables::TableCache;
use evenkeel_codec::Codec;
use evenkeel_codec::picture::CodedPicture;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It belongs to this frame, which still lacks something.
    Partial {
        /// The extended timestamp of the frame.
        timestamp: i64,
    },
    /// It made this frame whole.
    Complete {
        /// The extended timestamp of the frame.
        timestamp: i64,
    },
    /// It was of no use.
    Refused(Refused),
}

/// Why a packet was of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// Its headers break the payload format.
    Malformed,
    /// It contradicts an earlier packet of its frame, or its place lies outside the picture.
    Inconsistent,
    /// Its frame has been shown or given up, or the packet came before.
    Stale,
    /// Its frame has as many packets or bytes as a frame may have.
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

    /// The name by which logs and reports show it.
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
/// At most [`MAX_FRAMES`](Self::MAX_FRAMES) frames of [`MAX_BYTES`](Self::MAX_BYTES) in all are
/// held, whatever arrives; an uncompressed picture and a frame of DV have their full size from their first
/// packet on.
#[derive(Debug)]
pub struct Reassembler {
    payloads: Payloads,
    /// By extended timestamp.
    frames: BTreeMap<i64, Assembly>,
    /// The extended timestamp that the next one is read near.
    newest: Option<i64>,
    /// Frames up to this one were taken or given up.
    released: Option<i64>,
    /// The highest sequence number of all.
    highest: u64,
    /// When a repair packet last came.
    repaired: Option<Instant>,
    tables: TableCache,
}

impl Reassembler {
    /// Frames in flight: half a second of reordering at 25 frames a second.
    pub const MAX_FRAMES: usize = 12;
    /// Bytes in flight: two pictures of 2040x2040 at 8 bits a pixel.
    pub const MAX_BYTES: usize = 8 << 20;

    /// A reassembler that has seen nothing.
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

    /// The timestamp as it stands on an axis that does not wrap, near the newest one seen.
    pub fn extend(&self, timestamp: u32) -> i64 {
        match self.newest {
            Some(newest) => newest + i64::from(timestamp.wrapping_sub(newest as u32) as i32),
            None => i64::from(timestamp),
        }
    }

    /// Takes a packet. The second value is the frame that had to leave for it, if one had to.
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

    /// The size of the uncompressed picture whose last packet this is and that of those that are received, if they
    /// differ.
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

    /// A repair packet came.
    pub fn note_repair(&mut self, now: Instant) {
        self.repaired = Some(now);
    }

    /// The frames in flight, oldest first.
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

    /// Takes a frame out. Later packets of it, and of older frames, are stale.
    pub fn take(
        &mut self,
        timestamp: i64,
        now: Instant,
    ) -> Option<Result<ReceivedFrame, NotShown>> {
        let frame = self.frames.remove(&timestamp)?;
        self.released = self.released.max(Some(timestamp));
        Some(frame.finish(now))
    }

    /// Forgets every frame, but not the tables, which hold for the life of the stream.
    pub fn reset(&mut self) {
        self.frames.clear();
        self.newest = None;
        self.released = None;
        self.highest = 0;
        self.repaired = None;
    }

    /// True if nothing that is missing is still expected: [`REORDERING`] packets with higher numbers
    /// have overtaken it; and where repair packets come, which leave before the next frame, that has begun.
    fn is_settled(&self, timestamp: i64, frame: &Assembly) -> bool {
        let newer = self.newest.is_some_and(|newest| newest > timestamp);
        let Some(missing) = frame.last_missing() else {
            return false;
        };
        let repairs = |at: Instant| frame.last_arrival.saturating_since(at) < REPAIRS_WITHIN;
        let ended = frame.marker.is_some() && !self.repaired.is_some_and(repairs);
        (ended || newer) && self.highest >= missing.saturating_add(REORDERING)
    }

    /// Gives up the oldest frame while there are too many, or too large ones.
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

/// A packet is lost once this many with higher numbers have come (RFC 5348 §5.1: NDUPACK).
const REORDERING: u64 = 3;

/// So long after a repair packet there may be another.
const REPAIRS_WITHIN: Duration = Duration::from_secs(1);

/// The most that one frame may hold. One packet more brings both frames and bytes back under
/// [`Reassembler::MAX_BYTES`] when the oldest leaves.
const MAX_FRAME_BYTES: usize = Reassembler::MAX_BYTES / 2;

/// The most packets of one frame: a picture of 3840x2160 in 4:2:2, 1,012 bytes in each.
const MAX_FRAME_PACKETS: usize = 16_384;

/// The state of a frame that has not been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Its extended timestamp.
    pub timestamp: i64,
    /// All of it is there.
    pub complete: bool,
    /// It is complete, or what is missing is not expected any more.
    pub settled: bool,
    /// Its last packet arrived.
    pub ended: bool,
    /// When a packet of it arrived last.
    pub last_arrival: Instant,
    /// The first and the last sequence number that came.
    pub sequences: (u64, u64),
}

/// One frame being put together.
#[derive(Debug)]
struct Assembly {
    /// A frame has one, whatever its packets say.
    codec: Codec,
    content: Content,
    /// The timestamp as the packets carry it.
    wire_timestamp: u32,
    /// What came, by sequence number.
    sequences: Vec<u64>,
    /// The sequence number of the last packet.
    marker: Option<u64>,
    /// What was stored of the packets' data.
    bytes: usize,
    last_arrival: Instant,
}

#[derive(Debug)]
enum Content {
    Jpeg(Box<JpegAssembly>),
    Raw(RawAssembly),
    H264(H264Assembly),
    Dv(DvAssembly),
}

/// What one packet holds.
enum Part<'a> {
    Jpeg {
        header: JpegHeader<'a>,
        data: &'a [u8],
    },
    Raw {
        payload: RawPayload<'a>,
        size: (u16, u16),
    },
    H264(&'a [u8]),
    Dv {
        payload: DvPayload<'a>,
        system: System,
        audio: bool,
    },
}

impl<'a> Part<'a> {
    fn parse(payload: Payload, bytes: &'a [u8]) -> Option<Self> {
        Some(match payload {
            Payload::Jpeg => {
                let (header, data) = JpegHeader::parse(bytes).ok()?;
                Self::Jpeg { header, data }
            }
            Payload::Raw { width, height } => Self::Raw {
                payload: RawPayload::parse(bytes).ok()?,
                size: (width, height),
            },
            Payload::H264 => {
                H264Payload::parse(bytes).ok()?;
                Self::H264(bytes)
            }
            Payload::Dv { system, audio } => Self::Dv {
                payload: DvPayload::parse(bytes, system).ok()?,
                system,
                audio,
            },
        })
    }

    /// The bytes that storing it takes: none in a picture that has its place for all of them.
    fn stored(&self) -> usize {
        match self {
            Self::Jpeg { data, .. } | Self::H264(data) => data.len(),
            Self::Raw { .. } | Self::Dv { .. } => 0,
        }
    }
}

impl Assembly {
    fn new(codec: Codec, part: &Part<'_>, packet: &MediaPacket<'_>) -> Self {
        let content = match part {
            Part::Jpeg { header, .. } => Content::Jpeg(Box::new(JpegAssembly::new(header))),
            Part::Raw { size, .. } => Content::Raw(RawAssembly::new(size.0, size.1)),
            Part::H264(_) => Content::H264(H264Assembly::default()),
            Part::Dv { system, audio, .. } => Content::Dv(DvAssembly::new(*system, *audio)),
        };
        Self {
            codec,
            content,
            wire_timestamp: packet.timestamp,
            sequences: Vec::new(),
            marker: None,
            bytes: 0,
            last_arrival: packet.arrival,
        }
    }

    fn push(
        &mut self,
        part: &Part<'_>,
        packet: &MediaPacket<'_>,
        tables: &mut TableCache,
    ) -> Result<(), Refused> {
        if let (Content::Jpeg(image), Part::Jpeg { header, .. }) = (&self.content, part)
            && !image.matches(header)
        {
            return Err(Refused::Inconsistent);
        }
        let Err(place) = self.sequences.binary_search(&packet.sequence) else {
            return Err(Refused::Stale);
        };
        if self.bytes + part.stored() > MAX_FRAME_BYTES || self.sequences.len() == MAX_FRAME_PACKETS
        {
            return Err(Refused::Oversized);
        }
        self.sequences.insert(place, packet.sequence);
        self.bytes += part.stored();
        self.last_arrival = self.last_arrival.max(packet.arrival);
        if packet.marker {
            self.marker = Some(packet.sequence);
        }
        match (&mut self.content, part) {
            (Content::Jpeg(image), Part::Jpeg { header, data }) => {
                image.push(header, data, packet, tables)
            }
            (Content::Raw(picture), Part::Raw { payload, .. }) => picture.push(payload),
            (Content::H264(access_unit), Part::H264(payload)) => {
                access_unit.push(payload, packet.sequence);
                Ok(())
            }
            (Content::Dv(frame), Part::Dv { payload, .. }) => {
                frame.push(payload);
                Ok(())
            }
            // Content and part are of the same codec.
            _ => Err(Refused::Inconsistent),
        }
    }

    fn is_complete(&self) -> bool {
        match &self.content {
            Content::Jpeg(image) => image.is_complete(),
            Content::Raw(picture) => picture.is_complete(),
            Content::H264(access_unit) => self.is_contiguous() && access_unit.is_closed(),
            Content::Dv(frame) => frame.is_complete(),
        }
    }

    /// True if the packet with the marker bit came, and no number before it is missing.
    fn is_contiguous(&self) -> bool {
        let (first, last) = self.span();
        self.marker == Some(last) && last - first == self.sequences.len() as u64 - 1
    }

    /// The first and the last sequence number.
    fn span(&self) -> (u64, u64) {
        let ends = self.sequences.first().zip(self.sequences.last());
        ends.map_or((0, 0), |(&first, &last)| (first, last))
    }

    /// The highest sequence number that seems to be missing from the frame.
    fn last_missing(&self) -> Option<u64> {
        let (&lowest, &highest) = (self.sequences.first()?, self.sequences.last()?);
        if self.marker.is_none() {
            return Some(highest.saturating_add(1));
        }
        let gap = self
            .sequences
            .windows(2)
            .rev()
            .find(|pair| pair[1] - pair[0] > 1)
            .map(|pair| pair[1] - 1);
        // Without a hole inside, what is missing came before.
        Some(gap.unwrap_or(lowest.saturating_sub(1)))
    }

    fn finish(self, now: Instant) -> Result<ReceivedFrame, NotShown> {
        let completed = if self.is_complete() {
            self.last_arrival
        } else {
            now
        };
        let picture = match self.content {
            Content::Jpeg(image) => CodedPicture::Jpeg(image.finish()?),
            Content::Raw(picture) => CodedPicture::Raw(picture.finish()?),
            Content::Dv(frame) => CodedPicture::Dv(frame.finish()?),
            Content::H264(access_unit) => {
                CodedPicture::from(access_unit.finish(self.marker.is_some())?)
            }
        };
        Ok(ReceivedFrame {
            timestamp: self.wire_timestamp,
            completed,
            picture,
        })
    }
}
