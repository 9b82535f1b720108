//! Tests of JPEG in packets: lost, duplicated, contradictory and hostile ones.

use evenkeel_codec::picture::{CodedPicture, JpegImage};
use evenkeel_rtp::packet::payload::jpeg::{JpegHeader, Restart, WHOLE_FRAME};
use proptest::prelude::*;
use tfrc::time::Instant;

use super::{image, take};
use crate::event::NotShown;
use crate::frame::ReceivedFrame;
use crate::packetize::Packetizer;
use crate::reassemble::{Payload, Pushed, Reassembler, Refused};
use crate::test_support::{Packet, packets};

fn jpeg(frame: &ReceivedFrame) -> &JpegImage {
    match &frame.picture {
        CodedPicture::Jpeg(image) => image,
        _ => unreachable!("nothing else was sent"),
    }
}

#[test]
fn a_lost_packet_costs_its_own_intervals() {
    let image = image(&[100; 8], 3);
    let sent = packets(&mut Packetizer::new(400), image.clone(), 90, 7);
    assert_eq!(sent.len(), 3);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    sent[0].push(&mut reassembler);
    sent[2].push(&mut reassembler);
    let received = take(&mut reassembler).unwrap().unwrap();
    assert_eq!(received.timestamp, 90);
    assert_eq!(received.due, Instant::from_secs(9));
    let missing: Vec<usize> = (0..8)
        .filter(|&i| jpeg(&received).intervals[i].is_none())
        .collect();
    assert_eq!(missing, [2, 3, 4]);
    assert_eq!(jpeg(&received).intervals[7], image.intervals[7]);
    assert_eq!(jpeg(&received).tables, image.tables);
}

#[test]
fn fragmented_interval_needs_all_its_fragments() {
    let image = image(&[50, 900, 50, 50], 3);
    let sent = packets(&mut Packetizer::new(400), image.clone(), 0, 0);
    assert_eq!(sent.len(), 5);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    for index in [4, 2, 0, 3] {
        assert!(matches!(
            sent[index].push(&mut reassembler),
            Pushed::Partial { .. }
        ));
    }
    assert!(matches!(
        sent[1].push(&mut reassembler),
        Pushed::Complete { .. }
    ));
    assert_eq!(jpeg(&take(&mut reassembler).unwrap().unwrap()), &image);
}

#[test]
fn tables_outlive_the_packet_that_carries_them() {
    let mut packetizer = Packetizer::new(400);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    let first = packets(&mut packetizer, image(&[100; 8], 3), 0, 0);
    let second = packets(&mut packetizer, image(&[100; 8], 3), 90, 3);
    let third = packets(&mut packetizer, image(&[100; 8], 4), 180, 6);
    for packet in first.iter().chain(&second[1..]).chain(&third[1..]) {
        packet.push(&mut reassembler);
    }
    assert!(jpeg(&take(&mut reassembler).unwrap().unwrap()).is_whole());
    let damaged = take(&mut reassembler).unwrap().unwrap();
    assert_eq!(jpeg(&damaged).tables.luma, [3; 64]);
    assert!(jpeg(&damaged).intervals[0].is_none());
    assert!(matches!(
        take(&mut reassembler),
        Some(Err(NotShown::NoTables))
    ));
}

#[test]
fn tables_of_a_refused_packet_are_not_learnt() {
    let mut packetizer = Packetizer::new(400);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    let first = packets(&mut packetizer, image(&[100; 8], 3), 0, 0);
    let second = packets(&mut packetizer, image(&[100; 8], 3), 90, 3);
    for packet in &first {
        packet.push(&mut reassembler);
    }
    // The packets contradict the frame's width and interval, and have other tables under the same Q.
    for (sequence, at, value) in [(20, 6, 17), (21, 11, 200)] {
        let mut other = first[0].clone();
        other.sequence = sequence;
        other.payload[at] = value;
        other.payload[16..144].fill(9);
        let refused = other.push(&mut reassembler);
        assert_eq!(refused, Pushed::Refused(Refused::Inconsistent), "{at}");
    }
    for packet in &second[1..] {
        packet.push(&mut reassembler);
    }
    for _ in 0..2 {
        let frame = take(&mut reassembler).unwrap().unwrap();
        assert_eq!(jpeg(&frame).tables.luma, [3; 64]);
    }
}

#[test]
fn an_image_in_one_piece_is_read_whole() {
    let mut whole = image(&[1_000], 3);
    whole.restart_interval = 0;
    let sent = packets(&mut Packetizer::new(400), whole.clone(), 0, 0);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    for packet in sent.iter().rev() {
        packet.push(&mut reassembler);
    }
    assert_eq!(jpeg(&take(&mut reassembler).unwrap().unwrap()), &whole);
}

#[test]
fn packets_across_interval_boundaries_are_read_whole() {
    let image = image(&[300, 40, 200, 90], 3);
    let sent = packets(&mut Packetizer::new(2_000), image.clone(), 0, 0);
    let (header, _) = JpegHeader::parse(&sent[0].payload).unwrap();
    let parts = sent.iter().map(|packet| JpegHeader::parse(&packet.payload));
    let data: Vec<u8> = parts.flat_map(|part| part.unwrap().1.to_vec()).collect();
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    let mut offset = 0;
    for (sequence, part) in data.chunks(130).enumerate() {
        let restart = header.restart.map(|restart| Restart {
            count: WHOLE_FRAME,
            ..restart
        });
        let header = JpegHeader {
            offset,
            restart,
            tables: header.tables.filter(|_| offset == 0),
            ..header
        };
        let mut payload = vec![0; header.len()];
        header.emit(&mut payload).unwrap();
        payload.extend_from_slice(part);
        offset += part.len() as u32;
        let packet = Packet {
            payload_type: 0,
            sequence: sequence as u64,
            timestamp: 0,
            marker: offset as usize == data.len(),
            payload,
        };
        packet.push(&mut reassembler);
    }
    assert_eq!(jpeg(&take(&mut reassembler).unwrap().unwrap()), &image);
}

