//! Cuts what a host left to its network card: large TCP segments and batches of UDP datagrams become the
//! packets that a wire would carry.
//!
//! Hosts with segmentation offload hand down up to 64 KiB at once, and a virtual interface passes that on as
//! it is. An emulator that counted it as one packet would emulate no network.

use super::frame::{ETHERNET, OFFLOAD_HEADER, fold, sum};
use crate::packet_record::{TCP, UDP};

/// Offload header: the checksum covers the pseudo header alone, and a reader completes it.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of segments, and the flag for those whose first alone says CWR.
const KIND_TCP_V4: u8 = 1;
const KIND_TCP_V6: u8 = 4;
const KIND_UDP: u8 = 5;
const KIND_FLAG_ECN: u8 = 0x80;

const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// Calls `each` with every packet of a frame, in order, each with an offload header of its own. `None` if
/// the frame is not what its offload header says.
pub(super) fn cut(bytes: &[u8], mut each: impl FnMut(Box<[u8]>)) -> Option<()> {
    let (offload, frame) = bytes.split_at_checked(OFFLOAD_HEADER)?;
    if frame.len() < ETHERNET {
        return None;
    }
    let kind = offload[1] & !KIND_FLAG_ECN;
    if kind == 0 {
        each(bytes.into());
        return Some(());
    }
    let field = |at: usize| usize::from(u16::from_ne_bytes([offload[at], offload[at + 1]]));
    let (most, transport) = (field(4), field(6));
    let protocol = match kind {
        KIND_TCP_V4 | KIND_TCP_V6 => TCP,
        KIND_UDP => UDP,
        _ => return None,
    };
    let is_v4 = frame.get(ETHERNET)? >> 4 == 4;
    let least = if is_v4 { 20 } else { 40 };
    if offload[0] & NEEDS_CHECKSUM == 0 || most == 0 || transport < ETHERNET + least {
        return None;
    }
    let header = transport
        + match protocol {
            TCP => usize::from(frame.get(transport + 12)? >> 4) * 4,
            _ => 8,
        };
    if protocol == TCP && header < transport + 20 {
        return None;
    }
    let (headers, payload) = frame.split_at_checked(header)?;
    let count = payload.len().div_ceil(most);
    for (index, part) in payload.chunks(most).enumerate() {
        let mut packet = Vec::with_capacity(OFFLOAD_HEADER + header + part.len());
        packet.extend_from_slice(offload);
        packet[1] = 0;
        packet[4..6].fill(0);
        packet.extend_from_slice(headers);
        packet.extend_from_slice(part);
        let whole = &mut packet[OFFLOAD_HEADER..];
        let place = Place {
            index,
            is_last: index + 1 == count,
            sent_before: index * most,
        };
        number(whole, is_v4, place);
        let pseudo = pseudo_header(whole, is_v4, transport, protocol);
        let segment = &mut whole[transport..];
        match protocol {
            TCP => renumber_tcp(segment, place, pseudo),
            _ => resize_udp(segment, pseudo),
        }
        each(packet.into());
    }
    Some(())
}

/// The place of a packet among the packets of its frame.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    is_last: bool,
    sent_before: usize,
}

