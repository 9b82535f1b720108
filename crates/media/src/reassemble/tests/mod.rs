//! Tests of reassembly in each payload format: order, holes and bounds.

mod dv;
mod h264;
mod jpeg;
mod raw;

use evenkeel_codec::Codec;
use evenkeel_codec::picture::JpegImage;
use evenkeel_codec::test_support::jpeg_image;
use tfrc::time::Instant;

use self::raw::{RAW, raw_packets};
use super::{Payload, Payloads, Pushed, Reassembler, Refused};
use crate::event::NotShown;
use crate::frame::ReceivedFrame;
use crate::packetize::Packetizer;
use crate::test_support::{Packet, packets};

/// Returns an image of 128x64 in 4:2:0, which has 8x4 MCUs: eight intervals of four, of these lengths.
fn image(sizes: &[usize], tables: u8) -> JpegImage {
    jpeg_image((128, 64), tables, sizes)
}

fn take(reassembler: &mut Reassembler) -> Option<Result<ReceivedFrame, NotShown>> {
    let timestamp = reassembler.frames().next()?.timestamp;
    reassembler.take(timestamp, Instant::from_secs(9))
}

#[test]
fn hole_settles_after_three_later_packets() {
    let mut packetizer = Packetizer::new(320);
    let mut sent = packets(&mut packetizer, image(&[100; 8], 3), 0, 0);
    assert_eq!(sent.len(), 4);
    sent.extend(packets(&mut packetizer, image(&[100; 8], 3), 3_600, 4));
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    let mut settled = Vec::new();
    for packet in sent.iter().filter(|packet| packet.sequence != 2) {
        packet.push(&mut reassembler);
        settled.push(reassembler.frames().next().unwrap().settled);
    }
    // The packets are 0, 1, 3 (the last of the frame), and 4 to 7 of the next frame.
    assert_eq!(settled, [false, false, false, false, true, true, true]);
    sent[2].push(&mut reassembler);
    assert!(reassembler.frames().all(|frame| frame.complete));
}

#[test]
fn the_timestamp_wraps_without_notice() {
    let mut packetizer = Packetizer::new(2_000);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    for (sequence, timestamp) in [(0, u32::MAX - 10), (1, 20)] {
        packets(&mut packetizer, image(&[10; 8], 3), timestamp, sequence)[0].push(&mut reassembler);
    }
    let times: Vec<i64> = reassembler.frames().map(|frame| frame.timestamp).collect();
    assert_eq!(times[1] - times[0], 31);
}

#[test]
fn frames_of_two_codecs_never_mix() {
    let (_, raw) = raw_packets();
    let typed = |packet: &Packet| Packet {
        payload_type: 96,
        ..packet.clone()
    };
    let mut jpeg_packets = packets(&mut Packetizer::new(400), image(&[100; 8], 3), 91, 100);
    let payloads = Payloads::new(Payload::Jpeg, vec![(96, RAW)]);
    let mut reassembler = Reassembler::new(payloads);
    let last = raw.len() - 1;
    for packet in &raw[..last] {
        typed(packet).push(&mut reassembler);
    }
    // A packet of another codec has the timestamp of the first frame.
    let own = jpeg_packets[0].clone();
    jpeg_packets[0].timestamp = raw[0].timestamp;
    let before = reassembler.frames().next();
    assert_eq!(
        jpeg_packets[0].push(&mut reassembler),
        Pushed::Refused(Refused::Inconsistent)
    );
    assert_eq!(reassembler.frames().next(), before);
    jpeg_packets[0] = own;
    for packet in &jpeg_packets {
        packet.push(&mut reassembler);
    }
    typed(&raw[last]).push(&mut reassembler);
    let codecs = [(); 2].map(|()| {
        let frame = take(&mut reassembler).unwrap().unwrap();
        assert!(frame.picture.is_whole());
        frame.picture.codec()
    });
    assert_eq!(codecs, [Codec::Raw, Codec::Mjpeg]);
}
