//! The sender report (RFC 3550 §6.4.1).

use super::header::{SENDER_REPORT, emit_header};
use super::receiver_report::{ReportBlock, ReportBlocks};
use crate::ntp::NtpTime;
use crate::packet::wire::{ParseError, Reader, Writer};

/// A report from a source that sends media: its packet counts, and the wall-clock time of its media clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderReport {
    /// The source that reports.
    pub ssrc: u32,
    /// The wall-clock time of the report.
    pub ntp: NtpTime,
    /// The same instant, in ticks of the media clock modulo 2^32.
    pub timestamp: u32,
    /// The RTP packets sent, modulo 2^32.
    pub packets: u32,
    /// The bytes of payload sent, without headers and padding, modulo 2^32.
    pub bytes: u32,
}

impl SenderReport {
    /// Reads a packet's body; `count` is the number of blocks that its header claims.
    ///
    /// # Errors
    ///
    /// Returns the first field that is truncated or invalid.
    pub fn parse(count: u8, body: &[u8]) -> Result<(Self, ReportBlocks<'_>), ParseError> {
        let mut reader = Reader::new(body);
        let report = Self {
            ssrc: reader.u32("sender SSRC")?,
            ntp: NtpTime::from_bits(reader.u64("NTP timestamp")?),
            timestamp: reader.u32("RTP timestamp")?,
            packets: reader.u32("packet count")?,
            bytes: reader.u32("octet count")?,
        };
        Ok((report, ReportBlocks::parse(count, &mut reader)?))
    }

    /// Writes the packet and returns its length; `None` if `buf` is too short or there are more than 31 blocks.
    pub fn emit(&self, blocks: &[ReportBlock], buf: &mut [u8]) -> Option<usize> {
        let mut writer = Writer::new(buf);
        let count = u8::try_from(blocks.len()).ok()?;
        let body_len = 24 + blocks.len() * ReportBlock::LEN;
        emit_header(&mut writer, count, SENDER_REPORT, body_len)?;
        writer.u32(self.ssrc)?;
        writer.u64(self.ntp.to_bits())?;
        writer.u32(self.timestamp)?;
        writer.u32(self.packets)?;
        writer.u32(self.bytes)?;
        blocks
            .iter()
            .try_for_each(|block| block.emit(&mut writer))?;
        Some(writer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::receiver_report::tests::{BLOCK, BLOCK_BYTES, block};
    use super::super::{Packet, Packets};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_those_of_rfc_3550() {
        let report = SenderReport {
            ssrc: 7,
            ntp: NtpTime::from_bits(0x0102_0304_0506_0708),
            timestamp: 0x1112_1314,
            packets: 21,
            bytes: 22,
        };
        let mut buf = [0; 64];
        let len = report.emit(&[BLOCK], &mut buf).unwrap();
        let head = [
            0x81, 200, 0, 12, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0, 0, 0,
            21, 0, 0, 0, 22,
        ];
        assert_eq!(buf[..len], [&head[..], &BLOCK_BYTES].concat());
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            words: [u32; 4], ntp: u64, blocks in proptest::collection::vec(block(), 0..=31)
        ) {
            let [ssrc, timestamp, packets, bytes] = words;
            let ntp = NtpTime::from_bits(ntp);
            let report = SenderReport { ssrc, ntp, timestamp, packets, bytes };
            let mut buf = [0; 1_000];
            let len = report.emit(&blocks, &mut buf).unwrap();
            let mut packets = Packets::parse(&buf[..len]).unwrap();
            let Some(Ok(Packet::SenderReport(read, read_blocks))) = packets.next() else {
                panic!("no sender report");
            };
            prop_assert_eq!(read, report);
            prop_assert_eq!(read_blocks.collect::<Vec<_>>(), blocks);
            for cut in 4..28 {
                prop_assert!(SenderReport::parse(0, &buf[4..cut]).is_err());
            }
        }
    }
}