/// The network header: length, and with IPv4 the identification and the checksum.
fn number(frame: &mut [u8], is_v4: bool, place: Place) {
    let packet = &mut frame[ETHERNET..];
    if !is_v4 {
        let length = (packet.len() - 40) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        return;
    }
    let length = packet.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    let first = u16::from_be_bytes([packet[4], packet[5]]);
    let identification = first.wrapping_add(place.index as u16);
    packet[4..6].copy_from_slice(&identification.to_be_bytes());
    packet[10..12].fill(0);
    let header = (usize::from(packet[0] & 0xF) * 4).min(packet.len());
    let checksum = !fold(sum(&packet[..header]));
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum that the kernel expects where the checksum will stand.
fn pseudo_header(frame: &[u8], is_v4: bool, transport: usize, protocol: u8) -> u16 {
    let addresses = if is_v4 { 12..20 } else { 8..40 };
    let length = (frame.len() - transport) as u32;
    fold(sum(&frame[ETHERNET..][addresses]) + length + u32::from(protocol))
}

fn renumber_tcp(segment: &mut [u8], place: Place, pseudo: u16) {
    let first = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
    let sequence = first.wrapping_add(place.sent_before as u32);
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !place.is_last {
        segment[13] &= !TCP_FIN_PSH;
    }
    if place.index > 0 {
        segment[13] &= !TCP_CWR;
    }
    segment[16..18].copy_from_slice(&pseudo.to_be_bytes());
}

fn resize_udp(datagram: &mut [u8], pseudo: u16) {
    let length = datagram.len() as u16;
    datagram[4..6].copy_from_slice(&length.to_be_bytes());
    datagram[6..8].copy_from_slice(&pseudo.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TRANSPORT: usize = ETHERNET + 20;

    fn offload(kind: u8, size: u16) -> Vec<u8> {
        let mut offload = vec![NEEDS_CHECKSUM, kind, 0, 0];
        for field in [size, TRANSPORT as u16, 16] {
            offload.extend(field.to_ne_bytes());
        }
        offload
    }

    /// A TCP segment of so many bytes of data, with FIN, PSH, ACK and CWR, at sequence number 2^32 - 2.
    fn tcp(data: u16, size: u16) -> Vec<u8> {
        let mut bytes = offload(KIND_TCP_V4, size);
        bytes.extend([0; 12]);
        bytes.extend([8, 0, 0x45, 0, 0, 0, 0, 9, 0x40, 0, 64, TCP, 0, 0]);
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 1, 0]);
        bytes.extend((u32::MAX - 1).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 5 << 4, 0x99, 0, 0, 0, 0, 0, 0]);
        bytes.extend((0..data).map(|byte| byte as u8));
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Box<[u8]>> {
        let mut packets = Vec::new();
        cut(bytes, |packet| packets.push(packet)).unwrap();
        packets
    }

    #[test]
    fn a_large_tcp_segment_becomes_packets_with_numbers_flags_and_sums_of_their_own() {
        let packets = all(&tcp(25, 10));
        assert_eq!(packets.len(), 3);
        let mut data = Vec::new();
        let flags = [0x90, 0x10, 0x19];
        let sequence = [u32::MAX - 1, 8, 18];
        for (index, packet) in packets.iter().enumerate() {
            let ip = &packet[OFFLOAD_HEADER + ETHERNET..];
            assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
            assert_eq!(u16::from_be_bytes([ip[4], ip[5]]), 9 + index as u16);
            assert_eq!(fold(sum(&ip[..20])), 0xFFFF, "the header's checksum");
            let segment = &ip[20..];
            let number = u32::from_be_bytes([segment[4], segment[5], segment[6], segment[7]]);
            assert_eq!(number, sequence[index]);
            assert_eq!(segment[13], flags[index]);
            data.extend_from_slice(&segment[20..]);
        }
        assert_eq!(data, (0..25).collect::<Vec<u8>>());
    }

    #[test]
    fn the_sum_that_is_left_is_that_of_the_pseudo_header() {
        let packet = &all(&tcp(25, 10))[2];
        let ip = &packet[OFFLOAD_HEADER + ETHERNET..];
        // 10.0.0.1, 10.0.0.2, protocol 6, 20 bytes of header and 5 of data.
        let expected = 0x0A00 + 1 + 0x0A00 + 2 + 6 + 25;
        assert_eq!(u16::from_be_bytes([ip[36], ip[37]]), expected);
    }

    #[test]
    fn a_frame_that_fits_is_left_alone() {
        let mut bytes = tcp(25, 10);
        bytes[1] = 0;
        assert_eq!(*all(&bytes), [Box::from(&bytes[..])]);
    }

    #[test]
    fn a_batch_of_datagrams_is_cut_as_it_was_joined() {
        let mut bytes = offload(KIND_UDP, 100);
        bytes.extend([0; 12]);
        bytes.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 0, UDP, 64]);
        bytes.extend([1; 32]);
        bytes.extend([0, 1, 0, 2, 0, 0, 0, 0]);
        bytes.extend([7; 250]);
        let transport = (ETHERNET + 40) as u16;
        bytes[6..8].copy_from_slice(&transport.to_ne_bytes());
        let packets = all(&bytes);
        let lengths = packets.iter().map(|packet| {
            let ip = &packet[OFFLOAD_HEADER + ETHERNET..];
            [[ip[4], ip[5]], [ip[44], ip[45]]].map(u16::from_be_bytes)
        });
        assert!(lengths.eq([[108, 108], [108, 108], [58, 58]]));
    }

    #[test]
    fn a_frame_that_is_not_what_it_says_is_refused() {
        let refused = |bytes: &[u8]| cut(bytes, |_| ()).is_none();
        let sound = tcp(25, 10);
        assert!(!refused(&sound));
        let with = |at: usize, byte: u8| {
            let mut bytes = sound.clone();
            bytes[at] = byte;
            bytes
        };
        assert!(refused(&with(0, 0)), "no place for the checksum");
        assert!(refused(&with(1, 3)), "fragments are not ours to make");
        assert!(refused(&with(6, 5)), "transport within Ethernet");
        assert!(refused(&with(OFFLOAD_HEADER + TRANSPORT + 12, 0xF0)));
        assert!(refused(&sound[..OFFLOAD_HEADER + 13]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = cut(&bytes, |_| ());
        }

        #[test]
        fn no_change_of_a_sound_frame_makes_it_panic(at in 0usize..80, byte: u8) {
            let mut bytes = tcp(60, 7);
            bytes[at] = byte;
            let _ = cut(&bytes, |_| ());
        }
    }
}
