//! The headers of RTP's JPEG payload (RFC 2435 §3.1).

use crate::packet::wire::{ParseError, Reader, Writer};

/// The largest width and height in pixels that fit into the main header (§3.1.5).
pub const MAX_DIMENSION: u16 = 255 * 8;
/// The restart count that requires the receiver to reassemble the whole frame first (§4.4).
pub const WHOLE_FRAME: u16 = 0x3fff;
/// The bytes of two 8-bit quantisation tables.
const TABLES_LEN: usize = 128;

/// The chroma sampling, which is the type field without its restart bit (§4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JpegType {
    /// Types 0 and 64: 4:2:2, an MCU is 16x8.
    Yuv422,
    /// Types 1 and 65: 4:2:0, an MCU is 16x16.
    Yuv420,
}

/// The restart marker header (§3.1.7), which types 64 and 65 have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The MCUs in a restart interval; never 0.
    pub interval: u16,
    /// F: the packet begins at the start of an interval.
    pub first: bool,
    /// L: the packet ends at the end of an interval.
    pub last: bool,
    /// The index of the packet's first interval in the frame, 14 bits, or [`WHOLE_FRAME`].
    pub count: u16,
}

/// The quantisation tables of a frame's first packet (§3.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables<'a> {
    /// The header is present but empty: the tables of an earlier frame apply.
    Unchanged,
    /// Luma, then chroma: 64 bytes each, in zigzag order.
    InBand(&'a [u8; TABLES_LEN]),
}

/// All headers of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JpegHeader<'a> {
    /// The interlacing of the picture; 0 if it is progressive (§4.1).
    pub type_specific: u8,
    /// The offset of the packet's data in the frame's scan, in bytes, 24 bits.
    pub offset: u32,
    /// Chroma sampling.
    pub kind: JpegType,
    /// A value of 1 to 99 computes the tables; 128 to 255 sends them, and 255 in every frame.
    pub q: u8,
    /// The width in pixels, a multiple of 8 up to [`MAX_DIMENSION`].
    pub width: u16,
    /// The height in pixels, within the same bounds.
    pub height: u16,
    /// The position of the packet among the restart intervals.
    pub restart: Option<Restart>,
    /// The tables: present exactly if `q` is 128 or more and `offset` is 0.
    pub tables: Option<Tables<'a>>,
}

impl<'a> JpegHeader<'a> {
    /// The greatest length of the headers: main, restart and tables.
    pub const MAX_LEN: usize = 8 + 4 + 4 + TABLES_LEN;

