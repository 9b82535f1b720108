//! An Ethernet frame of the router, with its checksum and segments as the kernel states them.

use crate::packet_record::{Flow, TCP, UDP};
use std::net::{IpAddr, Ipv6Addr};
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// `struct virtio_net_hdr`, before each frame that a packet socket gives or takes.
pub(super) const OFFLOAD_HEADER: usize = 10;

/// Ethernet's header. A link counts what is behind it, as the simulator does.
pub(super) const ETHERNET: usize = 14;

/// What came to an interface.
#[derive(Debug)]
pub(super) struct Received<'a> {
    pub(super) arrival: Instant,
    /// The offload header, then the frame.
    pub(super) bytes: &'a [u8],
}

/// A frame that fits on a wire.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The offload header, then the frame.
    pub(super) bytes: Box<[u8]>,
    /// Counted from zero, over both directions.
    pub(super) number: u64,
}

impl Frame {
    /// Its size on the wire that is emulated: from the network header on.
    pub(super) fn size(&self) -> Bytes {
        Bytes::from(self.bytes.len() - OFFLOAD_HEADER - ETHERNET)
    }

    /// Ethernet's header and all behind it.
    pub(super) fn ethernet(&self) -> &[u8] {
        &self.bytes[OFFLOAD_HEADER..]
    }

    /// What Ethernet carries, if it is IP and whole.
    fn packet(&self) -> Option<Ip<'_>> {
        Ip::read(self.ethernet())
    }

    /// Whose packet it is.
    pub(super) fn flow(&self) -> Flow {
        self.packet().map_or(Flow::OTHER, |packet| packet.flow())
    }
}

impl evenkeel_link::Packet for Frame {
    fn ecn(&self) -> Ecn {
        self.packet()
            .map_or(Ecn::NotEct, |packet| match packet.traffic_class() & 0b11 {
                0b01 => Ecn::Ect1,
                0b10 => Ecn::Ect0,
                0b11 => Ecn::Ce,
                _ => Ecn::NotEct,
            })
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn mark(&mut self) {
        mark(&mut self.bytes[OFFLOAD_HEADER..]);
    }

    /// FNV-1a over what names the flow.
    fn flow(&self) -> u64 {
        let flow = Frame::flow(self);
        let address = |address: IpAddr| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let ports = [flow.source_port, flow.destination_port].map(u16::to_be_bytes);
        let parts = address(flow.source)
            .into_iter()
            .chain(address(flow.destination))
            .chain(ports.into_iter().flatten())
            .chain([flow.protocol]);
        parts.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        })
    }
}

/// An IP packet, behind Ethernet's header.
enum Ip<'a> {
    V4(&'a [u8]),
    V6(&'a [u8]),
}

impl<'a> Ip<'a> {
    fn read(frame: &'a [u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
        let version = packet.first()? >> 4;
        match (&ethernet[12..], version) {
            ([0x08, 0x00], 4) if packet.len() >= 20 => Some(Self::V4(packet)),
            ([0x86, 0xDD], 6) if packet.len() >= 40 => Some(Self::V6(packet)),
            _ => None,
        }
    }

    fn traffic_class(&self) -> u8 {
        match self {
            Self::V4(packet) => packet[1],
            Self::V6(packet) => packet[0] << 4 | packet[1] >> 4,
        }
    }

    fn flow(&self) -> Flow {
        let (protocol, addresses, transport) = match *self {
            Self::V4(packet) => {
                let is_first = packet[6] & 0x1F == 0 && packet[7] == 0;
                let header = usize::from(packet[0] & 0xF) * 4;
                let transport = packet.get(header..).filter(|_| is_first);
                let octets = |at: usize| [0, 1, 2, 3].map(|i| packet[at + i]);
                (
                    packet[9],
                    [octets(12), octets(16)].map(IpAddr::from),
                    transport,
                )
            }
            Self::V6(packet) => {
                let octets = |at: usize| core::array::from_fn::<u8, 16, _>(|i| packet[at + i]);
                let addresses = [octets(8), octets(24)].map(|o| Ipv6Addr::from(o).into());
                (packet[6], addresses, packet.get(40..))
            }
        };
        let has_ports = matches!(protocol, TCP | UDP);
        let ports = transport.filter(|bytes| has_ports && bytes.len() >= 4);
        let port =
            |at: usize| ports.map_or(0, |bytes| u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        Flow {
            protocol,
            source: addresses[0],
            destination: addresses[1],
            source_port: port(0),
            destination_port: port(2),
        }
    }
}

/// Sets CE, and with IPv4 corrects the header's checksum (RFC 1624).
fn mark(frame: &mut [u8]) {
    match Ip::read(frame) {
        None => {}
        Some(Ip::V6(_)) => frame[ETHERNET + 1] |= 0b11 << 4,
        Some(Ip::V4(_)) => {
            let packet = &mut frame[ETHERNET..];
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= 0b11;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = !u16::from_be_bytes([packet[10], packet[11]]);
            let corrected = fold(u32::from(sum) + u32::from(!before) + u32::from(after));
            packet[10..12].copy_from_slice(&(!corrected).to_be_bytes());
        }
    }
}

/// The ones' complement sum of 16 bits (RFC 1071).
pub(super) fn fold(mut sum: u32) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// The ones' complement sum of these bytes, not yet folded; an odd last byte counts as if a zero
/// followed. Of 64 KiB at most.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    pairs.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::Packet as _;
    use proptest::prelude::*;

    /// A UDP datagram from 10.0.0.1:80 to 10.0.0.2:256 with this second byte of the header.
    fn v4(traffic_class: u8) -> Frame {
        let mut bytes = vec![0; OFFLOAD_HEADER + 12];
        bytes.extend([8, 0, 0x45, traffic_class, 0, 28, 0, 9, 0x40, 0, 64, UDP]);
        bytes.extend([0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 1, 0, 0, 8, 0, 0]);
        let header = OFFLOAD_HEADER + ETHERNET;
        let checksum = !fold(sum(&bytes[header..header + 20]));
        bytes[header + 10..header + 12].copy_from_slice(&checksum.to_be_bytes());
        let bytes = bytes.into();
        Frame { bytes, number: 0 }
    }

    #[test]
    fn a_flow_is_told_by_addresses_protocol_and_ports() {
        let frame = v4(0);
        assert_eq!(frame.size(), Bytes::new(28));
        assert_eq!(frame.flow().to_string(), "udp 10.0.0.1:80 10.0.0.2:256");
        let mut fragment = frame.clone();
        fragment.bytes[OFFLOAD_HEADER + ETHERNET + 7] = 1;
        assert_eq!(fragment.flow().to_string(), "udp 10.0.0.1:0 10.0.0.2:0");
    }

    #[test]
    fn a_mark_keeps_the_header_sound() {
        for (class, before) in [(2, Ecn::Ect0), (0xFD, Ecn::Ect1)] {
            let mut frame = v4(class);
            assert_eq!(frame.ecn(), before);
            frame.mark();
            assert_eq!(frame.ecn(), Ecn::Ce);
            let header = &frame.ethernet()[ETHERNET..][..20];
            assert_eq!(fold(sum(header)), 0xFFFF);
        }
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), OFFLOAD_HEADER + ETHERNET..120)) {
            let mut frame = Frame { bytes: bytes.into(), number: 0 };
            let _ = (frame.flow(), frame.ecn(), frame.size());
            frame.mark();
        }
    }
}
