//! The pcapng format (draft-ietf-opsawg-pcapng): one section, one interface of bare IP packets.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use tfrc::Ecn;
use tfrc::time::Duration;

/// LINKTYPE_RAW: packets begin with an IPv4 or IPv6 header.
const LINKTYPE_RAW: u16 = 101;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const OPT_COMMENT: u16 = 1;
const IF_TSRESOL: u16 = 9;
/// Time stamps in nanoseconds.
const NANOSECONDS: u8 = 9;

/// A datagram for the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    /// The wall clock, since the Unix epoch.
    pub(crate) at: Duration,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) ecn: Ecn,
    /// The first bytes of the payload, or all of it.
    pub(crate) payload: &'a [u8],
    /// How long the payload was.
    pub(crate) len: usize,
    /// What Wireshark shows beside the packet.
    pub(crate) comment: Option<&'a str>,
}

/// Writes the head of the file.
pub(crate) fn write_head(out: &mut impl Write) -> io::Result<()> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
    // Version 1.0, and a section of unstated length.
    section.extend([1, 0, 0, 0]);
    section.extend(u64::MAX.to_le_bytes());
    write_block(out, SECTION_HEADER, &section)?;
    let mut interface = Vec::new();
    interface.extend(LINKTYPE_RAW.to_le_bytes());
    interface.extend([0; 2]);
    // No limit on what is kept of a packet is stated: each says its own length.
    interface.extend([0; 4]);
    push_option(&mut interface, IF_TSRESOL, &[NANOSECONDS]);
    end_options(&mut interface);
    write_block(out, INTERFACE_DESCRIPTION, &interface)
}

/// Writes a datagram with the IP and UDP headers that it must have had.
pub(crate) fn write_datagram(out: &mut impl Write, datagram: &Datagram<'_>) -> io::Result<()> {
    let mut packet = headers(datagram);
    let whole = packet.len() + datagram.len;
    packet.extend_from_slice(datagram.payload);
    let at = u64::try_from(datagram.at.as_nanos()).unwrap_or(u64::MAX);
    let mut block = Vec::with_capacity(64 + packet.len());
    block.extend([0; 4]);
    block.extend(((at >> 32) as u32).to_le_bytes());
    block.extend((at as u32).to_le_bytes());
    block.extend((packet.len() as u32).to_le_bytes());
    block.extend((whole as u32).to_le_bytes());
    block.extend_from_slice(&packet);
    pad(&mut block);
    if let Some(comment) = datagram.comment {
        push_option(&mut block, OPT_COMMENT, comment.as_bytes());
        end_options(&mut block);
    }
    write_block(out, ENHANCED_PACKET, &block)
}

fn write_block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len)?;
    out.write_all(body)?;
    out.write_all(&len)
}

fn push_option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    pad(block);
}

fn end_options(block: &mut Vec<u8>) {
    block.extend([0; 4]);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

/// The headers of IP and UDP. Sums are left out where they may be: a capture before the interface has
/// none either, and UDP's covers bytes that are not kept.
fn headers(datagram: &Datagram<'_>) -> Vec<u8> {
    let (source, destination) = (datagram.source, datagram.destination);
    let udp_len = (datagram.len + 8).min(usize::from(u16::MAX)) as u16;
    let ecn = match datagram.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let mut headers = Vec::with_capacity(48);
    match (source.ip().to_canonical(), destination.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            headers.extend([0x45, ecn]);
            headers.extend(udp_len.saturating_add(20).to_be_bytes());
            headers.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
            headers.extend(from.octets());
            headers.extend(to.octets());
            let sum = internet_checksum(&headers);
            headers[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (from, to) => {
            headers.extend((6 << 28 | u32::from(ecn) << 20).to_be_bytes());
            headers.extend(udp_len.to_be_bytes());
            headers.extend([17, 64]);
            headers.extend(as_v6(from));
            headers.extend(as_v6(to));
        }
    }
    headers.extend(source.port().to_be_bytes());
    headers.extend(destination.port().to_be_bytes());
    headers.extend(udp_len.to_be_bytes());
    headers.extend([0, 0]);
    headers
}

fn as_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// RFC 1071, over an even number of bytes.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram<'a>(comment: Option<&'a str>, payload: &'a [u8]) -> Datagram<'a> {
        Datagram {
            at: Duration::from_nanos(0x0001_0000_0002),
            source: "192.0.2.1:5004".parse().unwrap(),
            destination: "192.0.2.2:5006".parse().unwrap(),
            ecn: Ecn::Ect0,
            payload,
            len: 1_400,
            comment,
        }
    }

    /// The blocks of a file: kind and body.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |at: &[u8]| u32::from_le_bytes(at[..4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let len = word(&file[4..]) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(&file[len - 4..]) as usize, len);
            blocks.push((word(file), file[8..len - 4].to_vec()));
            file = &file[len..];
        }
        blocks
    }

    #[test]
    fn a_file_is_a_section_an_interface_and_its_packets() {
        let mut file = Vec::new();
        write_head(&mut file).unwrap();
        write_datagram(&mut file, &datagram(None, b"abc")).unwrap();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET]
        );
        let packet = &blocks[2].1;
        assert_eq!(packet[4..12], [1, 0, 0, 0, 2, 0, 0, 0]);
        // Kept: 28 bytes of headers and 3 of payload; on the wire there were 1,428.
        assert_eq!(packet[12..20], [31, 0, 0, 0, 0x94, 5, 0, 0]);
        assert_eq!(&packet[20 + 28..20 + 31], b"abc");
        assert_eq!(packet.len(), 20 + 32);
    }

    #[test]
    fn the_ip_header_carries_the_mark_and_a_right_sum() {
        let headers = headers(&datagram(None, &[]));
        assert_eq!(headers[1], 2);
        assert_eq!(internet_checksum(&headers[..20]), 0);
    }

    #[test]
    fn a_comment_follows_the_packet() {
        let mut file = Vec::new();
        write_datagram(&mut file, &datagram(Some("hello"), b"abc")).unwrap();
        let body = blocks(&file).remove(0).1;
        let options = &body[20 + 32..];
        assert_eq!(
            options,
            [b"\x01\0\x05\0hello\0\0\0".as_slice(), &[0; 4]].concat()
        );
    }

    #[test]
    fn families_that_differ_are_written_as_ipv6() {
        let mixed = Datagram {
            destination: "[2001:db8::1]:5006".parse().unwrap(),
            ..datagram(None, &[])
        };
        let headers = headers(&mixed);
        assert_eq!((headers[0] >> 4, headers.len()), (6, 48));
    }
}
