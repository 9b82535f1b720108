//! Tests of transport-wide feedback: packets that are written, read and refused.

use super::super::{Feedback, Packet, Packets};
use super::*;
use proptest::prelude::*;

fn read(packet: &[u8]) -> Feedback<'_> {
    match Packets::parse(packet).unwrap().next().unwrap().unwrap() {
        Packet::Feedback(feedback) if feedback.format == FORMAT => feedback,
        other => panic!("{other:?}"),
    }
}

fn arrived(units: u64) -> PacketStatus {
    PacketStatus::Arrived {
        at: Some(Instant::from_nanos(units * DELTA_NANOS)),
        ecn: Ecn::NotEct,
    }
}

/// The report covers eighteen packets: a run of two arrivals, seven symbols of two bits, and fourteen of one.
const DRAWN: [u8; 20] = [
    0xff, 0xff, 0, 18, 0, 0, 2, 9, // 128 ms, the tenth
    0x20, 2, 0xd8, 0x00, 0xa0, 0x00, // 1 1; 01 10 0…; 1 0…
    4, 0, 8, 0xff, 0xff, 16,
];

#[test]
fn a_report_is_read_as_the_draft_draws_it() {
    let twcc = Twcc::parse(&DRAWN).unwrap();
    assert_eq!(
        (twcc.first, twcc.count, twcc.feedback_count),
        (0xffff, 18, 9)
    );
    let start = (REFERENCE_WRAP + 2) * 256;
    let mut expected = vec![PacketStatus::Missing; 18];
    expected[0] = arrived(start + 4);
    expected[1] = arrived(start + 4);
    expected[2] = arrived(start + 12);
    expected[3] = arrived(start + 11);
    expected[9] = arrived(start + 27);
    assert_eq!(twcc.statuses().collect::<Vec<_>>(), expected);
    assert_eq!(
        twcc.header().made_at,
        Instant::from_nanos((start + 27) * DELTA_NANOS)
    );
}

#[test]
fn what_is_cut_short_is_an_error() {
    for len in 0..DRAWN.len() {
        assert!(Twcc::parse(&DRAWN[..len]).is_err(), "{len}");
    }
    let reserved = [0, 0, 0, 1, 0, 0, 0, 0, 0x60, 1, 0, 0];
    let error = ParseError::Invalid {
        field: "packet status symbol",
        offset: 8,
    };
    assert_eq!(Twcc::parse(&reserved), Err(error));
}

/// Three chunks cover a quarter of all numbers.
#[test]
fn what_is_said_of_many_packets_at_once_is_read_at_once() {
    let fci = [0, 0, 0x40, 0, 0, 0, 0, 1, 0x1f, 0xff, 0x1f, 0xff, 0, 2];
    let twcc = Twcc::parse(&fci).unwrap();
    let missing = [8_191, 8_191, 2].map(|count| StatusRun::Missing { count });
    assert_eq!(twcc.status_runs().collect::<Vec<_>>(), missing);
    assert_eq!(twcc.statuses().count(), 16_384);
    // As many arrivals lack their times.
    let fci = fci.map(|byte| if byte == 0x1f { 0x3f } else { byte });
    assert!(Twcc::parse(&fci).is_err());
}

#[test]
fn a_steady_stream_takes_little_more_than_a_byte_a_packet() {
    let packets = (0..200u32).map(|n| (n % 50 != 7).then(|| Instant::from_millis(n.into())));
    let mut buf = [0; 512];
    let len = emit((1, 7), 0, packets, 0, &mut buf).unwrap();
    assert!(len < 250, "{len}");
}

/// Reads chunks symbol by symbol, as §3.1.3 and §3.1.4 draw them; `None` if a symbol is invalid.
fn read_singly(fci: &[u8]) -> Option<Vec<PacketStatus>> {
    let count = u16::from_be_bytes([fci[2], fci[3]]).into();
    let mut symbols = Vec::new();
    let mut rest = &fci[8..];
    while symbols.len() < count {
        let (chunk, others) = rest.split_first_chunk()?;
        let chunk = u16::from_be_bytes(*chunk);
        match chunk >> 14 {
            0b10 => symbols.extend((0..14).rev().map(|bit| chunk >> bit & 1)),
            0b11 => symbols.extend((0..7).rev().map(|symbol| chunk >> (2 * symbol) & 3)),
            _ => symbols.extend(iter::repeat_n(chunk >> 13, (chunk & 0x1fff).into())),
        }
        rest = others;
    }
    symbols.truncate(count);
    let reference = u32::from_be_bytes([0, fci[4], fci[5], fci[6]]);
    let mut units = (REFERENCE_WRAP + u64::from(reference)) * 256;
    symbols
        .into_iter()
        .map(|symbol| {
            let (delta, others) = rest.split_at_checked(symbol.into())?;
            rest = others;
            let delta = match *delta {
                [] => return Some(PacketStatus::Missing),
                [small] => small.into(),
                [high, low] => i16::from_be_bytes([high, low]),
                _ => return None,
            };
            units = units.wrapping_add_signed(delta.into());
            Some(arrived(units))
        })
        .collect()
}

