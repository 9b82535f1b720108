//! JPEG frames from RTP payloads (RFC 2435), in any order, with holes, whoever sent them.

use std::collections::BTreeMap;

use evenkeel_rtp::payload::jpeg::{JpegHeader, JpegType, Restart, Tables, WHOLE_FRAME};
use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

use crate::event::NotShown;
use crate::frame::{JpegImage, QuantTables, ReceivedFrame, Sampling};
use crate::packetize::tables::TableCache;
use crate::reassemble::chunk::{Chunks, WholeScan, split_intervals};

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
    /// Its headers break RFC 2435.
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
/// held, whatever arrives.
#[derive(Debug, Default)]
pub struct JpegReassembler {
    /// By extended timestamp.
    frames: BTreeMap<i64, Assembly>,
    /// The extended timestamp that the next one is read near.
    newest: Option<i64>,
    /// Frames up to this one were taken or given up.
    released: Option<i64>,
    /// The highest sequence number of all.
    highest: u64,
    tables: TableCache,
}

impl JpegReassembler {
    /// Frames in flight: half a second of reordering at 25 frames a second.
    pub const MAX_FRAMES: usize = 12;
    /// Bytes in flight: two pictures of 2040x2040 at 8 bits a pixel.
    pub const MAX_BYTES: usize = 8 << 20;

    /// A reassembler that has seen nothing.
    pub fn new() -> Self {
        Self::default()
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
        let Ok((header, data)) = JpegHeader::parse(packet.payload) else {
            return (Pushed::Refused(Refused::Malformed), None);
        };
        let timestamp = self.extend(packet.timestamp);
        if self.released.is_some_and(|released| timestamp <= released) {
            return (Pushed::Refused(Refused::Stale), None);
        }
        if let Some(Tables::InBand(bytes)) = header.tables {
            self.tables.learn(header.q, &quant_tables(bytes));
        }
        self.newest = self.newest.max(Some(timestamp));
        self.highest = self.highest.max(packet.sequence);
        let frame = self
            .frames
            .entry(timestamp)
            .or_insert_with(|| Assembly::new(&header, packet));
        let was_complete = frame.is_complete();
        if let Err(reason) = frame.push(&header, data, packet) {
            return (Pushed::Refused(reason), self.make_room());
        }
        if frame.tables.is_none() {
            frame.tables = self.tables.get(header.q);
        }
        let pushed = if frame.is_complete() && !was_complete {
            Pushed::Complete { timestamp }
        } else {
            Pushed::Partial { timestamp }
        };
        (pushed, self.make_room())
    }

