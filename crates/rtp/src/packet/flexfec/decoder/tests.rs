//! Tests of the repair decoder: recovered packets, and repair packets that are refused.

use super::*;
use crate::packet::flexfec::Encoder;
use crate::packet::flexfec::encoder::dummy;
use crate::packet::rtp::RtpHeader;
use proptest::prelude::*;

const SSRC: u32 = 0xdead_beef;

fn packet(sequence: u16, payload: &[u8], marker: bool) -> Vec<u8> {
    let header = RtpHeader {
        payload_type: 26,
        marker,
        sequence,
        timestamp: 3_600 * u32::from(sequence / 5),
        ssrc: SSRC,
    };
    let mut buf = vec![0; HEADER_LEN];
    header.emit(&[], &mut buf).unwrap();
    [&buf[..], payload].concat()
}

/// Returns `count` packets from sequence number `first` on, each of another length.
fn block(first: u16, count: usize) -> Vec<(u16, Vec<u8>)> {
    (0..count)
        .map(|n| {
            let sequence = first.wrapping_add(n as u16);
            let payload = vec![n as u8 ^ 0x5a; 100 + (n * 37) % 91];
            (sequence, packet(sequence, &payload, n + 1 == count))
        })
        .collect()
}

fn repairs(block: &[(u16, Vec<u8>)], count: usize) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::default();
    for (sequence, packet) in block {
        assert!(encoder.push(*sequence, packet));
    }
    encoder.plan(count);
    let mut repairs = Vec::new();
    while let Some(len) = encoder.next_len() {
        let mut payload = vec![7; 3];
        assert!(encoder.write(&mut payload));
        assert_eq!(payload.len(), len);
        repairs.push(payload);
    }
    repairs
}

/// Returns the packets that a receiver has of a block after these losses and repairs.
fn receive(block: &[(u16, Vec<u8>)], lost: &[usize], repairs: &[Vec<u8>]) -> Vec<(u16, Vec<u8>)> {
    let mut decoder = Decoder::new(SSRC);
    let extended = |n: usize| 0x1_0000 + u64::from(block[0].0) + n as u64;
    for n in (0..block.len()).filter(|n| !lost.contains(n)) {
        decoder.push_media(extended(n), &block[n].1);
    }
    for repair in repairs {
        decoder.push_repair(repair).ok();
    }
    std::iter::from_fn(|| {
        let (sequence, packet) = decoder.poll_recovered()?;
        Some((sequence as u16, packet.to_vec()))
    })
    .collect()
}

#[test]
fn one_repair_packet_gives_back_any_one_packet_of_its_block() {
    let block = block(65_534, 5);
    let repairs = repairs(&block, 1);
    assert_eq!(repairs.len(), 1);
    for lost in 0..5 {
        let back = receive(&block, &[lost], &repairs);
        assert_eq!(back, [block[lost].clone()]);
    }
    assert_eq!(receive(&block, &[], &repairs), []);
    assert_eq!(receive(&block, &[1, 2], &repairs), []);
}

#[test]
fn as_many_lost_in_a_row_as_there_are_repair_packets_come_back() {
    let block = block(100, 110);
    let repairs = repairs(&block, 8);
    for first in 0..=102 {
        let lost: Vec<usize> = (first..first + 8).collect();
        let mut back = receive(&block, &lost, &repairs);
        back.sort();
        assert_eq!(back, block[first..first + 8]);
    }
}

#[test]
fn a_late_packet_completes_what_waited_for_it() {
    let block = block(10, 4);
    let repairs = repairs(&block, 1);
    let mut decoder = Decoder::new(SSRC);
    for n in [0, 3] {
        decoder.push_media(10 + n as u64, &block[n].1);
    }
    assert_eq!(decoder.push_repair(&repairs[0]), Ok(()));
    assert_eq!(decoder.poll_recovered(), None);
    decoder.push_media(11, &block[1].1);
    let expected = (12, &block[2].1[..]);
    assert_eq!(decoder.poll_recovered(), Some(expected));
    assert_eq!(decoder.poll_recovered(), None);
}

