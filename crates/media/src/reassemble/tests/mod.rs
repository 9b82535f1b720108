//! Tests of reassembly in each payload format: order, holes and bounds.

use evenkeel_codec::dif::{BLOCK, BlockId};
use evenkeel_codec::picture::{AccessUnit, DvFrame, JpegImage, QuantTables, RawPicture, Sampling};
use evenkeel_rtp::packet::payload::jpeg::{Restart, WHOLE_FRAME};
use proptest::prelude::*;

use super::*;
use crate::frame::EncodedFrame;
use crate::packetize::Packetizer;

/// A packet as the network carries it.
#[derive(Clone, Debug)]
struct Packet {
    payload_type: u8,
    sequence: u64,
    timestamp: u32,
    marker: bool,
    payload: Vec<u8>,
}

impl Packet {
    fn push(&self, reassembler: &mut Reassembler) -> Pushed {
        reassembler.push(&self.media()).0
    }

    fn media(&self) -> MediaPacket<'_> {
        MediaPacket {
            sequence: self.sequence,
            payload_type: self.payload_type,
            timestamp: self.timestamp,
            marker: self.marker,
            payload: &self.payload,
            arrival: Instant::from_millis(self.sequence),
            send_time: 0,
            rtt: None,
        }
    }
}

fn jpeg(frame: &ReceivedFrame) -> &JpegImage {
    match &frame.picture {
        CodedPicture::Jpeg(image) => image,
        _ => unreachable!("nothing else was sent"),
    }
}

/// 128x64 in 4:2:0 is 8x4 MCUs: eight intervals of four, of these sizes.
fn image(sizes: &[usize], tables: u8) -> JpegImage {
    let data = |(i, &size): (usize, &usize)| Some(vec![i as u8 + 1; size]);
    JpegImage {
        width: 128,
        height: 64,
        sampling: Sampling::Yuv420,
        tables: QuantTables {
            luma: [tables; 64],
            chroma: [tables; 64],
        },
        restart_interval: 32_u16.div_ceil(sizes.len() as u16),
        intervals: sizes.iter().enumerate().map(data).collect(),
    }
}

/// The packets of an image; sequence numbers begin at `sequence`.
fn packets(
    packetizer: &mut Packetizer,
    picture: impl Into<CodedPicture>,
    timestamp: u32,
    sequence: u64,
) -> Vec<Packet> {
    let frame = EncodedFrame {
        captured: Instant::ZERO,
        timestamp,
        picture: picture.into(),
    };
    let frame = packetizer.packetize(frame).expect("well formed");
    (0..frame.packets())
        .map(|index| {
            let mut payload = Vec::new();
            frame.write(index, 0, &mut payload);
            assert_eq!(payload.len(), frame.payload_len(index));
            assert!(payload.len() <= packetizer.capacity());
            Packet {
                payload_type: 0,
                sequence: sequence + index as u64,
                timestamp,
                marker: index + 1 == frame.packets(),
                payload,
            }
        })
        .collect()
}

fn take(reassembler: &mut Reassembler) -> Option<Result<ReceivedFrame, NotShown>> {
    let timestamp = reassembler.frames().next()?.timestamp;
    reassembler.take(timestamp, Instant::from_secs(9))
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
    assert_eq!(received.completed, Instant::from_secs(9));
    let missing: Vec<usize> = (0..8)
        .filter(|&i| jpeg(&received).intervals[i].is_none())
        .collect();
    assert_eq!(missing, [2, 3, 4]);
    assert_eq!(jpeg(&received).intervals[7], image.intervals[7]);
    assert_eq!(jpeg(&received).tables, image.tables);
}