    /// The frames in flight, oldest first.
    pub fn frames(&self) -> impl Iterator<Item = InFlight> + '_ {
        self.frames.iter().map(|(&timestamp, frame)| InFlight {
            timestamp,
            complete: frame.is_complete(),
            settled: frame.is_complete() || self.is_settled(timestamp, frame),
            ended: frame.marker.is_some(),
            last_arrival: frame.last_arrival,
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
    }

    /// True if nothing that is missing is still expected: [`REORDERING`] packets with higher numbers
    /// have overtaken it.
    fn is_settled(&self, timestamp: i64, frame: &Assembly) -> bool {
        let newer = self.newest.is_some_and(|newest| newest > timestamp);
        let Some(missing) = frame.last_missing() else {
            return false;
        };
        (frame.marker.is_some() || newer) && self.highest >= missing.saturating_add(REORDERING)
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

/// The most that one frame may hold. One packet more brings both frames and bytes back under
/// [`JpegReassembler::MAX_BYTES`] when the oldest leaves.
const MAX_FRAME_BYTES: usize = JpegReassembler::MAX_BYTES / 2;

/// The most packets of one frame: 4 MiB in packets of 512 bytes.
const MAX_FRAME_PACKETS: usize = 8_192;

/// The state of a frame that has not been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Its extended timestamp.
    pub timestamp: i64,
    /// Every restart interval is there, and the tables are known.
    pub complete: bool,
    /// It is complete, or what is missing is not expected any more.
    pub settled: bool,
    /// Its last packet arrived.
    pub ended: bool,
    /// When a packet of it arrived last.
    pub last_arrival: Instant,
}

/// One frame being put together.
#[derive(Debug)]
struct Assembly {
    /// Everything but the intervals and the tables.
    image: JpegImage,
    q: u8,
    tables: Option<QuantTables>,
    /// How many intervals there must be.
    expected: usize,
    /// The timestamp as the packets carry it.
    wire_timestamp: u32,
    intervals: BTreeMap<usize, Vec<u8>>,
    chunks: Chunks,
    whole: WholeScan,
    /// What came, by sequence number.
    sequences: Vec<u64>,
    /// The sequence number of the last packet.
    marker: Option<u64>,
    bytes: usize,
    last_arrival: Instant,
}

impl Assembly {
    fn new(header: &JpegHeader<'_>, packet: &MediaPacket<'_>) -> Self {
        let image = JpegImage {
            width: header.width,
            height: header.height,
            sampling: match header.kind {
                JpegType::Yuv422 => Sampling::Yuv422,
                JpegType::Yuv420 => Sampling::Yuv420,
            },
            tables: QuantTables {
                luma: [0; 64],
                chroma: [0; 64],
            },
            restart_interval: header.restart.map_or(0, |restart| restart.interval),
            intervals: Vec::new(),
        };
        let expected = match image.restart_interval {
            0 => 1,
            mcus => image.mcus().div_ceil(usize::from(mcus)),
        };
        Self {
            image,
            q: header.q,
            tables: None,
            expected,
            wire_timestamp: packet.timestamp,
            intervals: BTreeMap::new(),
            chunks: Chunks::default(),
            whole: WholeScan::default(),
            sequences: Vec::new(),
            marker: None,
            bytes: 0,
            last_arrival: packet.arrival,
        }
    }

    fn push(
        &mut self,
        header: &JpegHeader<'_>,
        data: &[u8],
        packet: &MediaPacket<'_>,
    ) -> Result<(), Refused> {
        if !self.matches(header) {
            return Err(Refused::Inconsistent);
        }
        let Err(place) = self.sequences.binary_search(&packet.sequence) else {
            return Err(Refused::Stale);
        };
        if self.bytes + data.len() > MAX_FRAME_BYTES || self.sequences.len() == MAX_FRAME_PACKETS {
            return Err(Refused::Oversized);
        }
        self.sequences.insert(place, packet.sequence);
        self.bytes += data.len();
        self.last_arrival = self.last_arrival.max(packet.arrival);
        if packet.marker {
            self.marker = Some(packet.sequence);
        }
        if let Some(Tables::InBand(bytes)) = header.tables {
            self.tables = Some(quant_tables(bytes));
        }
        match header.restart {
            Some(restart) if restart.count != WHOLE_FRAME => {
                self.push_chunk(restart, data, packet.sequence)
            }
            _ => {
                self.push_whole(header.offset, data, packet.marker);
                Ok(())
            }
        }
    }

    /// The fields that must stay the same in all packets of a frame (RFC 2435 §3.1).
    fn matches(&self, header: &JpegHeader<'_>) -> bool {
        let sampling = match header.kind {
            JpegType::Yuv422 => Sampling::Yuv422,
            JpegType::Yuv420 => Sampling::Yuv420,
        };
        let image = &self.image;
        (image.width, image.height, image.sampling, self.q)
            == (header.width, header.height, sampling, header.q)
            && image.restart_interval == header.restart.map_or(0, |restart| restart.interval)
    }

    fn push_chunk(&mut self, restart: Restart, data: &[u8], sequence: u64) -> Result<(), Refused> {
        if usize::from(restart.count) >= self.expected {
            return Err(Refused::Inconsistent);
        }
        if let Some(chunk) = self.chunks.push(restart, data, sequence) {
            self.add_intervals(usize::from(restart.count), &chunk);
        }
        Ok(())
    }

    fn push_whole(&mut self, offset: u32, data: &[u8], marker: bool) {
        if let Some(scan) = self.whole.push(offset, data, marker) {
            if self.image.restart_interval == 0 {
                self.intervals.insert(0, scan);
            } else {
                self.add_intervals(0, &scan);
            }
        }
    }

    fn add_intervals(&mut self, first: usize, chunk: &[u8]) {
        for (index, interval) in split_intervals(first, chunk) {
            if index < self.expected {
                self.intervals
                    .entry(index)
                    .or_insert_with(|| interval.to_vec());
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.intervals.len() == self.expected && self.tables.is_some()
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

    fn finish(mut self, now: Instant) -> Result<ReceivedFrame, NotShown> {
        if self.intervals.is_empty() {
            return Err(NotShown::Empty);
        }
        let completed = if self.is_complete() {
            self.last_arrival
        } else {
            now
        };
        self.image.tables = self.tables.ok_or(NotShown::NoTables)?;
        self.image.intervals = (0..self.expected)
            .map(|index| self.intervals.remove(&index))
            .collect();
        Ok(ReceivedFrame {
            timestamp: self.wire_timestamp,
            completed,
            image: self.image,
        })
    }
}

fn quant_tables(bytes: &[u8; 128]) -> QuantTables {
    let mut tables = QuantTables {
        luma: [0; 64],
        chroma: [0; 64],
    };
    tables.luma.copy_from_slice(&bytes[..64]);
    tables.chroma.copy_from_slice(&bytes[64..]);
    tables
}

#[cfg(test)]
mod tests;