#[test]
fn a_block_has_the_numbers_that_one_repair_packet_can_name() {
    let mut encoder = Encoder::default();
    assert!(!encoder.push(0, &[0; 11]));
    for (sequence, packet) in block(0, MAX) {
        assert!(encoder.push(sequence, &packet));
    }
    assert!(!encoder.push(MAX as u16, &block(MAX as u16, 1)[0].1));
    encoder.clear();
    assert!(encoder.push(7, &block(7, 1)[0].1));
    assert!(!encoder.push(9, &block(9, 1)[0].1));
    encoder.plan(5);
    assert_eq!(encoder.planned(), 1);
    const MAX: usize = crate::packet::flexfec::MAX_SPAN;
}

#[test]
fn dummies_and_lies_give_nothing_back() {
    let block = block(10, 4);
    let mut decoder = Decoder::new(SSRC);
    let mut payload = Vec::new();
    dummy(1_000, &mut payload);
    assert_eq!(decoder.push_repair(&payload), Err(Unusable::Empty));
    for n in [0, 1, 3] {
        decoder.push_media(10 + n as u64, &block[n].1);
    }
    assert_eq!(decoder.push_repair(&payload), Err(Unusable::Empty));
    // The lost packet never had this length.
    let mut long = repairs(&block, 1).remove(0);
    long[2] ^= 0x80;
    assert_eq!(decoder.push_repair(&long), Err(Unusable::Untrue));
    // The base is far away, and no packet near it arrived.
    let mut far = repairs(&block, 1).remove(0);
    far[8] ^= 0x80;
    assert_eq!(decoder.push_repair(&far), Err(Unusable::Empty));
    assert!(matches!(
        decoder.push_repair(&long[..9]),
        Err(Unusable::Malformed(_))
    ));
    assert_eq!(decoder.poll_recovered(), None);
}

proptest! {
    #[test]
    fn what_comes_back_is_what_was_lost(
        first: u16,
        count in 1..=110usize,
        columns in 1..=20usize,
        lost in proptest::collection::btree_set(0..110usize, 0..6),
    ) {
        let block = block(first, count);
        let repairs = repairs(&block, columns);
        let lost: Vec<usize> = lost.into_iter().filter(|&n| n < count).collect();
        let back = receive(&block, &lost, &repairs);
        // One loss of a column is recovered; two are not. Without any packet nothing is known.
        let columns = columns.min(count);
        let alone = |&&n: &&usize| lost.iter().filter(|&&m| m % columns == n % columns).count() == 1;
        let whole = |&&n: &&usize| block.len().div_ceil(columns) > 1 || n % columns != n || lost.len() < count;
        let expected = lost.iter().filter(alone).filter(whole).count();
        prop_assert!(back.len() <= expected);
        prop_assert!(back.iter().all(|packet| block.contains(packet)));
        if count >= 2 * columns {
            prop_assert_eq!(back.len(), expected);
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow(
        steps in proptest::collection::vec(
            (any::<bool>(), 0..700u64, proptest::collection::vec(any::<u8>(), 0..60)), 0..400),
    ) {
        let mut decoder = Decoder::new(SSRC);
        for (is_media, sequence, mut bytes) in steps {
            if is_media {
                decoder.push_media(sequence, &bytes);
            } else {
                if let [first, .., base, _, _, _] = &mut bytes[..] {
                    (*first, *base) = (*first & 0x3f, 0);
                }
                decoder.push_repair(&bytes).ok();
            }
            prop_assert!(decoder.repairs.len() <= REPAIRS);
            prop_assert!(decoder.recovered.len() <= MEDIA);
            while let Some((_, packet)) = decoder.poll_recovered() {
                prop_assert!((HEADER_LEN..=MAX_DATAGRAM).contains(&packet.len()));
            }
        }
    }
}