    /// Splits a payload into its headers and its entropy-coded data, which may be empty.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(payload: &'a [u8]) -> Result<(Self, &'a [u8]), ParseError> {
        let mut reader = Reader::new(payload);
        let type_specific = reader.u8("type-specific")?;
        let offset = reader.u24("fragment offset")?;
        let (kind, restarts) = match reader.u8("type")? {
            0 => (JpegType::Yuv422, false),
            1 => (JpegType::Yuv420, false),
            64 => (JpegType::Yuv422, true),
            65 => (JpegType::Yuv420, true),
            _ => return Err(invalid("type", 4)),
        };
        let q = reader.u8("Q")?;
        if !matches!(q, 1..=99 | 128..=255) {
            return Err(invalid("Q", 5));
        }
        let width = dimension(&mut reader, "width")?;
        let height = dimension(&mut reader, "height")?;
        let restart = restarts.then(|| parse_restart(&mut reader)).transpose()?;
        let tables = (q >= 128 && offset == 0)
            .then(|| parse_tables(&mut reader))
            .transpose()?;
        let header = Self {
            type_specific,
            offset,
            kind,
            q,
            width,
            height,
            restart,
            tables,
        };
        Ok((header, reader.rest()))
    }

    /// Returns the number of bytes that [`emit`](Self::emit) writes.
    pub const fn len(&self) -> usize {
        let restart = if self.restart.is_some() { 4 } else { 0 };
        let tables = match self.tables {
            None => 0,
            Some(Tables::Unchanged) => 4,
            Some(Tables::InBand(_)) => 4 + TABLES_LEN,
        };
        8 + restart + tables
    }

    /// Returns false: headers are never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the headers and returns their length, or `None` if `buf` is too short or a field is out of its range.
    pub fn emit(&self, buf: &mut [u8]) -> Option<usize> {
        let in_range = self.offset >> 24 == 0
            && matches!(self.q, 1..=99 | 128..=255)
            && self.tables.is_some() == (self.q >= 128 && self.offset == 0)
            && [self.width, self.height]
                .iter()
                .all(|&n| n > 0 && n <= MAX_DIMENSION && n.is_multiple_of(8))
            && self
                .restart
                .is_none_or(|r| r.interval > 0 && r.count <= WHOLE_FRAME);
        if !in_range {
            return None;
        }
        let mut writer = Writer::new(buf);
        writer.u8(self.type_specific)?;
        writer.u24(self.offset)?;
        let kind = match self.kind {
            JpegType::Yuv422 => 0,
            JpegType::Yuv420 => 1,
        };
        writer.u8(if self.restart.is_some() {
            kind + 64
        } else {
            kind
        })?;
        writer.u8(self.q)?;
        writer.u8((self.width / 8) as u8)?;
        writer.u8((self.height / 8) as u8)?;
        if let Some(restart) = self.restart {
            writer.u16(restart.interval)?;
            writer.u16(
                u16::from(restart.first) << 15 | u16::from(restart.last) << 14 | restart.count,
            )?;
        }
        match self.tables {
            None => {}
            Some(Tables::Unchanged) => writer.u32(0)?,
            Some(Tables::InBand(tables)) => {
                writer.u32(TABLES_LEN as u32)?;
                writer.bytes(tables)?;
            }
        }
        Some(writer.len())
    }
}

fn dimension(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, ParseError> {
    let offset = reader.offset();
    match reader.u8(field)? {
        0 => Err(invalid(field, offset)),
        blocks => Ok(u16::from(blocks) * 8),
    }
}

fn parse_restart(reader: &mut Reader<'_>) -> Result<Restart, ParseError> {
    let offset = reader.offset();
    let interval = reader.u16("restart interval")?;
    if interval == 0 {
        return Err(invalid("restart interval", offset));
    }
    let word = reader.u16("restart count")?;
    Ok(Restart {
        interval,
        first: word & 0x8000 != 0,
        last: word & 0x4000 != 0,
        count: word & WHOLE_FRAME,
    })
}

fn parse_tables<'a>(reader: &mut Reader<'a>) -> Result<Tables<'a>, ParseError> {
    let offset = reader.offset();
    reader.u8("MBZ")?;
    // Each bit announces a table of 16-bit values, which baseline JPEG does not have.
    if reader.u8("precision")? != 0 {
        return Err(invalid("precision", offset + 1));
    }
    match usize::from(reader.u16("tables length")?) {
        0 => Ok(Tables::Unchanged),
        TABLES_LEN => {
            let tables = reader.take(TABLES_LEN, "quantisation tables")?;
            let tables = tables
                .try_into()
                .map_err(|_| invalid("quantisation tables", offset + 4))?;
            Ok(Tables::InBand(tables))
        }
        _ => Err(invalid("tables length", offset + 2)),
    }
}

