//! Tests of claims that cannot be true: none counts, and repeated ones prove a lie.

use super::*;
use proptest::prelude::*;

proptest! {
    /// Reports claim numbers that were never sent, past and future, and more packets than there are numbers. Each
    /// sent packet counts at most once, and times stay within the time that has passed.
    #[test]
    fn claimed_packets_count_at_most_once(
        claims in prop::collection::vec(
            (any::<u16>(), any::<u64>(), prop::collection::vec((any::<bool>(), any::<u64>()), 1..200), 1usize..700), 1..20),
    ) {
        let mut tracker = sender(300);
        let end = sent_at(FIRST + 300);
        for (first, made_at, statuses, times) in claims {
            let header = ReportHeader { first, made_at: Instant::from_nanos(made_at), resolution: Duration::ZERO };
            let statuses = statuses.into_iter().map(|(arrived, at)| match (arrived, at % 3) {
                (false, _) => PacketStatus::Missing,
                (true, 0) => PacketStatus::Arrived { at: None, ecn: Ecn::Ce },
                (true, _) => PacketStatus::Arrived { at: Some(Instant::from_nanos(at)), ecn: Ecn::NotEct },
            });
            let statuses: Vec<PacketStatus> = statuses.collect();
            let long = statuses.iter().copied().cycle().take(statuses.len() * times);
            if let Some(feedback) = tracker.handle_report(end, &header, long) {
                prop_assert!(feedback.sent_at + feedback.delay <= end);
                prop_assert!(feedback.receive_rate.is_finite());
            }
            prop_assert!(tracker.counters().received + tracker.counters().lost <= 300);
        }
    }
}

#[test]
fn left_out_number_reported_missing_is_no_loss() {
    let tracker = with_numbers_left_out(|seq| seq % 10 == 0);
    let counters = tracker.counters();
    assert_eq!((counters.lost, tracker.never_reported()), (0, 0));
    assert!(counters.received > 150);
    assert!(!tracker.has_caught_a_lie());
}

#[test]
fn left_out_numbers_catch_a_receiver_without_losses() {
    let tracker = with_numbers_left_out(|_| false);
    assert!(tracker.refused().never_sent >= 2);
    assert!(tracker.has_caught_a_lie());
}

#[test]
fn three_erased_test_marks_end_ecn() {
    for (reported, lost) in [(Ecn::Ce, false), (Ecn::Ect0, true)] {
        let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
        for seq in FIRST..FIRST + 30 {
            tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
            if seq % 10 == 5 {
                tracker.handle_test_mark();
            }
        }
        let header = ReportHeader {
            first: FIRST as u16,
            made_at: sent_at(FIRST + 30) + ZERO,
            resolution: Duration::ZERO,
        };
        let statuses = (FIRST..FIRST + 30).map(|seq| PacketStatus::Arrived {
            at: Some(sent_at(seq) + ZERO),
            ecn: if seq % 10 == 5 { reported } else { Ecn::Ect0 },
        });
        tracker.handle_report(sent_at(FIRST + 30) + RTT, &header, statuses);
        assert_eq!(tracker.loses_marks(), lost);
        assert_eq!(tracker.counters().loss_events, 0);
    }
}

#[test]
fn single_report_and_its_copies_prove_no_lie() {
    let mut tracker = sender(10);
    let header = ReportHeader {
        first: (FIRST + 9) as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: None,
        ecn: Ecn::NotEct,
    };
    let mut report = |secs, count| {
        let statuses = core::iter::repeat_n(arrived, count);
        tracker.handle_report(Instant::from_secs(secs), &header, statuses);
        (tracker.refused().never_sent, tracker.has_caught_a_lie())
    };
    assert_eq!(report(2, 30), (29, false));
    assert_eq!(report(3, 30), (29, false));
    assert_eq!(report(3, 25), (29, false));
    assert_eq!(report(4, 31), (30, true));
}

