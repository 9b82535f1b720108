//! Packets as a pcapng file, which Wireshark opens (draft-ietf-opsawg-pcapng).
//!
//! One section, one Interface Description Block for each name, and an Enhanced Packet Block a packet, with
//! times in nanoseconds since the Unix epoch.

use crate::records::Records;
use std::io::{self, Write};
use tfrc::time::Duration;

/// What the packets of a file begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet's header.
    Ethernet,
    /// An IP header.
    RawIp,
}

/// A packet for the file.
#[derive(Clone, Copy, Debug)]
pub struct CapturedPacket<'a> {
    /// On which interface it was seen.
    pub interface: u32,
    /// The wall clock, since the Unix epoch.
    pub at: Duration,
    /// Its first bytes, or all of it.
    pub bytes: &'a [u8],
    /// How long it was.
    pub length: usize,
    /// What Wireshark shows beside it.
    pub comment: Option<&'a str>,
}

/// A file that is being written, packet by whole packet ([`Records`]).
#[derive(Debug)]
pub struct Pcapng<W> {
    out: Records<W>,
    interfaces: u32,
}

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_INTERFACE_NAME: u16 = 2;
/// With the value 9: times are in nanoseconds.
const OPTION_RESOLUTION: u16 = 9;

impl<W: Write> Pcapng<W> {
    /// A file with these interfaces, numbered from zero.
    pub fn new(out: W, link_type: LinkType, interfaces: &[&str]) -> io::Result<Self> {
        let mut out = Records::new(out);
        let mut body = Vec::new();
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend([1, 0, 0, 0]);
        // The length of the section is not known.
        body.extend(u64::MAX.to_le_bytes());
        out.push(Duration::ZERO, &block(SECTION_HEADER, &body))?;
        for name in interfaces {
            let number: u16 = match link_type {
                LinkType::Ethernet => 1,
                LinkType::RawIp => 101,
            };
            let mut body = Vec::new();
            body.extend(number.to_le_bytes());
            body.extend([0; 2]);
            // No limit of the length of packets.
            body.extend(0_u32.to_le_bytes());
            put_option(&mut body, OPTION_INTERFACE_NAME, name.as_bytes());
            put_option(&mut body, OPTION_RESOLUTION, &[9]);
            put_option(&mut body, OPTION_END, &[]);
            out.push(Duration::ZERO, &block(INTERFACE_DESCRIPTION, &body))?;
        }
        out.flush()?;
        Ok(Self {
            out,
            interfaces: u32::try_from(interfaces.len()).unwrap_or(u32::MAX),
        })
    }

    /// Adds a packet.
    pub fn packet(&mut self, packet: &CapturedPacket<'_>) -> io::Result<()> {
        debug_assert!(packet.interface < self.interfaces);
        let nanos = u64::try_from(packet.at.as_nanos()).unwrap_or(u64::MAX);
        let kept = packet.bytes.len();
        let mut body = Vec::with_capacity(64 + kept);
        body.extend(packet.interface.to_le_bytes());
        body.extend(((nanos >> 32) as u32).to_le_bytes());
        body.extend((nanos as u32).to_le_bytes());
        for length in [kept, packet.length] {
            body.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        }
        body.extend(packet.bytes);
        pad(&mut body);
        if let Some(comment) = packet.comment {
            put_option(&mut body, OPTION_COMMENT, comment.as_bytes());
            put_option(&mut body, OPTION_END, &[]);
        }
        self.out.push(packet.at, &block(ENHANCED_PACKET, &body))
    }

    /// Writes what waits: to be called where no packet comes for [`Records::MAX_WAIT`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A body whose length is a multiple of four, between its type and its length, twice.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 12).unwrap_or(u32::MAX);
    let mut block = Vec::with_capacity(body.len() + 12);
    block.extend(kind.to_le_bytes());
    block.extend(length.to_le_bytes());
    block.extend(body);
    block.extend(length.to_le_bytes());
    block
}

fn put_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    // What does not fit is cut off.
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    body.extend(code.to_le_bytes());
    body.extend(length.to_le_bytes());
    body.extend(&value[..length.into()]);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type and body of each block.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let length = word(&file[4..]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&file[length - 4..]) as usize, length);
            blocks.push((word(file), file[8..length - 4].to_vec()));
            file = &file[length..];
        }
        blocks
    }

    #[test]
    fn a_file_is_a_section_its_interfaces_and_its_packets() {
        let mut file = Vec::new();
        let mut pcapng = Pcapng::new(&mut file, LinkType::Ethernet, &["in", "out"]).unwrap();
        let at = Duration::new(0x10, 0x20);
        let packet = CapturedPacket {
            interface: 1,
            at,
            bytes: b"hello",
            length: 9,
            comment: Some("hi"),
        };
        pcapng.packet(&packet).unwrap();
        pcapng.flush().unwrap();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                SECTION_HEADER,
                INTERFACE_DESCRIPTION,
                INTERFACE_DESCRIPTION,
                ENHANCED_PACKET
            ]
        );
        // Ethernet; the name "out", padded; nanoseconds, padded; the end.
        let options = b"\x02\0\x03\0out\0\x09\0\x01\0\x09\0\0\0\0\0\0\0";
        assert_eq!(blocks[2].1, [b"\x01\0\0\0\0\0\0\0", &options[..]].concat());
        let nanos = 0x10_u64 * 1_000_000_000 + 0x20;
        let mut packet = 1_u32.to_le_bytes().to_vec();
        packet.extend(((nanos >> 32) as u32).to_le_bytes());
        packet.extend((nanos as u32).to_le_bytes());
        packet.extend([5, 0, 0, 0, 9, 0, 0, 0]);
        packet.extend(b"hello\0\0\0\x01\0\x02\0hi\0\0\0\0\0\0");
        assert_eq!(blocks[3].1, packet);
    }
}
