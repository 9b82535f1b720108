//! A JPEG frame as RTP payloads (RFC 2435), each of whole restart intervals wherever one fits.

use std::fmt;
use std::time::Duration;

use evenkeel_rtp::payload::jpeg::{
    JpegHeader, JpegType, MAX_DIMENSION, Restart, Tables, WHOLE_FRAME,
};
use tfrc::time::Instant;
use tfrc::units::Bytes;

use crate::frame::{EncodedFrame, JpegImage, Sampling};
use crate::packetize::tables::TableIndex;

/// Why a frame cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketizeError {
    /// Width or height is 0 or above [`MAX_DIMENSION`].
    Dimensions {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// Not as many intervals as the picture's size and its restart interval make.
    IntervalCount {
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// More intervals than a restart count can number (§3.1.7).
    TooManyIntervals,
    /// An interval has no data.
    MissingInterval {
        /// Which.
        index: usize,
    },
    /// The scan exceeds the 2^24 bytes that a fragment offset reaches (§3.1.2).
    TooLarge,
    /// A packet is too small for the headers and a byte of data.
    Capacity,
}

impl fmt::Display for PacketizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dimensions { width, height } => write!(
                f,
                "{width}x{height} is not within 1x1 to {MAX_DIMENSION}x{MAX_DIMENSION}"
            ),
            Self::IntervalCount { expected, found } => {
                write!(
                    f,
                    "{found} restart intervals where there must be {expected}"
                )
            }
            Self::TooManyIntervals => write!(f, "more than {WHOLE_FRAME} restart intervals"),
            Self::MissingInterval { index } => write!(f, "restart interval {index} has no data"),
            Self::TooLarge => write!(f, "the coded frame exceeds 16 MiB"),
            Self::Capacity => write!(f, "the packet size leaves no room for data"),
        }
    }
}

impl std::error::Error for PacketizeError {}

/// Cuts the frames of one stream into packets.
#[derive(Clone, Debug)]
pub struct Packetizer {
    tables: TableIndex,
    capacity: usize,
}

impl Packetizer {
    /// A packetiser whose payloads, RTP/JPEG headers included, have at most `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            tables: TableIndex::default(),
            capacity,
        }
    }

    /// The largest payload.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Plans the packets of a frame.
    ///
    /// A size that is no multiple of 8 travels rounded up, for RFC 2435 has no other: the MCUs are
    /// the same, and the receiver's picture shows up to seven columns and rows of the encoder's
    /// padding.
    pub fn packetize(&mut self, frame: EncodedFrame) -> Result<PacketizedFrame, PacketizeError> {
        check(&frame.image)?;
        let q = self.tables.q(&frame.image.tables);
        let mut packetized = PacketizedFrame {
            frame,
            q,
            pieces: Vec::new(),
            payload: Bytes::ZERO,
        };
        packetized.plan(self.capacity)?;
        Ok(packetized)
    }
}

fn check(image: &JpegImage) -> Result<(), PacketizeError> {
    let (width, height) = (image.width, image.height);
    let allowed = 1..=MAX_DIMENSION;
    if !allowed.contains(&width) || !allowed.contains(&height) {
        return Err(PacketizeError::Dimensions { width, height });
    }
    let expected = match image.restart_interval {
        0 => 1,
        mcus => image.mcus().div_ceil(usize::from(mcus)),
    };
    let found = image.intervals.len();
    if found != expected {
        return Err(PacketizeError::IntervalCount { expected, found });
    }
    if found > usize::from(WHOLE_FRAME) {
        return Err(PacketizeError::TooManyIntervals);
    }
    let empty = |interval: &Option<Vec<u8>>| interval.as_ref().is_none_or(Vec::is_empty);
    if let Some(index) = image.intervals.iter().position(empty) {
        return Err(PacketizeError::MissingInterval { index });
    }
    if image.scan_size().get() >= 1 << 24 {
        return Err(PacketizeError::TooLarge);
    }
    Ok(())
}

/// What one packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// The first interval, and how many: more than one only if they are whole.
    first: usize,
    count: usize,
    /// Bytes of the (single) interval that went before.
    skip: usize,
    /// Bytes of data, restart markers included.
    len: usize,
    /// Where they stand in the scan.
    offset: usize,
    /// The packet ends with the end of an interval.
    ends: bool,
}

/// A coded frame with the plan of its packets. The bytes are put together at departure.
#[derive(Clone, Debug)]
pub struct PacketizedFrame {
    frame: EncodedFrame,
    q: u8,
    pieces: Vec<Piece>,
    payload: Bytes,
}

