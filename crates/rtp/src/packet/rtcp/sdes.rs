//! Source descriptions (RFC 3550 §6.5), which name the participant behind a synchronisation source.

use super::header::{SOURCE_DESCRIPTION, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// The item that every compound carries: the canonical name (§6.5.1).
pub const CNAME: u8 = 1;

/// A checked list of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sdes<'a> {
    count: u8,
    body: &'a [u8],
}

/// The description of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The source.
    pub ssrc: u32,
    items: &'a [u8],
}

/// One item of a chunk: its type and its text, which need not be valid UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// [`CNAME`] or another type of §6.5.
    pub kind: u8,
    /// The text, of at most 255 bytes.
    pub text: &'a [u8],
}

impl<'a> Sdes<'a> {
    /// Reads a packet's body; `count` is the number of chunks that its header claims.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(count: u8, body: &'a [u8]) -> Result<Self, ParseError> {
        let mut reader = Reader::new(body);
        for _ in 0..count {
            read_chunk(&mut reader)?;
        }
        Ok(Self { count, body })
    }

    /// Returns the chunks.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let mut reader = Reader::new(self.body);
        (0..self.count).map_while(move |_| read_chunk(&mut reader).ok())
    }
}

impl<'a> Chunk<'a> {
    /// Returns the items without the terminating zero.
    pub fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut reader = Reader::new(self.items);
        std::iter::from_fn(move || read_item(&mut reader).ok().flatten())
    }
}

/// Reads a chunk with its terminator and padding.
fn read_chunk<'a>(reader: &mut Reader<'a>) -> Result<Chunk<'a>, ParseError> {
    let ssrc = reader.u32("SDES source")?;
    let start = reader.offset();
    let items = reader.rest();
    while read_item(reader)?.is_some() {}
    let len = reader.offset() - start;
    // Chunks begin at word boundaries; zeros follow the terminator up to there.
    let padding = len.next_multiple_of(4) - len;
    reader.take(padding, "SDES padding")?;
    Ok(Chunk {
        ssrc,
        items: &items[..len],
    })
}

/// Reads an item, or `None` at the terminating zero.
fn read_item<'a>(reader: &mut Reader<'a>) -> Result<Option<Item<'a>>, ParseError> {
    let kind = reader.u8("SDES item type")?;
    if kind == 0 {
        return Ok(None);
    }
    let len = reader.u8("SDES item length")?;
    let text = reader.take(len.into(), "SDES item text")?;
    Ok(Some(Item { kind, text }))
}

/// Returns the number of bytes that [`emit_cname`] writes.
pub const fn cname_len(cname: &str) -> usize {
    // The length covers header, source, type, length and text, and at least one terminating zero.
    4 + (4 + 2 + cname.len() + 1).next_multiple_of(4)
}

/// Writes a packet with one chunk, the canonical name of `ssrc`, and returns its length. Returns `None` if `buf` is
/// too short or the name longer than 255 bytes.
pub fn emit_cname(ssrc: u32, cname: &str, buf: &mut [u8]) -> Option<usize> {
    let mut writer = Writer::new(buf);
    let body_len = cname_len(cname) - 4;
    emit_header(&mut writer, 1, SOURCE_DESCRIPTION, body_len)?;
    writer.u32(ssrc)?;
    writer.u8(CNAME)?;
    writer.u8(u8::try_from(cname.len()).ok()?)?;
    writer.bytes(cname.as_bytes())?;
    writer.u8(0)?;
    writer.pad_to_word()?;
    Some(writer.len())
}

#[cfg(test)]
mod tests {
    use super::super::{Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_terminated_and_padded_to_a_word() {
        let mut buf = [0xff; 32];
        let len = emit_cname(7, "a@b", &mut buf).unwrap();
        assert_eq!(
            buf[..len],
            [0x81, 202, 0, 3, 0, 0, 0, 7, 1, 3, b'a', b'@', b'b', 0, 0, 0]
        );
        // A name that fills its word still needs its terminator: a whole word of zeros.
        let len = emit_cname(7, "ab", &mut buf).unwrap();
        assert_eq!(buf[8..len], [1, 2, b'a', b'b', 0, 0, 0, 0]);
        assert_eq!(emit_cname(7, &"x".repeat(256), &mut [0; 512]), None);
    }

    #[test]
    fn two_chunks_are_read_item_by_item() {
        let body = [
            0, 0, 0, 1, 1, 1, b'a', 2, 2, b'b', b'c', 0, // CNAME, NAME
            0, 0, 0, 2, 0, 0, 0, 0, // no items
        ];
        let sdes = Sdes::parse(2, &body).unwrap();
        let chunks: Vec<_> = sdes
            .chunks()
            .map(|c| {
                (
                    c.ssrc,
                    c.items().map(|i| (i.kind, i.text)).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(chunks[0], (1, vec![(1, &b"a"[..]), (2, &b"bc"[..])]));
        assert_eq!(chunks[1], (2, vec![]));
        for cut in 0..body.len() {
            assert!(Sdes::parse(2, &body[..cut]).is_err());
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(ssrc: u32, cname in "[a-z@.]{0,255}") {
            let mut buf = [0; 512];
            let len = emit_cname(ssrc, &cname, &mut buf).unwrap();
            prop_assert_eq!(len, cname_len(&cname));
            let mut packets = Packets::parse(&buf[..len]).unwrap();
            let Some(Ok(Packet::Sdes(sdes))) = packets.next() else { panic!("no SDES") };
            let chunk = sdes.chunks().next().unwrap();
            prop_assert_eq!(chunk.ssrc, ssrc);
            let items: Vec<_> = chunk.items().collect();
            prop_assert_eq!(items, [Item { kind: CNAME, text: cname.as_bytes() }]);
        }
    }
}