#[test]
fn late_second_claim_counts_as_the_first() {
    let mut tracker = sender(10);
    let mut claim = |secs, count| {
        let now = Instant::from_secs(secs);
        let header = ReportHeader {
            first: (FIRST + 9) as u16,
            made_at: now,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: None,
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(now, &header, core::iter::repeat_n(arrived, count));
        tracker.has_caught_a_lie()
    };
    assert!(!claim(2, 30));
    assert!(!claim(2 + 301, 31));
    assert!(claim(2 + 301 + 300, 32));
}

#[test]
fn reports_late_by_all_numbers_count_for_nothing() {
    // The 16-bit numbers repeat after eleven minutes, and after two thirds of a second.
    for spacing in [SPACING, Duration::from_micros(10)] {
        report_a_round_late(spacing);
    }
}

/// An honest receiver sends three reports that arrive once the 16-bit numbers repeat.
fn report_a_round_late(spacing: Duration) {
    const PART: u64 = 50;
    // The last report then covers some packets that are still to be sent.
    const LATE: core::ops::Range<u64> = FIRST + PART..FIRST + 4 * PART;
    let rtt = spacing * 10;
    let sent_at = |seq: u64| Instant::from_secs(1) + spacing * (seq - FIRST) as u32;
    let is_left_out = |seq: u64| seq.is_multiple_of(10);
    let report = |first: u64| {
        let came = move |seq| sent_at(seq) + rtt / 2 + ZERO;
        let header = ReportHeader {
            first: first as u16,
            made_at: came(first + PART),
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + PART).map(move |seq| {
            if is_left_out(seq) {
                PacketStatus::Missing
            } else {
                PacketStatus::Arrived {
                    at: Some(came(seq)),
                    ecn: Ecn::NotEct,
                }
            }
        });
        (header, statuses)
    };
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    let end = FIRST + (1 << 16) + 3 * PART + PART / 2;
    for seq in FIRST..end {
        if is_left_out(seq) {
            tracker.handle_left_out(sent_at(seq));
        } else {
            tracker.handle_sent(sent_at(seq), SIZE, Some(rtt));
        }
        // All packets but the last ten have been on their way for a round trip.
        let arrived = (seq - FIRST).checked_sub(9);
        if let Some(arrived) = arrived.filter(|count| *count > 0 && count.is_multiple_of(PART)) {
            let first = FIRST + arrived - PART;
            if !LATE.contains(&first) {
                let (header, statuses) = report(first);
                tracker.handle_report(sent_at(seq), &header, statuses);
            }
        }
    }
    let before = tracker.counters();
    for first in LATE.step_by(PART as usize) {
        let (header, statuses) = report(first);
        tracker.handle_report(sent_at(end), &header, statuses);
    }
    assert!(!tracker.has_caught_a_lie());
    assert_eq!(tracker.refused().never_sent, 0);
    assert_eq!(tracker.refused().unknown, 3 * PART * 9 / 10);
    assert_eq!(tracker.counters(), before);
}

/// The arrival was reported before that number was due, so it may concern another packet.
#[test]
fn early_arrival_of_left_out_number_proves_nothing() {
    let mut tracker = sender(10);
    tracker.handle_left_out(sent_at(FIRST + 10));
    for (early, refused) in [(true, (1, 0)), (false, (1, 1))] {
        let now = sent_at(FIRST + 20);
        let waited = if early { SPACING * 10 } else { SPACING * 9 };
        let header = ReportHeader {
            first: (FIRST + 10) as u16,
            made_at: now,
            resolution: Duration::ZERO,
        };
        let status = PacketStatus::Arrived {
            at: Some(now - waited),
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(now, &header, [status]);
        let counts = tracker.refused();
        assert_eq!((counts.too_early, counts.never_sent), refused);
    }
}

#[test]
fn arrival_before_the_possible_time_is_refused() {
    let mut tracker = sender(2);
    let header = ReportHeader {
        first: FIRST as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = |ms| PacketStatus::Arrived {
        at: Some(Instant::from_secs(50) - Duration::from_millis(ms)),
        ecn: Ecn::NotEct,
    };
    // A report at 1.1 s states that packets which left at 1.00 and 1.01 s arrived 100 ms ago.
    let now = sent_at(FIRST) + RTT;
    assert_eq!(
        tracker.handle_report(now, &header, [arrived(100), arrived(100)]),
        None
    );
    assert_eq!(tracker.refused().too_early, 2);
    let feedback = tracker
        .handle_report(now, &header, [arrived(40), arrived(40)])
        .unwrap();
    assert_eq!(feedback.sent_at, sent_at(FIRST + 1));
}

#[test]
fn a_packet_never_sent_is_refused() {
    let mut tracker = sender(10);
    let header = ReportHeader {
        first: (FIRST + 9) as u16,
        made_at: Instant::from_secs(50),
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: None,
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(Instant::from_secs(2), &header, [arrived; 3]);
    assert_eq!(tracker.refused().never_sent, 2);
}
