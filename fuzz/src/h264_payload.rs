//! Packets of H.264 and repair packets, put together as a stream and decoded.

use evenkeel_codec::Codec;
use evenkeel_codec::picture::CodedPicture;
use evenkeel_media::reassemble::{Payload, Reassembler};
use evenkeel_rtp::packet::flexfec;
use evenkeel_rtp::packet::payload::h264::H264Payload;
use evenkeel_rtp::packet::rtp::{HEADER_LEN, RtpHeader, RtpPacket};
use tfrc::time::Instant;

use crate::media_packet;

/// The bits of a step's first byte; the upper half is how many numbers are left out before the packet.
pub const MARKER: u8 = 1;
/// The oldest frame is taken after it.
pub const TAKE: u8 = 2;
/// A media packet that only repair packets can give back.
pub const LOST: u8 = 4;
/// A repair packet, no media packet.
pub const REPAIR: u8 = 8;

const SSRC: u32 = 0x1234_5678;

/// Reads the bytes as one payload, then plays them as a stream.
pub fn check(data: &[u8]) {
    check_lengths(data);
    play(data);
}

/// Plays steps: a byte of the bits above, a length of two, so many bytes. Gives how many frames came whole out of the
/// decoder.
pub fn play(data: &[u8]) -> usize {
    let mut reassembler = Reassembler::new(Payload::H264);
    let mut repairs = flexfec::Decoder::new(SSRC);
    let mut decoder = Codec::H264.decoder();
    let mut now = Instant::ZERO;
    let (mut next, mut timestamp) = (0_u64, 0);
    let mut decoded = 0;
    let mut rest = data;
    while let [what, high, low, after @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low]));
        let (payload, after) = after.split_at(after.len().min(len));
        rest = after;
        now += std::time::Duration::from_millis(1);
        check_lengths(payload);
        if what & REPAIR == 0 {
            let sequence = next + u64::from(what >> 4);
            next = sequence + 1;
            let marker = what & MARKER != 0;
            let packet = packet(sequence as u16, timestamp, marker, payload);
            timestamp += u32::from(marker);
            if what & LOST == 0 {
                push(&mut reassembler, sequence, &packet, now);
                repairs.push_media(sequence, &packet);
            }
        } else {
            repairs.push_repair(payload).ok();
            reassembler.repair_arrived(now);
        }
        while let Some((sequence, packet)) = repairs.poll_recovered() {
            push(&mut reassembler, sequence, packet, now);
        }
        assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        let oldest = reassembler.frames().next().filter(|_| what & TAKE != 0);
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
            decoded += usize::from(decoder.decode(&frame.picture).is_ok());
        }
    }
    decoded
}

/// A packet as it is on the wire.
pub fn packet(sequence: u16, timestamp: u32, marker: bool, payload: &[u8]) -> Vec<u8> {
    let header = RtpHeader {
        payload_type: 97,
        marker,
        sequence,
        timestamp,
        ssrc: SSRC,
    };
    let mut packet = vec![0; HEADER_LEN];
    header.emit(&[], &mut packet).expect("it fits");
    packet.extend(payload);
    packet
}

fn push(reassembler: &mut Reassembler, sequence: u64, packet: &[u8], now: Instant) {
    // What repair packets give back may be anything.
    let Ok(rtp) = RtpPacket::parse(packet) else {
        return;
    };
    let header = rtp.header();
    let frame = (header.timestamp, header.marker);
    reassembler.push(&media_packet(now, sequence, frame, rtp.payload()));
}

fn check_lengths(bytes: &[u8]) {
    if let Ok(H264Payload::Aggregate(units)) = H264Payload::parse(bytes) {
        let total: usize = units.map(|unit| 2 + unit.len()).sum();
        assert_eq!(total + 1, bytes.len());
    }
}
