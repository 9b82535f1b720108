//! Media and repair packets in any order, true or not.

use evenkeel_rtp::endpoint::MAX_DATAGRAM;
use evenkeel_rtp::packet::flexfec::{Decoder, Encoder};
use evenkeel_rtp::packet::rtp::HEADER_LEN;

const SSRC: u32 = 0x1234_5678;

/// Plays steps: a byte that says what comes (its lowest bit) and from which number on (the rest), a length,
/// so many bytes. Packets that come back are packets; a block whose last packet is lost comes back as it was.
pub fn check(data: &[u8]) {
    let mut decoder = Decoder::new(SSRC);
    let mut newest = 0u64;
    let mut rest = data;
    while let [what, len, after @ ..] = rest {
        let (bytes, after) = after.split_at(after.len().min((*len).into()));
        rest = after;
        if what & 1 == 0 {
            newest += u64::from(what >> 1);
            decoder.push_media(newest, bytes);
        } else {
            decoder.push_repair(bytes).ok();
        }
        while let Some((sequence, packet)) = decoder.poll_recovered() {
            assert!((HEADER_LEN..=MAX_DATAGRAM).contains(&packet.len()));
            assert_eq!(packet[0] >> 6, 2);
            assert_eq!(packet[2..4], (sequence as u16).to_be_bytes());
        }
    }
    check_block(data);
}

/// Cuts the bytes into packets, loses one and gets it back.
fn check_block(data: &[u8]) {
    let packets: Vec<Vec<u8>> = data
        .chunks(40)
        .take(110)
        .zip(7u16..)
        .map(|(chunk, sequence)| {
            let mut packet = vec![0x80, 26, 0, 0, 0, 0, 0, 0];
            packet.extend_from_slice(&SSRC.to_be_bytes());
            packet[2..4].copy_from_slice(&sequence.to_be_bytes());
            packet.extend_from_slice(chunk);
            packet
        })
        .collect();
    let [received @ .., lost] = &packets[..] else {
        return;
    };
    let mut encoder = Encoder::default();
    let mut decoder = Decoder::new(SSRC);
    for (packet, sequence) in packets.iter().zip(7u16..) {
        assert!(encoder.push(sequence, packet));
    }
    for (packet, sequence) in received.iter().zip(7u64..) {
        decoder.push_media(sequence, packet);
    }
    encoder.plan(1);
    let mut repair = Vec::new();
    assert!(encoder.write(&mut repair));
    if !received.is_empty() {
        assert_eq!(decoder.push_repair(&repair), Ok(()));
        assert_eq!(decoder.poll_recovered().map(|back| back.1), Some(&lost[..]));
    }
}
