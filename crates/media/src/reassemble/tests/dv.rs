//! Tests of DV in packets, in any order and with losses.

use evenkeel_codec::dif::{BLOCK, BlockId, System};
use evenkeel_codec::picture::{CodedPicture, DvFrame};

use super::take;
use crate::packetize::Packetizer;
use crate::reassemble::{Payload, Pushed, Reassembler};
use crate::test_support::{Packet, packets};

/// Returns a frame of DV of 525 lines with valid places, in packets of fourteen blocks.
fn dv_packets() -> (DvFrame, Vec<Packet>) {
    let system = System::Lines525;
    let block = |place: usize| {
        let mut block = [place as u8; BLOCK];
        block[..3].copy_from_slice(&BlockId::at(place).to_bytes());
        block
    };
    let frame = DvFrame {
        system,
        data: (0..system.frame_len() / BLOCK).flat_map(block).collect(),
        missing: Vec::new(),
    };
    let picture = CodedPicture::Dv(frame.clone());
    let sent = packets(&mut Packetizer::new(1_188), picture, 90, 10);
    (frame, sent)
}

const DV: Payload = Payload::Dv {
    system: System::Lines525,
    audio: true,
};

#[test]
fn dv_frame_completes_with_its_last_packet() {
    let (frame, sent) = dv_packets();
    let mut reassembler = Reassembler::new(DV);
    for packet in sent[1..].iter().rev() {
        assert_eq!(
            packet.push(&mut reassembler),
            Pushed::Partial { timestamp: 90 }
        );
    }
    let last = sent[0].push(&mut reassembler);
    assert_eq!(last, Pushed::Complete { timestamp: 90 });
    let received = take(&mut reassembler).unwrap().unwrap().picture;
    assert_eq!(received, CodedPicture::Dv(frame));
}

#[test]
fn lost_packet_costs_its_own_dv_blocks() {
    let (_, sent) = dv_packets();
    let mut reassembler = Reassembler::new(DV);
    for packet in [&sent[..2], &sent[3..5], &sent[6..]].concat() {
        packet.push(&mut reassembler);
    }
    let CodedPicture::Dv(received) = take(&mut reassembler).unwrap().unwrap().picture else {
        panic!("nothing else was sent");
    };
    let packet = |n: usize| n * 14 * BLOCK..(n + 1) * 14 * BLOCK;
    assert_eq!(received.missing, [packet(2), packet(5)]);
}
