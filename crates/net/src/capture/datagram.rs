//! Datagrams as bare IP packets in a pcapng file.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};

use tfrc::Ecn;
use tfrc::time::Duration;

use crate::pcapng::{CapturedPacket, Pcapng};

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

/// Writes a datagram with the IP and UDP headers that it must have had.
pub(crate) fn write_datagram(
    file: &mut Pcapng<impl Write>,
    datagram: &Datagram<'_>,
) -> io::Result<()> {
    let packet = packet(datagram);
    let length = packet.len() - datagram.payload.len() + datagram.len;
    file.packet(&CapturedPacket {
        interface: 0,
        at: datagram.at,
        bytes: &packet,
        length,
        comment: datagram.comment,
    })
}

/// The headers that it must have had, and what is kept of its payload.
pub(crate) fn packet(datagram: &Datagram<'_>) -> Vec<u8> {
    let mut packet = headers(datagram);
    packet.extend_from_slice(datagram.payload);
    packet
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
    use crate::pcapng::LinkType;

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

    #[test]
    fn a_datagram_follows_the_headers_that_it_must_have_had() {
        let mut file = Vec::new();
        let mut pcapng = Pcapng::new(&mut file, LinkType::RawIp, &["udp"]).unwrap();
        write_datagram(&mut pcapng, &datagram(None, b"abc")).unwrap();
        pcapng.flush().unwrap();
        let packet = &file[file.len() - 4 - 52..file.len() - 4];
        assert_eq!(packet[4..12], [1, 0, 0, 0, 2, 0, 0, 0]);
        // Kept: 28 bytes of headers and 3 of payload; on the wire there were 1,428.
        assert_eq!(packet[12..20], [31, 0, 0, 0, 0x94, 5, 0, 0]);
        assert_eq!(&packet[20 + 28..20 + 31], b"abc");
    }

    #[test]
    fn the_ip_header_carries_the_mark_and_a_right_sum() {
        let headers = headers(&datagram(None, &[]));
        assert_eq!(headers[1], 2);
        assert_eq!(internet_checksum(&headers[..20]), 0);
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