impl PacketizedFrame {
    /// How many packets it takes; at least one.
    pub fn packets(&self) -> usize {
        self.pieces.len()
    }

    /// All payloads together, RTP/JPEG headers included.
    pub const fn payload(&self) -> Bytes {
        self.payload
    }

    /// When its picture was captured.
    pub const fn captured(&self) -> Instant {
        self.frame.captured
    }

    /// Its media timestamp.
    pub const fn timestamp(&self) -> u32 {
        self.frame.timestamp
    }

    /// Its coded scan.
    pub fn scan_size(&self) -> Bytes {
        self.frame.image.scan_size()
    }

    /// How long ago its picture was captured.
    pub const fn age(&self, now: Instant) -> Duration {
        now.saturating_since(self.frame.captured)
    }

    /// The size of payload `index` (below [`packets`](Self::packets)), in bytes.
    pub fn payload_len(&self, index: usize) -> usize {
        self.pieces
            .get(index)
            .map_or(0, |piece| self.header_len(piece.offset) + piece.len)
    }

    /// Writes payload `index` (below [`packets`](Self::packets)) to the empty `buf`.
    pub fn write(&self, index: usize, buf: &mut Vec<u8>) {
        let Some(piece) = self.pieces.get(index) else {
            return;
        };
        let tables = self.tables();
        let header = self.header(piece, &tables);
        buf.resize(header.len(), 0);
        let written = header.emit(buf);
        debug_assert_eq!(
            written,
            Some(header.len()),
            "check() admits what emit() can write"
        );
        let image = &self.frame.image;
        let mut skip = piece.skip;
        let end = buf.len() + piece.len;
        for interval in piece.first..piece.first + piece.count {
            let data = image.intervals[interval].as_deref().unwrap_or_default();
            let marker = marker_before(interval);
            let from_marker = skip.min(marker.len());
            buf.extend_from_slice(&marker[from_marker..]);
            buf.extend_from_slice(&data[skip - from_marker..]);
            skip = 0;
        }
        buf.truncate(end);
    }

    /// Luma and chroma as the quantisation table header has them.
    fn tables(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes[..64].copy_from_slice(&self.frame.image.tables.luma);
        bytes[64..].copy_from_slice(&self.frame.image.tables.chroma);
        bytes
    }

    fn header<'a>(&self, piece: &Piece, tables: &'a [u8; 128]) -> JpegHeader<'a> {
        let image = &self.frame.image;
        let restart = (image.restart_interval > 0).then_some(Restart {
            interval: image.restart_interval,
            first: piece.skip == 0,
            last: piece.ends,
            count: piece.first as u16,
        });
        JpegHeader {
            type_specific: 0,
            offset: piece.offset as u32,
            kind: match image.sampling {
                Sampling::Yuv422 => JpegType::Yuv422,
                Sampling::Yuv420 => JpegType::Yuv420,
            },
            q: self.q,
            width: image.width.next_multiple_of(8),
            height: image.height.next_multiple_of(8),
            restart,
            tables: (self.q >= 128 && piece.offset == 0).then_some(Tables::InBand(tables)),
        }
    }

    fn header_len(&self, offset: usize) -> usize {
        let restart = if self.frame.image.restart_interval > 0 {
            4
        } else {
            0
        };
        let tables = if self.q >= 128 && offset == 0 {
            4 + 128
        } else {
            0
        };
        8 + restart + tables
    }

    /// The bytes of an interval on the wire, with the marker before it.
    fn interval_len(&self, index: usize) -> usize {
        let data = self.frame.image.intervals[index].as_ref();
        marker_before(index).len() + data.map_or(0, Vec::len)
    }

    /// Greedy: as many whole intervals as fit; one that fits into no packet is cut.
    fn plan(&mut self, capacity: usize) -> Result<(), PacketizeError> {
        let intervals = self.frame.image.intervals.len();
        let (mut next, mut skip, mut offset) = (0, 0, 0);
        while next < intervals {
            let header = self.header_len(offset);
            let room = capacity.saturating_sub(header);
            if room == 0 {
                return Err(PacketizeError::Capacity);
            }
            let mut piece = Piece {
                first: next,
                count: 0,
                skip,
                len: 0,
                offset,
                ends: true,
            };
            while skip == 0 && next < intervals && piece.len + self.interval_len(next) <= room {
                piece.len += self.interval_len(next);
                piece.count += 1;
                next += 1;
            }
            if piece.count == 0 {
                let rest = self.interval_len(next) - skip;
                piece.count = 1;
                piece.len = rest.min(room);
                piece.ends = rest <= room;
                (next, skip) = if piece.ends {
                    (next + 1, 0)
                } else {
                    (next, skip + piece.len)
                };
            }
            offset += piece.len;
            self.payload += Bytes::from(header + piece.len);
            self.pieces.push(piece);
        }
        Ok(())
    }
}

