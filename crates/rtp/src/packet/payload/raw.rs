//! The headers of RTP's payload for uncompressed video (RFC 4175 §4.2).

use crate::packet::wire::{ParseError, Reader, Writer};

/// The largest width and height in pixels that a segment's header can name.
pub const MAX_DIMENSION: u16 = 0x7fff;

/// The octets of a pixel group of 4:2:2 with 8 bits: two pixels, Cb Y Cr Y (§4.3).
pub const GROUP_422: usize = 4;

/// The bytes of the extended sequence number, which precedes all segment headers.
const SEQUENCE_LEN: usize = 2;

/// The place of a run of pixels in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The octets of data, in whole pixel groups.
    pub len: u16,
    /// The scan line, up to [`MAX_DIMENSION`].
    pub line: u16,
    /// F: the line belongs to the second field of an interlaced picture.
    pub second_field: bool,
    /// The first pixel within the line, up to [`MAX_DIMENSION`].
    pub offset: u16,
}

impl Segment {
    /// The length of a segment's header.
    pub const LEN: usize = 6;

    fn parse(reader: &mut Reader<'_>) -> Result<(Self, bool), ParseError> {
        let len = reader.u16("length")?;
        let line = reader.u16("line number")?;
        let offset = reader.u16("offset")?;
        let segment = Self {
            len,
            line: line & MAX_DIMENSION,
            second_field: line & 0x8000 != 0,
            offset: offset & MAX_DIMENSION,
        };
        Ok((segment, offset & 0x8000 != 0))
    }
}

/// A payload whose lengths agree with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPayload<'a> {
    /// The upper half of the 32-bit sequence number; RTP's number is the lower half.
    pub sequence_high: u16,
    headers: &'a [u8],
    data: &'a [u8],
}

impl<'a> RawPayload<'a> {
    /// Reads the headers, and checks that their data is present. Padding may follow the data.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(payload: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(payload);
        let sequence_high = reader.u16("extended sequence number")?;
        let start = reader.offset();
        let mut total = 0;
        loop {
            let (segment, continues) = Segment::parse(&mut reader)?;
            total += usize::from(segment.len);
            if !continues {
                break;
            }
        }
        let headers = &payload[start..reader.offset()];
        let data = reader.take(total, "pixels")?;
        Ok(Self {
            sequence_high,
            headers,
            data,
        })
    }

    /// Returns the segments in order, each with its pixels.
    pub fn segments(&self) -> impl Iterator<Item = (Segment, &'a [u8])> + use<'a> {
        let mut data = self.data;
        self.headers
            .chunks_exact(Segment::LEN)
            .map_while(move |header| {
                let (segment, _) = Segment::parse(&mut Reader::new(header)).ok()?;
                let (pixels, rest) = data.split_at_checked(segment.len.into())?;
                data = rest;
                Some((segment, pixels))
            })
    }
}

/// Returns the number of bytes that [`emit`] writes.
pub const fn headers_len(segments: usize) -> usize {
    SEQUENCE_LEN + segments * Segment::LEN
}

/// Writes the headers of a payload and returns their length. Returns `None` if there is no segment, `buf` is too
/// short or a field is out of its range.
pub fn emit(sequence_high: u16, segments: &[Segment], buf: &mut [u8]) -> Option<usize> {
    let mut writer = Writer::new(buf);
    writer.u16(sequence_high)?;
    let last = segments.len().checked_sub(1)?;
    for (index, segment) in segments.iter().enumerate() {
        if segment.line > MAX_DIMENSION || segment.offset > MAX_DIMENSION {
            return None;
        }
        writer.u16(segment.len)?;
        writer.u16(u16::from(segment.second_field) << 15 | segment.line)?;
        writer.u16(u16::from(index < last) << 15 | segment.offset)?;
    }
    Some(writer.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment() -> impl Strategy<Value = Segment> {
        let dimension = 0..=MAX_DIMENSION;
        (0..40_u16, dimension.clone(), any::<bool>(), dimension).prop_map(
            |(len, line, second_field, offset)| Segment {
                len,
                line,
                second_field,
                offset,
            },
        )
    }

    #[test]
    fn two_lines_in_a_packet_read_as_rfc_4175_draws_them() {
        let bytes = [
            0x12, 0x34, // extended sequence number
            0, 4, 0, 7, 0x80, 10, // 4 octets of line 7 from pixel 10, and another header
            0, 2, 0x80, 8, 0, 0, // 2 octets of line 8, second field
            1, 2, 3, 4, 5, 6, // pixels
        ];
        let payload = RawPayload::parse(&bytes).unwrap();
        assert_eq!(payload.sequence_high, 0x1234);
        let segments: Vec<_> = payload.segments().collect();
        let first = Segment {
            len: 4,
            line: 7,
            second_field: false,
            offset: 10,
        };
        let second = Segment {
            len: 2,
            line: 8,
            second_field: true,
            offset: 0,
        };
        assert_eq!(
            segments,
            [(first, &[1, 2, 3, 4][..]), (second, &[5, 6][..])]
        );
    }

    #[test]
    fn lengths_beyond_the_packet_are_refused() {
        let bytes = [0, 0, 0, 5, 0, 0, 0, 0, 1, 2, 3, 4];
        let error = ParseError::Truncated {
            field: "pixels",
            offset: 8,
        };
        assert_eq!(RawPayload::parse(&bytes), Err(error));
        // The header announces another header, which is missing.
        let endless = [0, 0, 0, 0, 0, 0, 0x80, 0];
        assert!(RawPayload::parse(&endless).is_err());
    }

    #[test]
    fn what_a_header_cannot_say_is_not_written() {
        let segment = Segment {
            len: 4,
            line: MAX_DIMENSION,
            second_field: false,
            offset: 0,
        };
        let beyond = Segment {
            line: MAX_DIMENSION + 1,
            ..segment
        };
        let mut buf = [0; 8];
        assert_eq!(emit(0, &[segment], &mut buf), Some(headers_len(1)));
        assert_eq!(emit(0, &[beyond], &mut buf), None);
        assert_eq!(emit(0, &[], &mut buf), None);
        assert_eq!(emit(0, &[segment], &mut buf[..7]), None);
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            high: u16,
            segments in proptest::collection::vec(segment(), 1..5),
            padding in 0..4_usize,
        ) {
            let mut bytes = vec![0; headers_len(segments.len())];
            prop_assert_eq!(emit(high, &segments, &mut bytes), Some(bytes.len()));
            let total: usize = segments.iter().map(|segment| usize::from(segment.len)).sum();
            bytes.extend((0..total).map(|i| i as u8));
            for cut in 0..bytes.len() {
                prop_assert!(RawPayload::parse(&bytes[..cut]).is_err());
            }
            bytes.resize(bytes.len() + padding, 0xee);
            let payload = RawPayload::parse(&bytes).unwrap();
            prop_assert_eq!(payload.sequence_high, high);
            let read: Vec<Segment> = payload.segments().map(|(segment, _)| segment).collect();
            prop_assert_eq!(read, segments);
            let pixels: Vec<u8> = payload.segments().flat_map(|(_, pixels)| pixels).copied().collect();
            prop_assert_eq!(pixels, (0..total).map(|i| i as u8).collect::<Vec<_>>());
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(payload) = RawPayload::parse(&bytes) {
                let total: usize = payload.segments().map(|(_, pixels)| pixels.len()).sum();
                prop_assert!(total <= bytes.len());
            }
        }
    }
}
