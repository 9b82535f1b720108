//! Payloads of H.264, put together as a stream and decoded.

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_media::codec::Codec;
use evenkeel_media::frame::CodedPicture;
use evenkeel_media::reassemble::{Payload, Reassembler};
use evenkeel_rtp::payload::h264::H264Payload;
use evenkeel_rtp::session::MediaPacket;
use tfrc::time::Instant;

#[derive(Arbitrary, Debug)]
struct Packet<'a> {
    sequence: u8,
    timestamp: u8,
    marker: bool,
    payload: &'a [u8],
    take: bool,
}

/// Reads the bytes as one payload, then as a stream of packets.
pub fn check(data: &[u8]) {
    check_lengths(data);
    let mut stream = Unstructured::new(data);
    let mut reassembler = Reassembler::new(Payload::H264);
    let mut decoder = Codec::H264.decoder();
    let mut now = Instant::ZERO;
    while !stream.is_empty() {
        let Ok(packet) = Packet::arbitrary(&mut stream) else {
            return;
        };
        now += std::time::Duration::from_millis(1);
        check_lengths(packet.payload);
        reassembler.push(&MediaPacket {
            sequence: packet.sequence.into(),
            payload_type: 0,
            timestamp: packet.timestamp.into(),
            marker: packet.marker,
            payload: packet.payload,
            arrival: now,
            send_time: 0,
            rtt: None,
        });
        assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        let oldest = reassembler.frames().next().filter(|_| packet.take);
        let Some(oldest) = oldest else { continue };
        let Some(Ok(frame)) = reassembler.take(oldest.timestamp, now) else {
            continue;
        };
        let CodedPicture::H264(picture) = &frame.picture else {
            panic!("a stream has one payload format");
        };
        let units = picture.access_units.iter().flat_map(|access| &access.units);
        assert!(units.flatten().all(|unit| !unit.is_empty()));
        if oldest.complete && frame.picture.is_whole() {
            // What it decodes to is anything or nothing.
            let _ = decoder.decode(&frame.picture);
        }
    }
}

fn check_lengths(bytes: &[u8]) {
    if let Ok(H264Payload::Aggregate(units)) = H264Payload::parse(bytes) {
        let total: usize = units.map(|unit| 2 + unit.len()).sum();
        assert_eq!(total + 1, bytes.len());
    }
}
