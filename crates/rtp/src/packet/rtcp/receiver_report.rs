//! The receiver report (RFC 3550 §6.4.2) and the reception report blocks that both reports carry.

use super::header::{RECEIVER_REPORT, emit_header};
use crate::packet::wire::{ParseError, Reader, Writer};

/// A report about the reception of one source since the last report (RFC 3550 §6.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportBlock {
    /// The source that the block concerns.
    pub ssrc: u32,
    /// The packets lost since the report before, as a fraction of 256.
    pub fraction_lost: u8,
    /// The packets lost since the start, clamped to 24 bits; negative where duplicates outnumber losses.
    pub cumulative_lost: i32,
    /// The highest sequence number received, with its cycles in the upper 16 bits.
    pub highest_sequence: u32,
    /// Interarrival jitter in ticks of the media clock.
    pub jitter: u32,
    /// The middle 32 bits of the last sender report's NTP time; 0 if there was none.
    pub last_sender_report: u32,
    /// The time since that report arrived, in units of 2^-16 s.
    pub delay_since: u32,
}

impl ReportBlock {
    /// The length of a block.
    pub const LEN: usize = 24;
    /// The bound of `cumulative_lost` in both directions (24 bits, two's complement).
    const MAX_LOST: i32 = (1 << 23) - 1;

    fn parse(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            ssrc: reader.u32("source")?,
            fraction_lost: reader.u8("fraction lost")?,
            // The two shifts extend the sign of the 24 bits.
            cumulative_lost: (reader.u24("cumulative lost")? << 8).cast_signed() >> 8,
            highest_sequence: reader.u32("highest sequence")?,
            jitter: reader.u32("jitter")?,
            last_sender_report: reader.u32("last SR")?,
            delay_since: reader.u32("delay since last SR")?,
        })
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) -> Option<()> {
        let lost = self
            .cumulative_lost
            .clamp(-Self::MAX_LOST - 1, Self::MAX_LOST);
        writer.u32(self.ssrc)?;
        writer.u8(self.fraction_lost)?;
        writer.u24(lost.cast_unsigned())?;
        writer.u32(self.highest_sequence)?;
        writer.u32(self.jitter)?;
        writer.u32(self.last_sender_report)?;
        writer.u32(self.delay_since)
    }
}

/// Iterates over the reception report blocks of a report.
#[derive(Clone, Debug)]
pub struct ReportBlocks<'a>(Reader<'a>);

impl<'a> ReportBlocks<'a> {
    pub(super) fn parse(count: u8, reader: &mut Reader<'a>) -> Result<Self, ParseError> {
        let len = usize::from(count) * ReportBlock::LEN;
        Ok(Self(Reader::new(reader.take(len, "report blocks")?)))
    }
}

impl Iterator for ReportBlocks<'_> {
    type Item = ReportBlock;

    fn next(&mut self) -> Option<ReportBlock> {
        ReportBlock::parse(&mut self.0).ok()
    }
}

/// A report from a source that has sent no media lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverReport {
    /// The source that reports.
    pub ssrc: u32,
}

impl ReceiverReport {
    /// Reads a packet's body; `count` is the number of blocks that its header claims.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(count: u8, body: &[u8]) -> Result<(Self, ReportBlocks<'_>), ParseError> {
        let mut reader = Reader::new(body);
        let ssrc = reader.u32("sender SSRC")?;
        Ok((Self { ssrc }, ReportBlocks::parse(count, &mut reader)?))
    }

    /// Writes the packet and returns its length; `None` if `buf` is too short or there are more than 31 blocks.
    pub fn emit(&self, blocks: &[ReportBlock], buf: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(buf);
        let count = u8::try_from(blocks.len()).ok()?;
        let body_len = 4 + blocks.len() * ReportBlock::LEN;
        emit_header(&mut writer, count, RECEIVER_REPORT, body_len)?;
        writer.u32(self.ssrc)?;
        blocks
            .iter()
            .try_for_each(|block| block.emit(&mut writer))?;
        Some(writer.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    /// The block has the layout of RFC 3550 §6.4.1, and another value in every field.
    pub(in crate::packet::rtcp) const BLOCK: ReportBlock = ReportBlock {
        ssrc: 0x0102_0304,
        fraction_lost: 5,
        cumulative_lost: -2,
        highest_sequence: 0x0001_0002,
        jitter: 9,
        last_sender_report: 0x1111_2222,
        delay_since: 0x0001_8000,
    };
    pub(in crate::packet::rtcp) const BLOCK_BYTES: [u8; 24] = [
        1, 2, 3, 4, 5, 0xff, 0xff, 0xfe, 0, 1, 0, 2, 0, 0, 0, 9, 0x11, 0x11, 0x22, 0x22, 0, 1,
        0x80, 0,
    ];

    pub(in crate::packet::rtcp) fn block() -> impl Strategy<Value = ReportBlock> {
        let lost = -(1 << 23)..1 << 23;
        (any::<[u32; 5]>(), any::<u8>(), lost).prop_map(|(words, fraction_lost, lost)| {
            ReportBlock {
                ssrc: words[0],
                fraction_lost,
                cumulative_lost: lost,
                highest_sequence: words[1],
                jitter: words[2],
                last_sender_report: words[3],
                delay_since: words[4],
            }
        })
    }

    #[test]
    fn the_bytes_are_those_of_rfc_3550() {
        let mut buf = [0; 64];
        let len = ReceiverReport { ssrc: 7 }.emit(&[BLOCK], &mut buf).unwrap();
        let expected = [&[0x81, 201, 0, 7, 0, 0, 0, 7][..], &BLOCK_BYTES].concat();
        assert_eq!(buf[..len], expected);
    }

    #[test]
    fn a_loss_beyond_24_bits_is_clamped() {
        let huge = ReportBlock {
            cumulative_lost: i32::MAX,
            ..BLOCK
        };
        let mut buf = [0; 64];
        let len = ReceiverReport { ssrc: 7 }.emit(&[huge], &mut buf).unwrap();
        assert_eq!(buf[12..16], [5, 0x7f, 0xff, 0xff]);
        assert_eq!(len, 32);
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            ssrc: u32, blocks in proptest::collection::vec(block(), 0..=31)
        ) {
            let report = ReceiverReport { ssrc };
            let mut buf = [0; 1_000];
            let len = report.emit(&blocks, &mut buf).unwrap();
            let mut packets = Packets::parse(&buf[..len]).unwrap();
            let Some(Ok(Packet::ReceiverReport(read, read_blocks))) = packets.next() else {
                panic!("no receiver report");
            };
            prop_assert_eq!(read, report);
            prop_assert_eq!(read_blocks.collect::<Vec<_>>(), blocks);
            prop_assert!(packets.next().is_none());
        }
    }
}
