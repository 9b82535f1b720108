//! Cuts a JPEG image into RTP payloads (RFC 2435), each of whole restart intervals wherever one fits.

use evenkeel_codec::picture::{JpegImage, Sampling};
use evenkeel_rtp::packet::payload::jpeg::{
    JpegHeader, JpegType, MAX_DIMENSION, Restart, Tables, WHOLE_FRAME,
};
use tfrc::units::Bytes;

use super::PacketizeError;
use crate::packetize::tables::TableIndex;

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

/// The content of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// The first interval and the number of intervals, which exceeds one only if they are whole.
    first: usize,
    count: usize,
    /// The bytes of a single interval that earlier packets carry.
    skip: usize,
    /// The bytes of data, including restart markers.
    len: usize,
    /// The offset of the data in the scan.
    offset: usize,
    /// True if the packet ends with the end of an interval.
    ends: bool,
}

/// An image with the plan of its packets.
#[derive(Clone, Debug)]
pub(super) struct JpegPayloads {
    image: JpegImage,
    q: u8,
    pieces: Vec<Piece>,
}

impl JpegPayloads {
    /// Plans the packets of an image, whose payloads have at most `capacity` bytes.
    ///
    /// A size that is no multiple of 8 is rounded up, because RFC 2435 has no other. The MCUs are the same, and the
    /// receiver's picture shows up to seven columns and rows of the encoder's padding.
    pub(super) fn plan(
        image: JpegImage,
        tables: &mut TableIndex,
        capacity: usize,
    ) -> Result<Self, PacketizeError> {
        check(&image)?;
        let q = tables.q(&image.tables);
        let mut payloads = Self {
            image,
            q,
            pieces: Vec::new(),
        };
        payloads.cut(capacity)?;
        Ok(payloads)
    }

    /// Returns the size of the coded scan.
    pub(super) fn size(&self) -> Bytes {
        self.image.scan_size()
    }

    pub(super) fn packets(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn payload_len(&self, index: usize) -> usize {
        self.pieces
            .get(index)
            .map_or(0, |piece| self.header_len(piece.offset) + piece.len)
    }

    pub(super) fn write(&self, index: usize, buf: &mut Vec<u8>) {
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
        let mut skip = piece.skip;
        let end = buf.len() + piece.len;
        for interval in piece.first..piece.first + piece.count {
            let data = self.image.intervals[interval]
                .as_deref()
                .unwrap_or_default();
            let marker = marker_before(interval);
            let from_marker = skip.min(marker.len());
            buf.extend_from_slice(&marker[from_marker..]);
            buf.extend_from_slice(&data[skip - from_marker..]);
            skip = 0;
        }
        buf.truncate(end);
    }

    /// Returns luma and chroma in the layout of the quantisation table header.
    fn tables(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes[..64].copy_from_slice(&self.image.tables.luma);
        bytes[64..].copy_from_slice(&self.image.tables.chroma);
        bytes
    }

    fn header<'a>(&self, piece: &Piece, tables: &'a [u8; 128]) -> JpegHeader<'a> {
        let image = &self.image;
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
        let restart = if self.image.restart_interval > 0 {
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

    /// Returns the length of an interval on the wire, with the marker before it.
    fn interval_len(&self, index: usize) -> usize {
        let data = self.image.intervals[index].as_ref();
        marker_before(index).len() + data.map_or(0, Vec::len)
    }

    /// Cuts greedily: as many whole intervals as fit; an interval that fits into no packet is cut.
    fn cut(&mut self, capacity: usize) -> Result<(), PacketizeError> {
        let intervals = self.image.intervals.len();
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
            self.pieces.push(piece);
        }
        Ok(())
    }
}

/// Returns the restart marker that precedes an interval: none before the first (§3.1.7).
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
    use evenkeel_codec::test_support::jpeg_image;

    fn image(sizes: &[usize]) -> JpegImage {
        jpeg_image((64, 16), 9, sizes)
    }

    fn plan(image: JpegImage, capacity: usize) -> Result<JpegPayloads, PacketizeError> {
        JpegPayloads::plan(image, &mut TableIndex::default(), capacity)
    }

    fn headers(sizes: &[usize], capacity: usize) -> Vec<(u32, Restart, usize)> {
        let payloads = plan(image(sizes), capacity).unwrap();
        (0..payloads.packets())
            .map(|index| {
                let mut payload = Vec::new();
                payloads.write(index, &mut payload);
                assert_eq!(payload.len(), payloads.payload_len(index));
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
        // The first packet has 144 bytes of headers, the others 12; all intervals but the first have a marker.
        let sent = headers(&[100, 98, 700, 20], 344);
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
    fn what_cannot_travel_is_refused_by_name() {
        let refused = |change: fn(&mut JpegImage), capacity| {
            let mut image = image(&[5; 4]);
            change(&mut image);
            plan(image, capacity).unwrap_err()
        };
        assert_eq!(
            refused(|image| image.width = 2_041, 1_000).to_string(),
            "2041x16 is no size that this payload format can carry"
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