const fn invalid(field: &'static str, offset: usize) -> ParseError {
    ParseError::Invalid { field, offset }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLES: [u8; TABLES_LEN] = [7; TABLES_LEN];

    fn header() -> impl Strategy<Value = JpegHeader<'static>> {
        let restart = (1..=u16::MAX, any::<bool>(), any::<bool>(), 0..=WHOLE_FRAME).prop_map(
            |(interval, first, last, count)| Restart {
                interval,
                first,
                last,
                count,
            },
        );
        (
            any::<u8>(),
            prop_oneof![Just(0), 0..1u32 << 24],
            any::<bool>(),
            prop_oneof![1..=99u8, 128..=255u8],
            (1..=255u16, 1..=255u16),
            proptest::option::of(restart),
            any::<bool>(),
        )
            .prop_map(|(type_specific, offset, wide, q, (w, h), restart, sent)| {
                let tables = if sent {
                    Tables::InBand(&TABLES)
                } else {
                    Tables::Unchanged
                };
                JpegHeader {
                    type_specific,
                    offset,
                    kind: if wide {
                        JpegType::Yuv422
                    } else {
                        JpegType::Yuv420
                    },
                    q,
                    width: w * 8,
                    height: h * 8,
                    restart,
                    tables: (q >= 128 && offset == 0).then_some(tables),
                }
            })
    }

    #[test]
    fn the_first_packet_of_a_frame_reads_as_rfc_2435_draws_it() {
        let mut bytes = vec![
            0, 0, 0, 0, 65, 255, 80, 60, // main: 4:2:0 with restarts, Q 255, 640x480
            0, 4, 0xc0, 0, // restart: 4 MCUs, F and L, interval 0
            0, 0, 0, 128, // tables: 8 bit, 128 bytes
        ];
        bytes.extend(TABLES);
        bytes.extend([0xaa, 0xbb]);
        let (header, data) = JpegHeader::parse(&bytes).unwrap();
        assert_eq!((header.width, header.height), (640, 480));
        assert_eq!(header.kind, JpegType::Yuv420);
        let restart = header.restart.unwrap();
        assert_eq!((restart.interval, restart.count), (4, 0));
        assert!(restart.first && restart.last);
        assert_eq!(header.tables, Some(Tables::InBand(&TABLES)));
        assert_eq!(data, [0xaa, 0xbb]);
        assert_eq!(header.len(), JpegHeader::MAX_LEN);
    }

    #[test]
    fn each_forbidden_value_is_named_with_its_offset() {
        let good = [0, 0, 0, 0, 65, 255, 80, 60, 0, 4, 0xc0, 0, 0, 0, 0, 0];
        assert!(JpegHeader::parse(&good).is_ok());
        for (offset, value, field) in [
            (4, 2, "type"),
            (5, 0, "Q"),
            (5, 100, "Q"),
            (6, 0, "width"),
            (7, 0, "height"),
            (9, 0, "restart interval"),
            (13, 1, "precision"),
            (15, 64, "tables length"),
        ] {
            let mut bad = good;
            bad[offset] = value;
            let start = offset & !usize::from(matches!(offset, 9 | 15));
            let expected = invalid(field, start);
            assert_eq!(JpegHeader::parse(&bad), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(header in header(), data: Vec<u8>) {
            let mut buf = [0; JpegHeader::MAX_LEN];
            let len = header.emit(&mut buf).unwrap();
            prop_assert_eq!(len, header.len());
            let packet = [&buf[..len], &data].concat();
            prop_assert_eq!(JpegHeader::parse(&packet), Ok((header, &data[..])));
            for cut in 0..len {
                let Err(ParseError::Truncated { offset, .. }) = JpegHeader::parse(&packet[..cut]) else {
                    panic!("{cut} of {len} bytes parsed");
                };
                prop_assert!(offset <= cut);
                prop_assert_eq!(header.emit(&mut vec![0; cut]), None);
            }
        }

        #[test]
        fn emitting_undoes_parsing(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
            if let Ok((header, data)) = JpegHeader::parse(&bytes) {
                let mut buf = [0; JpegHeader::MAX_LEN];
                let len = header.emit(&mut buf).unwrap();
                prop_assert_eq!(len + data.len(), bytes.len());
                // MBZ is the only byte that a parser must ignore.
                let parsed_input = [&buf[..len], data].concat();
                prop_assert_eq!(JpegHeader::parse(&parsed_input), Ok((header, data)));
            }
        }
    }
}
