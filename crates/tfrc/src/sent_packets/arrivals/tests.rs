//! Tests of the receiver's record: when reports are due, and which packets they cover.

use super::*;
use crate::units::Bytes;
use proptest::prelude::*;
use std::vec::Vec;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn packet(seq: u64, at: Instant, ecn: Ecn) -> Arrival {
    Arrival {
        seq,
        at,
        timestamp: 0,
        rtt: Some(Duration::from_millis(100)),
        size: Bytes::new(1_000),
        ecn,
    }
}

/// Returns the reports of these packets, one every 10 ms, each with the time at which it was made.
fn reports(seqs: &[u64]) -> Vec<(u64, ReportSpan)> {
    let mut arrivals = Arrivals::<64>::new(64);
    let mut made = Vec::new();
    for (ms, seq) in (0..).step_by(10).zip(seqs) {
        arrivals.handle_data(&packet(*seq, at(ms), Ecn::NotEct));
        made.extend(arrivals.poll_report(at(ms)).map(|span| (ms, span)));
    }
    made
}

fn span(first: u64, count: usize) -> ReportSpan {
    ReportSpan { first, count }
}

#[test]
fn a_report_leaves_each_round_trip_and_each_packet_is_told_twice() {
    let made = reports(&(5..45).collect::<Vec<_>>());
    let expected = [
        (0, span(5, 1)),
        (100, span(5, 11)),
        (200, span(6, 20)),
        (300, span(16, 20)),
    ];
    assert_eq!(made, expected);
}

/// A sender has no other evidence that a packet did not wait for its report.
#[test]
fn a_report_leaves_with_a_packet_that_comes_or_alone_a_round_trip_later() {
    for (comes, leaves) in [(Some(160), 160), (None, 200)] {
        let mut arrivals = Arrivals::<64>::new(64);
        arrivals.handle_data(&packet(0, at(0), Ecn::NotEct));
        assert_eq!(arrivals.poll_report(at(0)), Some(span(0, 1)));
        assert_eq!(arrivals.poll_timeout(), None);
        arrivals.handle_data(&packet(1, at(50), Ecn::NotEct));
        assert_eq!(arrivals.poll_timeout(), Some(at(200)));
        assert_eq!(arrivals.poll_report(at(150)), None);
        for (seq, ms) in (2..).zip(comes) {
            arrivals.handle_data(&packet(seq, at(ms), Ecn::NotEct));
        }
        assert_eq!(arrivals.poll_timeout(), Some(at(leaves)));
        assert!(arrivals.poll_report(at(leaves)).is_some());
    }
}

#[test]
fn the_packet_after_a_report_that_left_alone_takes_one_along() {
    let mut arrivals = Arrivals::<64>::new(64);
    arrivals.handle_data(&packet(0, at(0), Ecn::NotEct));
    assert_eq!(arrivals.poll_report(at(0)), Some(span(0, 1)));
    arrivals.handle_data(&packet(1, at(50), Ecn::NotEct));
    assert!(arrivals.poll_report(at(200)).is_some());
    arrivals.handle_data(&packet(2, at(250), Ecn::NotEct));
    assert_eq!(arrivals.poll_timeout(), Some(at(250)));
    assert!(arrivals.poll_report(at(250)).is_some());
    // That report had not waited, so a round trip passes before the next one.
    arrivals.handle_data(&packet(3, at(260), Ecn::NotEct));
    assert_eq!(arrivals.poll_timeout(), Some(at(450)));
}

#[test]
fn a_loss_is_reported_with_the_third_packet_above_it_and_once_a_round_trip() {
    let seqs: Vec<u64> = (0..30).filter(|seq| ![13, 17].contains(seq)).collect();
    let made = reports(&seqs);
    // Packet 16 comes at 150 ms, the timer then runs until 250.
    let times: Vec<u64> = made.iter().map(|(ms, _)| *ms).collect();
    assert_eq!(times, [0, 100, 150, 250]);
    assert_eq!(made[2].1, span(1, 16));
}

#[test]
fn a_late_packet_is_reported_again() {
    let mut seqs: Vec<u64> = (0..12).filter(|seq| *seq != 3).collect();
    seqs.extend([3, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]);
    let made = reports(&seqs);
    let last = made.last().unwrap().1;
    assert!(last.first <= 3, "{last:?}");
}

#[test]
fn a_stream_too_fast_for_one_report_a_round_trip_is_reported_more_often() {
    let mut arrivals = Arrivals::<64>::new(40);
    let mut covered = 0;
    for seq in 0..10_000 {
        let now = Instant::from_micros(seq * 10);
        arrivals.handle_data(&packet(seq, now, Ecn::NotEct));
        if let Some(span) = arrivals.poll_report(now) {
            assert!(span.first <= covered && span.count <= 40, "{span:?}");
            covered = span.first + span.count as u64;
        }
    }
    assert!(covered > 9_960);
}

#[test]
fn a_mark_on_a_copy_is_kept_and_the_first_arrival_too() {
    let mut arrivals = Arrivals::<64>::new(64);
    assert!(arrivals.handle_data(&packet(7, at(1), Ecn::Ect0)));
    assert!(!arrivals.handle_data(&packet(7, at(9), Ecn::Ce)));
    assert!(!arrivals.handle_data(&packet(7, at(10), Ecn::Ect0)));
    let marked = PacketStatus::Arrived {
        at: Some(at(1)),
        ecn: Ecn::Ce,
    };
    assert_eq!(arrivals.status(7), marked);
    assert_eq!(arrivals.status(8), PacketStatus::Missing);
}