/// Generates chunks of any kind, most of them valid.
fn chunk() -> impl Strategy<Value = u16> {
    let run = (0u16..4, 0u16..40).prop_map(|(symbol, count)| symbol << 13 | count);
    let small = (0u16..1 << 14).prop_map(|bits| 0b10 << 14 | bits);
    let large = prop::collection::vec(0u16..3, 7).prop_map(|symbols| {
        symbols
            .into_iter()
            .fold(0b11, |chunk, symbol| chunk << 2 | symbol)
    });
    prop_oneof![1 => run, 2 => small, 2 => large, 1 => any::<u16>()]
}

proptest! {
    #[test]
    fn chunks_are_read_as_one_reads_them_symbol_by_symbol(
        count in 0u16..100,
        reference in 0u32..1 << 24,
        chunks in prop::collection::vec(chunk(), 0..8),
        deltas: Vec<u8>,
    ) {
        let mut fci = vec![0, 7];
        fci.extend(count.to_be_bytes());
        fci.extend((reference << 8).to_be_bytes());
        fci.extend(chunks.iter().flat_map(|chunk| chunk.to_be_bytes()));
        fci.extend(deltas);
        let reported = read_singly(&fci);
        let read = Twcc::parse(&fci).ok();
        prop_assert_eq!(&read.map(|twcc| twcc.statuses().collect::<Vec<_>>()), &reported);
        if let (Some(read), Some(reported)) = (read, reported) {
            let times = reported.iter().filter_map(|status| match status {
                PacketStatus::Arrived { at, .. } => *at,
                PacketStatus::Missing => None,
            });
            let reference = Instant::from_nanos((REFERENCE_WRAP + u64::from(reference)) * REFERENCE_NANOS);
            prop_assert_eq!(read.header().made_at, times.max().unwrap_or(reference));
        }
    }

    #[test]
    fn what_is_reported_is_read_to_a_unit(
        first: u16,
        start in 0u64..1 << 55,
        packets in proptest::collection::vec(
            proptest::option::weighted(0.8, prop_oneof![4 => 0u64..50, 1 => 0u64..8_000]), 0..300),
    ) {
        let start = Instant::from_nanos(start);
        let reported = packets.iter().map(|ms| ms.map(|ms| start + Duration::from_millis(ms)));
        let mut buf = [0; 2_048];
        let len = emit((1, 7), first, reported.clone(), 3, &mut buf).unwrap();
        prop_assert!(len <= max_packet_len(packets.len()));
        let feedback = read(&buf[..len]);
        let twcc = Twcc::parse(feedback.fci).unwrap();
        prop_assert_eq!((twcc.first, usize::from(twcc.count), twcc.feedback_count), (first, packets.len(), 3));
        let statuses: Vec<_> = twcc.statuses().collect();
        prop_assert_eq!(statuses.len(), packets.len());
        let wrap = REFERENCE_WRAP * REFERENCE_NANOS;
        for (status, packet) in statuses.into_iter().zip(reported) {
            let read = match status { PacketStatus::Arrived { at, .. } => at, PacketStatus::Missing => None };
            prop_assert_eq!(read.is_some(), packet.is_some());
            if let (Some(read), Some(packet)) = (read, packet) {
                let unit = packet.as_nanos() / DELTA_NANOS * DELTA_NANOS;
                prop_assert_eq!(read.as_nanos() % wrap, unit % wrap);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_panic(fci: Vec<u8>) {
        if let Ok(twcc) = Twcc::parse(&fci) {
            prop_assert_eq!(twcc.statuses().count(), usize::from(twcc.count));
            let _ = twcc.header();
            // A chunk that is no run has at least one bit a symbol.
            prop_assert!(twcc.status_runs().count() <= 8 * fci.len());
        }
    }
}

/// RTCP of Chromium, which pads its feedback by one to three bytes.
#[test]
fn padded_feedback_of_libwebrtc_is_read() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/libwebrtc_rtcp.hex"
    );
    let lines = std::fs::read_to_string(path).expect("testdata");
    let (mut next, mut padded) = (0xbead, 0);
    for line in lines.lines() {
        let byte = |at| u8::from_str_radix(&line[at..at + 2], 16).expect("hex");
        let bytes: Vec<_> = (0..line.len()).step_by(2).map(byte).collect();
        for packet in Packets::parse(&bytes).expect("headers") {
            let Packet::Feedback(feedback) = packet.expect("content") else {
                continue;
            };
            let twcc = Twcc::parse(feedback.fci).expect("a report");
            assert_eq!((feedback.format, twcc.first), (FORMAT, next), "{line}");
            assert_eq!(twcc.statuses().count(), usize::from(twcc.count), "{line}");
            next += twcc.count;
            padded += u32::from(bytes[0] & 0x20 != 0);
        }
    }
    assert_eq!((next, padded), (0xbf18, 23));
}