#[test]
fn an_interval_larger_than_a_packet_needs_all_its_fragments() {
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
fn tables_once_seen_outlive_the_packet_that_carries_them() {
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
    // A width and an interval that contradict the frame, with other tables under the same Q.
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
fn packets_that_are_not_aligned_with_intervals_are_read_whole() {
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
fn a_hole_settles_when_three_packets_have_overtaken_it_and_the_frame_has_ended() {
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
    // Packets 0, 1, 3 (the last of the frame), and 4 to 7 of the next.
    assert_eq!(settled, [false, false, false, false, true, true, true]);
    sent[2].push(&mut reassembler);
    assert!(reassembler.frames().all(|frame| frame.complete));
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
        // The sampling, Q, the sides, the restart interval, and a place outside.
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

proptest! {
    /// The end of a picture is wherever a header says that the last line is.
    #[test]
    fn any_uncompressed_packet_tells_the_size_of_its_picture_or_none(
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
        let size = Reassembler::new(RAW).other_size(&packet.media());
        let ends = (offset + pixels, (line & 0x7fff) + 1);
        let told = marker && line < 0x8000 && ends != (20, 6);
        prop_assert_eq!(size, told.then_some([ends, (20, 6)]));
    }

    #[test]
    fn any_order_and_any_duplicates_make_the_same_frame(
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

    /// Every interval is whole and right, or missing.
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

/// Headers that parse more often than not, over few pictures, with restart markers in the data.
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

/// 20x6: six lines of 40 bytes, in packets of one line each.
fn raw_packets() -> (RawPicture, Vec<Packet>) {
    let picture = RawPicture {
        width: 20,
        height: 6,
        data: (0..240).collect(),
        missing: Vec::new(),
    };
    let coded = CodedPicture::Raw(picture.clone());
    (picture, packets(&mut Packetizer::new(50), coded, 90, 7))
}

const RAW: Payload = Payload::Raw {
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
    // The same pixels under another number.
    let again = Packet {
        sequence: 20,
        ..sent[0].clone()
    };
    assert_eq!(
        again.push(&mut reassembler),
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
fn a_picture_in_more_pieces_than_it_may_have_packets_is_refused() {
    // Every second pair of pixels of 2048x1024: 512 a line, of which two packets have half each.
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

/// A frame of DV of 525 lines whose blocks are where they say, in packets of fourteen.
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
fn a_frame_of_dv_is_complete_with_its_last_packet_in_any_order() {
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
fn a_lost_packet_costs_its_own_blocks_of_dv() {
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

#[test]
fn a_unit_whose_fragments_disagree_is_a_hole_and_the_next_ones_come() {
    // Fragments (FU-A) of slices of a keyframe, but for one of another type or reference; then a whole unit.
    for (indicator, header) in [(0x7c, 0x01), (0x1c, 0x05)] {
        let payloads: [&[u8]; 4] = [
            &[0x7c, 0x85, 0x88, 1],
            &[indicator, header, 2],
            &[0x7c, 0x45, 3],
            &[0x65, 0x84, 5],
        ];
        let mut reassembler = Reassembler::new(Payload::H264);
        let packet = |sequence: usize, timestamp, marker| Packet {
            payload_type: 0,
            sequence: sequence as u64,
            timestamp,
            marker,
            payload: payloads[sequence % 4].to_vec(),
        };
        for sequence in 0..4 {
            packet(sequence, 90, sequence == 3).push(&mut reassembler);
        }
        let pushed = packet(7, 180, true).push(&mut reassembler);
        assert_eq!(pushed, Pushed::Complete { timestamp: 180 });
        let [damaged, next] = [(); 2].map(|()| take(&mut reassembler).unwrap().unwrap());
        let whole = Some(payloads[3].to_vec());
        let units = vec![None, whole.clone()];
        assert_eq!(damaged.picture, AccessUnit { units }.into());
        let units = vec![whole];
        assert_eq!(next.picture, AccessUnit { units }.into());
    }
}

#[test]
fn frames_of_two_codecs_are_put_together_side_by_side_and_never_mixed() {
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
    // A packet of the other codec that says it belongs to the same frame.
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