#[test]
fn end_of_frame_is_reported_at_once() {
    let mut arrivals = Arrivals::<64>::new(64);
    arrivals.handle_data(&packet(0, at(0), Ecn::NotEct));
    assert!(arrivals.poll_report(at(0)).is_some());
    arrivals.handle_data(&packet(1, at(30), Ecn::NotEct));
    assert_eq!(arrivals.poll_report(at(30)), None);
    arrivals.handle_data(&packet(2, at(31), Ecn::NotEct));
    arrivals.end_frame(at(31));
    assert_eq!(arrivals.poll_timeout(), Some(at(31)));
    assert_eq!(arrivals.poll_report(at(31)), Some(span(0, 3)));
    // Without another frame the next report leaves a round trip later.
    arrivals.handle_data(&packet(3, at(60), Ecn::NotEct));
    assert_eq!(arrivals.poll_timeout(), Some(at(231)));
}

#[test]
fn ends_of_frames_are_reported_ten_milliseconds_apart() {
    let mut arrivals = Arrivals::<64>::new(64);
    let mut made = Vec::new();
    for seq in 0..1_000 {
        arrivals.handle_data(&packet(seq, at(seq), Ecn::NotEct));
        arrivals.end_frame(at(seq));
        made.extend(arrivals.poll_report(at(seq)).map(|_| seq));
    }
    assert_eq!(made, (0..1_000).step_by(10).collect::<Vec<_>>());
}

#[test]
fn end_of_frame_without_news_changes_nothing() {
    let mut arrivals = Arrivals::<64>::new(64);
    arrivals.end_frame(at(0));
    assert_eq!(arrivals.poll_timeout(), None);
    assert_eq!(arrivals.poll_report(at(1)), None);
    arrivals.handle_data(&packet(0, at(2), Ecn::NotEct));
    assert!(arrivals.poll_report(at(2)).is_some());
    arrivals.end_frame(at(50));
    assert_eq!(arrivals.poll_timeout(), None);
    arrivals.handle_data(&packet(1, at(60), Ecn::NotEct));
    assert_eq!(arrivals.poll_timeout(), Some(at(202)));
}

proptest! {
    /// Whatever arrives, each packet is new once, and a report states only real arrivals.
    #[test]
    fn packets_are_new_once_and_reports_are_true(seqs in prop::collection::vec(0u64..200, 1..400), limit in 4usize..=64) {
        let mut arrivals = Arrivals::<64>::new(limit);
        let mut slots = [None; 64];
        let (mut end, mut too_late) = (0, None);
        for (ms, seq) in (0..).zip(seqs) {
            // Two late packets in a row turn the record back.
            if seq + (limit as u64) < end && too_late.replace(seq + 1) == Some(seq) {
                end = seq;
            }
            let is_new = arrivals.handle_data(&packet(seq, at(ms), Ecn::Ect0));
            let slot = &mut slots[seq as usize % 64];
            let is_held = slot.is_some_and(|(held, _)| held == seq);
            // The record that turned back takes the next in order again.
            prop_assert!(!is_new || !is_held || seq == end);
            prop_assert!(is_new || is_held || seq + 64 < end);
            if is_new {
                *slot = Some((seq, at(ms)));
                end = end.max(seq + 1);
            }
            if let Some(span) = arrivals.poll_report(at(ms)) {
                prop_assert!(span.count <= limit);
                prop_assert_eq!(span.first + span.count as u64, end);
                for seq in span.first..end {
                    let held = slots[seq as usize % 64].filter(|(held, _)| *held == seq);
                    let expected = held.map_or(PacketStatus::Missing, |(_, at)| PacketStatus::Arrived { at: Some(at), ecn: Ecn::Ect0 });
                    prop_assert_eq!(arrivals.status(seq), expected);
                }
            }
        }
    }
}

#[test]
fn reports_return_to_numbers_of_two_late_packets() {
    let mut seqs: Vec<u64> = (5..25).collect();
    // Forged packets lie further ahead than a report reaches.
    seqs.extend([524, 525]);
    seqs.extend(25..60);
    let made = reports(&seqs);
    let (_, last) = made.last().unwrap();
    // The first late packet is a witness alone.
    assert!((26..60).contains(&last.first), "{last:?}");
    assert!(last.first + last.count as u64 <= 60, "{last:?}");
}

#[test]
fn corrected_round_trip_ends_the_wait_for_a_report() {
    let mut arrivals = Arrivals::<64>::new(64);
    let stated = |seq, ms, rtt| Arrival {
        rtt: Some(Duration::from_millis(rtt)),
        ..packet(seq, at(ms), Ecn::NotEct)
    };
    arrivals.handle_data(&stated(5, 0, 16_000));
    assert!(arrivals.poll_report(at(0)).is_some());
    arrivals.handle_data(&stated(6, 10, 50));
    assert_eq!(arrivals.poll_report(at(10)), None);
    arrivals.correct_round_trip(at(20), Duration::from_millis(50));
    arrivals.handle_data(&stated(7, 20, 50));
    assert!(arrivals.poll_report(at(20)).is_some());
}