/// The restart marker that precedes an interval: none before the first (§3.1.7).
fn marker_before(interval: usize) -> &'static [u8] {
    const MARKERS: [[u8; 2]; 8] = [
        [0xff, 0xd0],
        [0xff, 0xd1],
        [0xff, 0xd2],
        [0xff, 0xd3],
        [0xff, 0xd4],
        [0xff, 0xd5],
        [0xff, 0xd6],
        [0xff, 0xd7],
    ];
    match interval.checked_sub(1) {
        Some(before) => &MARKERS[before % 8],
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::QuantTables;

    fn frame(sizes: &[usize]) -> EncodedFrame {
        EncodedFrame {
            captured: Instant::ZERO,
            timestamp: 1,
            image: JpegImage {
                width: 64,
                height: 16,
                sampling: Sampling::Yuv420,
                tables: QuantTables {
                    luma: [9; 64],
                    chroma: [9; 64],
                },
                restart_interval: 1,
                intervals: sizes.iter().map(|&size| Some(vec![1; size])).collect(),
            },
        }
    }

    fn headers(packetizer: &mut Packetizer, frame: EncodedFrame) -> Vec<(u32, Restart, usize)> {
        let frame = packetizer.packetize(frame).unwrap();
        (0..frame.packets())
            .map(|index| {
                let mut payload = Vec::new();
                frame.write(index, &mut payload);
                let (header, data) = JpegHeader::parse(&payload).unwrap();
                assert_eq!(header.q, 128);
                assert_eq!(header.tables.is_some(), index == 0);
                (header.offset, header.restart.unwrap(), data.len())
            })
            .collect()
    }

    #[test]
    fn packets_hold_whole_intervals_where_these_fit() {
        let place = |count, first, last| Restart {
            interval: 1,
            first,
            last,
            count,
        };
        // The first has 144 bytes of headers, the others 12; intervals but the first have a marker.
        let sent = headers(&mut Packetizer::new(344), frame(&[100, 98, 700, 20]));
        let expected = vec![
            (0, place(0, true, true), 200),
            (200, place(2, true, false), 332),
            (532, place(2, false, false), 332),
            (864, place(2, false, true), 38),
            (902, place(3, true, true), 22),
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn the_sizes_add_up() {
        let frame = Packetizer::new(344)
            .packetize(frame(&[100, 98, 700, 20]))
            .unwrap();
        let payloads: usize = (0..5).map(|index| frame.payload_len(index)).sum();
        assert_eq!(frame.payload(), Bytes::from(payloads));
        assert_eq!(
            frame.payload(),
            frame.scan_size() + Bytes::new(144 + 4 * 12)
        );
        assert_eq!(frame.payload_len(5), 0);
    }

    #[test]
    fn what_cannot_travel_is_refused_by_name() {
        let refused = |change: fn(&mut JpegImage), capacity| {
            let mut frame = frame(&[5; 4]);
            change(&mut frame.image);
            Packetizer::new(capacity).packetize(frame).unwrap_err()
        };
        assert_eq!(
            refused(|image| image.width = 2_041, 1_000).to_string(),
            "2041x16 is not within 1x1 to 2040x2040"
        );
        assert_eq!(
            refused(|image| image.height = 17, 1_000),
            PacketizeError::IntervalCount {
                expected: 8,
                found: 4
            }
        );
        assert_eq!(
            refused(|image| image.intervals[2] = None, 1_000),
            PacketizeError::MissingInterval { index: 2 }
        );
        assert_eq!(
            refused(|image| image.intervals[1] = Some(vec![0; 1 << 24]), 1_000),
            PacketizeError::TooLarge
        );
        assert_eq!(refused(|_| (), 144), PacketizeError::Capacity);
        let many = |image: &mut JpegImage| {
            (image.width, image.height) = (2_040, 2_040);
            image.restart_interval = 1;
            image.intervals = vec![Some(vec![1]); image.mcus()];
        };
        assert_eq!(refused(many, 1_000), PacketizeError::TooManyIntervals);
    }
}