#[test]
fn odd_sizes_travel_rounded_up() {
    let mut odd = image(&[100; 8], 3);
    (odd.width, odd.height) = (121, 57);
    let sent = packets(&mut Packetizer::new(2_000), odd.clone(), 0, 0);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    for packet in &sent {
        packet.push(&mut reassembler);
    }
    let received = take(&mut reassembler).unwrap().unwrap();
    let received = jpeg(&received);
    assert_eq!((received.width, received.height), (128, 64));
    assert_eq!(received.intervals, odd.intervals);
}

#[test]
fn what_contradicts_its_frame_is_refused() {
    let sent = packets(&mut Packetizer::new(400), image(&[100; 8], 3), 0, 0);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    sent[0].push(&mut reassembler);
    assert_eq!(
        sent[0].push(&mut reassembler),
        Pushed::Refused(Refused::Stale)
    );
    let edited = |at: usize, value: u8| {
        let mut packet = sent[1].clone();
        packet.payload[at] = value;
        packet
    };
    for (at, value, reason) in [
        (4, 9, Refused::Malformed),
        // The rows change the sampling, Q, the sides, the restart interval, and the place to one outside.
        (4, 64, Refused::Inconsistent),
        (5, 129, Refused::Inconsistent),
        (6, 17, Refused::Inconsistent),
        (7, 9, Refused::Inconsistent),
        (9, 8, Refused::Inconsistent),
        (11, 200, Refused::Inconsistent),
    ] {
        assert_eq!(
            edited(at, value).push(&mut reassembler),
            Pushed::Refused(reason),
            "{at}"
        );
    }
    assert!(reassembler.take(0, Instant::ZERO).unwrap().is_ok());
    assert_eq!(
        sent[1].push(&mut reassembler),
        Pushed::Refused(Refused::Stale)
    );
}

proptest! {
    #[test]
    fn order_and_duplicates_do_not_change_the_frame(
        sizes in proptest::collection::vec(1..700usize, 1..=32),
        capacity in 150..1_200usize,
        order in any::<u64>(),
    ) {
        let mut sizes = sizes;
        // Only these counts divide the picture into equal intervals.
        let count = [1, 2, 4, 8, 16, 32].into_iter().rfind(|&n| n <= sizes.len()).unwrap();
        sizes.truncate(count);
        let image = image(&sizes, 5);
        let mut sent = packets(&mut Packetizer::new(capacity), image.clone(), 0, 0);
        let mut random = order | 1;
        for i in (1..sent.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            sent.swap(i, (random >> 33) as usize % (i + 1));
        }
        let mut reassembler = Reassembler::new(Payload::Jpeg);
        for packet in sent.iter().chain(&sent) {
            packet.push(&mut reassembler);
        }
        let received = take(&mut reassembler).unwrap().unwrap();
        prop_assert_eq!(jpeg(&received), &image);
    }

    /// Every interval must be whole and correct, or missing.
    #[test]
    fn losses_never_make_a_wrong_interval(
        sizes in proptest::collection::vec(1..700usize, 8..=8),
        capacity in 150..600usize,
        lost in any::<u64>(),
    ) {
        let image = image(&sizes, 5);
        let sent = packets(&mut Packetizer::new(capacity), image.clone(), 0, 0);
        let mut reassembler = Reassembler::new(Payload::Jpeg);
        for packet in sent.iter().filter(|packet| lost >> (packet.sequence % 64) & 1 == 0) {
            packet.push(&mut reassembler);
        }
        if let Some(Ok(received)) = take(&mut reassembler) {
            for (got, sent) in jpeg(&received).intervals.iter().zip(&image.intervals) {
                prop_assert!(got.is_none() || got == sent);
            }
        }
    }

    #[test]
    fn hostile_packets_neither_panic_nor_fill_memory(
        packets in proptest::collection::vec(
            (0..50u64, 0..40u32, any::<bool>(), hostile_payload()),
            0..200,
        ),
    ) {
        let mut reassembler = Reassembler::new(Payload::Jpeg);
        for (sequence, step, marker, payload) in packets {
            let packet = Packet { payload_type: 0, sequence, timestamp: step * 1_000, marker, payload };
            packet.push(&mut reassembler);
            prop_assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        }
        while let Some(frame) = take(&mut reassembler) {
            if let Ok(frame) = frame {
                let expected = match jpeg(&frame).restart_interval {
                    0 => 1,
                    mcus => jpeg(&frame).mcus().div_ceil(usize::from(mcus)),
                };
                prop_assert_eq!(jpeg(&frame).intervals.len(), expected);
            }
        }
    }
}

/// Generates headers that are mostly valid, over few pictures, with restart markers in the data.
fn hostile_payload() -> impl Strategy<Value = Vec<u8>> {
    let header = (
        0..3u8,
        prop_oneof![Just(65u8), Just(1), Just(64), any::<u8>()],
        0..4u16,
        0..4u8,
        0..40u8,
    );
    let data =
        proptest::collection::vec(prop_oneof![Just(0xffu8), 0xd0..=0xd9u8, any::<u8>()], 0..60);
    (header, data).prop_map(|((offset, kind, interval, flags, count), data)| {
        let mut payload = vec![0, 0, 0, offset * 7, kind, 40, 16, 8];
        if kind >= 64 {
            payload.extend(interval.to_be_bytes());
            payload.extend([flags << 6, count]);
        }
        payload.extend(data);
        payload
    })
}
