//! Tests of uncompressed pictures in packets, with losses and with pixels outside the picture.

use evenkeel_codec::picture::{CodedPicture, RawPicture};
use proptest::prelude::*;
use tfrc::time::Instant;

use super::take;
use crate::event::NotShown;
use crate::packetize::Packetizer;
use crate::reassemble::raw::MAX_FRAME_PACKETS;
use crate::reassemble::{Payload, Pushed, Reassembler, Refused};
use crate::test_support::{Packet, packets};

/// Returns a picture of 20x6: six lines of 40 bytes, in packets of one line each.
pub(super) fn raw_packets() -> (RawPicture, Vec<Packet>) {
    let picture = RawPicture {
        width: 20,
        height: 6,
        data: (0..240).collect(),
        missing: Vec::new(),
    };
    let coded = CodedPicture::Raw(picture.clone());
    (picture, packets(&mut Packetizer::new(50), coded, 90, 7))
}

pub(super) const RAW: Payload = Payload::Raw {
    width: 20,
    height: 6,
};

#[test]
fn an_uncompressed_picture_comes_together_in_any_order() {
    let (picture, sent) = raw_packets();
    assert_eq!(sent.len(), 6);
    let mut reassembler = Reassembler::new(RAW);
    for index in [5, 0, 3, 3, 1, 4] {
        sent[index].push(&mut reassembler);
    }
    assert_eq!(
        sent[2].push(&mut reassembler),
        Pushed::Complete { timestamp: 90 }
    );
    let received = take(&mut reassembler).unwrap().unwrap();
    assert_eq!(received.picture, CodedPicture::Raw(picture));
}

#[test]
fn a_frame_becomes_complete_once() {
    let (_, sent) = raw_packets();
    let mut reassembler = Reassembler::new(RAW);
    let completed = |pushed: &Pushed| matches!(pushed, Pushed::Complete { .. });
    let pushed: Vec<Pushed> = sent.iter().map(|p| p.push(&mut reassembler)).collect();
    assert_eq!(pushed.iter().filter(|p| completed(p)).count(), 1);
    // The packet has the same pixels under another number.
    let duplicate = Packet {
        sequence: 20,
        ..sent[0].clone()
    };
    assert_eq!(
        duplicate.push(&mut reassembler),
        Pushed::Partial { timestamp: 90 }
    );
}

#[test]
fn a_lost_packet_costs_its_own_pixels() {
    let (_, sent) = raw_packets();
    let mut reassembler = Reassembler::new(RAW);
    for index in [0, 1, 3, 5] {
        sent[index].push(&mut reassembler);
    }
    let received = take(&mut reassembler).unwrap().unwrap().picture;
    assert_eq!(received.parts().missing, 2);
    let CodedPicture::Raw(received) = received else {
        panic!("nothing else was sent");
    };
    assert_eq!(received.missing, [80..120, 160..200]);
}

#[test]
fn pixels_outside_the_picture_are_refused() {
    let (_, sent) = raw_packets();
    for (place, value) in [(5, 6), (7, 2), (3, 38), (4, 0x80)] {
        let mut packet = sent[0].clone();
        packet.payload[place] = value;
        let mut reassembler = Reassembler::new(RAW);
        let refused = packet.push(&mut reassembler);
        assert_eq!(refused, Pushed::Refused(Refused::Inconsistent), "{place}");
        assert_eq!(
            take(&mut reassembler).unwrap().unwrap_err(),
            NotShown::Empty
        );
    }
}

#[test]
fn picture_in_too_many_packets_is_refused() {
    // The packets have every second pair of pixels of 2048x1024: 512 a line, half of them in each of two packets.
    let (width, height) = (2_048, 1_024);
    let mut reassembler = Reassembler::new(Payload::Raw { width, height });
    let mut refused = Vec::new();
    for sequence in 0..2 * u64::from(height) {
        let line = (sequence / 2) as u16;
        let offsets = (0..256_u16).map(|n| (sequence % 2) as u16 * 1_024 + 4 * n);
        let mut payload = vec![0, 0];
        for offset in offsets.clone() {
            let more = u16::from(offset % 1_024 != 4 * 255) << 15;
            payload.extend([4_u16, line, offset | more].map(u16::to_be_bytes).concat());
        }
        payload.extend(offsets.flat_map(|_| [7; 4]));
        let packet = Packet {
            payload,
            sequence,
            payload_type: 0,
            timestamp: 90,
            marker: false,
        };
        if packet.push(&mut reassembler) == Pushed::Refused(Refused::Oversized) {
            refused.push(sequence);
        }
    }
    let first = MAX_FRAME_PACKETS as u64 / 256;
    assert_eq!(refused, (first..2 * u64::from(height)).collect::<Vec<_>>());
    let received = take(&mut reassembler).unwrap().unwrap().picture;
    let CodedPicture::Raw(received) = received else {
        panic!("nothing else was sent");
    };
    assert!(received.missing.len() <= MAX_FRAME_PACKETS + 1);
}

proptest! {
    /// The picture ends wherever a header places the last line.
    #[test]
    fn picture_size_is_read_from_any_last_packet(
        pixels in 0..200_u16,
        line in any::<u16>(),
        offset in 0..0x8000_u16,
        marker in any::<bool>(),
    ) {
        let fields = [0, 2 * pixels, line, offset];
        let mut payload: Vec<u8> = fields.into_iter().flat_map(u16::to_be_bytes).collect();
        payload.resize(payload.len() + 2 * usize::from(pixels), 0);
        let packet = Packet {
            payload_type: 0,
            sequence: 1,
            timestamp: 0,
            marker,
            payload,
        };
        let size = Reassembler::new(RAW).other_size(&packet.media(Instant::ZERO));
        let ends = (offset + pixels, (line & 0x7fff) + 1);
        let is_reported = marker && line < 0x8000 && ends != (20, 6);
        prop_assert_eq!(size, is_reported.then_some([ends, (20, 6)]));
    }
}
