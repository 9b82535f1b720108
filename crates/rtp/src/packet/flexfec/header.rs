//! The header of a repair packet: the packets it names, and the exclusive or of their RTP headers (RFC 8627 §4.2.2).

use crate::packet::rtp::HEADER_LEN;
use crate::packet::wire::{ParseError, Reader, Writer};

/// The most consecutive packets that one repair packet can name: the longest mask has as many bits.
pub const MAX_SPAN: usize = 110;

/// The bytes that a repair packet adds to the longest packet that it repairs: the FEC header with its longest mask,
/// and the source in its CSRC list, less the fixed RTP header, of which it carries no copy.
pub const OVERHEAD: usize = Header::MAX_LEN + CSRC_LEN;
const CSRC_LEN: usize = 4;

/// The packets that a repair packet names, and the exclusive or of their fixed headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The exclusive or of the fixed RTP headers.
    pub(super) recovery: Recovery,
    /// The lowest sequence number.
    pub(super) base: u16,
    /// Bit *i* names the packet `base + i`; 110 bits are in use.
    pub(super) mask: u128,
}

/// The parts of a packet's fixed header that differ from packet to packet (§6.2), or their exclusive or.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovery {
    /// The padding, extension and CSRC count in six bits; then the marker and the payload type.
    pub(super) flags: [u8; 2],
    /// The number of bytes after the fixed header.
    pub(super) len: u16,
    pub(super) timestamp: [u8; 4],
}

impl Recovery {
    /// Returns these parts of a packet, and the bytes after its fixed header. Returns `None` for bytes that are no
    /// packet, or too long for one.
    pub(super) fn of(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (header, rest) = packet.split_first_chunk::<HEADER_LEN>()?;
        let recovery = Self {
            flags: [header[0] & 0x3f, header[1]],
            len: u16::try_from(rest.len()).ok()?,
            timestamp: [header[4], header[5], header[6], header[7]],
        };
        Some((recovery, rest))
    }

    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.flags, &other.flags);
        self.len ^= other.len;
        add(&mut self.timestamp, &other.timestamp);
    }
}

impl Header {
    /// The length with a mask of 110 bits.
    pub(super) const MAX_LEN: usize = 10 + 14;

    /// Reads the header; the repair payload remains in the reader.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let first = reader.u8("FEC flags")?;
        if first & 0xc0 != 0 {
            return Err(ParseError::Invalid {
                field: "FEC form",
                offset: 0,
            });
        }
        let recovery = Recovery {
            flags: [first, reader.u8("FEC payload type")?],
            len: reader.u16("FEC length")?,
            timestamp: reader.u32("FEC timestamp")?.to_be_bytes(),
        };
        let base = reader.u16("FEC base")?;
        // The first bit of each part but the last says whether another part follows. The bits of the lowest numbers
        // come next.
        let part = reader.u16("FEC mask")?;
        let mut mask = spread(u128::from(part), 15);
        if part >> 15 != 0 {
            let part = reader.u32("FEC mask")?;
            mask |= spread(u128::from(part), 31) << 15;
            if part >> 31 != 0 {
                mask |= spread(u128::from(reader.u64("FEC mask")?), 64) << 46;
            }
        }
        Ok(Self {
            recovery,
            base,
            mask,
        })
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) -> Option<()> {
        writer.bytes(&self.recovery.flags)?;
        writer.u16(self.recovery.len)?;
        writer.bytes(&self.recovery.timestamp)?;
        writer.u16(self.base)?;
        let (is_long, is_longest) = (self.mask >> 15 != 0, self.mask >> 46 != 0);
        writer.u16(gather(self.mask, 15) as u16 | u16::from(is_long) << 15)?;
        if is_long {
            writer.u32(gather(self.mask >> 15, 31) as u32 | u32::from(is_longest) << 31)?;
        }
        if is_longest {
            writer.u64(gather(self.mask >> 46, 64) as u64)?;
        }
        Some(())
    }
}

/// Returns the lower `bits` of a field in reverse, so that bit 0 has the lowest number.
const fn spread(field: u128, bits: u32) -> u128 {
    (field << (128 - bits)).reverse_bits()
}

/// Undoes [`spread`].
const fn gather(mask: u128, bits: u32) -> u128 {
    mask.reverse_bits() >> (128 - bits)
}

/// Adds by exclusive or, up to the end of the shorter slice.
pub(super) fn add(sum: &mut [u8], other: &[u8]) {
    for (sum, byte) in sum.iter_mut().zip(other) {
        *sum ^= byte;
    }
}

/// Adds by exclusive or, and extends the sum to the length of `other`.
pub(super) fn add_growing(sum: &mut Vec<u8>, other: &[u8]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    add(sum, other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_header_is_the_figure_of_the_standard() {
        let mut header = Header {
            recovery: Recovery {
                flags: [0x10, 0x9a],
                len: 0x0102,
                timestamp: [3, 4, 5, 6],
            },
            base: 0x0708,
            // The header names packets 0 and 14.
            mask: 1 | 1 << 14,
        };
        let fixed = [0x10, 0x9a, 1, 2, 3, 4, 5, 6, 7, 8];
        let emit = |header: &Header| {
            let mut buf = [0xff; Header::MAX_LEN];
            let mut writer = Writer::new(&mut buf);
            header.emit(&mut writer).unwrap();
            let len = writer.len();
            buf[..len].to_vec()
        };
        assert_eq!(emit(&header), [&fixed[..], &[0x40, 0x01]].concat());
        // Packets 15 and 45 need a second part, which the first announces.
        header.mask |= 1 << 15 | 1 << 45;
        assert_eq!(
            emit(&header),
            [&fixed[..], &[0xc0, 0x01, 0x40, 0, 0, 0x01]].concat()
        );
        // Packets 46 and 109 need all three parts.
        header.mask |= 1 << 46 | 1 << 109;
        assert_eq!(
            emit(&header),
            [
                &fixed[..],
                &[0xc0, 0x01, 0xc0, 0, 0, 0x01, 0x80, 0, 0, 0, 0, 0, 0, 0x01]
            ]
            .concat()
        );
    }

    #[test]
    fn other_forms_are_told() {
        for first in [0x40, 0x80, 0xc0] {
            let error = Header::parse(&mut Reader::new(&[first; 12]));
            let field = "FEC form";
            assert_eq!(error, Err(ParseError::Invalid { field, offset: 0 }));
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            (flags, payload_type, len, timestamp) in (0..64u8, any::<u8>(), any::<u16>(), any::<[u8; 4]>()),
            base: u16,
            mask in any::<u128>(),
            bits in 0..=MAX_SPAN,
        ) {
            let recovery = Recovery { flags: [flags, payload_type], len, timestamp };
            let header = Header { recovery, base, mask: mask & ((1 << bits) - 1) };
            let mut buf = [0; Header::MAX_LEN];
            let mut writer = Writer::new(&mut buf);
            header.emit(&mut writer).unwrap();
            let len = writer.len();
            prop_assert_eq!(Header::parse(&mut Reader::new(&buf[..len])), Ok(header));
            for cut in 0..len {
                prop_assert!(Header::parse(&mut Reader::new(&buf[..cut])).is_err());
            }
        }
    }
}
