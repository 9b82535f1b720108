//! Reports that count, that are refuted, and their averages.

use super::*;

pub(crate) fn block(highest_sequence: u32, fraction_lost: u8, cumulative_lost: i32) -> ReportBlock {
    ReportBlock {
        ssrc: 1,
        fraction_lost,
        cumulative_lost,
        highest_sequence,
        jitter: 0,
        last_sender_report: 0,
        delay_since: 0,
    }
}

/// Hands over a report of the highest number, the fraction and the number lost, after as many packets.
pub(crate) fn report(
    reception: &mut Reception,
    at: Instant,
    (highest, fraction, lost): (u32, u8, i32),
    round_trip: Option<Duration>,
) -> Reading {
    let known = Circumstances {
        round_trip,
        is_proven: round_trip.is_some(),
        sent: highest,
        next: highest + 1,
        rate: Rate::from_bytes_per_sec(highest.into()),
    };
    reception.handle_block(at, &block(highest, fraction, lost), &known)
}

const fn secs(secs: u64) -> Instant {
    Instant::from_secs(secs)
}

#[test]
fn losses_are_weighted_by_the_time_that_they_took() {
    let mut reception = Reception::default();
    for (at, counts) in [(0, (0, 0, 0)), (1, (100, 128, 50)), (4, (400, 0, 50))] {
        report(&mut reception, secs(at), counts, None);
    }
    assert_eq!(reception.loss(2), 0.125);
    assert_eq!(reception.loss(1), 0.0);
    assert_eq!(reception.spacing(), Duration::from_secs(2));
    let rate = reception.receive_rate(Bytes::new(1_000));
    assert_eq!(rate, Rate::from_bytes_per_sec(100_000.0));
}

/// A report of the highest number after so many packets.
fn stall(reception: &mut Reception, at: u64, highest: u32, sent: u32) -> Reading {
    let known = Circumstances {
        round_trip: None,
        is_proven: false,
        sent,
        next: sent + 1,
        rate: Rate::ZERO,
    };
    reception.handle_block(secs(at), &block(highest, 0, 0), &known)
}

#[test]
fn a_number_that_stands_still_counts_while_packets_leave() {
    let mut reception = Reception::default();
    for (at, highest, sent, stalled) in [
        (0, 10, 10, 0),
        (5, 10, 10, 0),
        (10, 10, 20, 1),
        (15, 10, 30, 2),
        (20, 11, 40, 0),
    ] {
        assert_eq!(stall(&mut reception, at, highest, sent), Reading::Counted);
        assert_eq!(reception.stalled().0, stalled);
    }
}

#[test]
fn numbers_that_never_left_count_for_nothing() {
    let mut reception = Reception::default();
    assert_eq!(stall(&mut reception, 0, 10, 10), Reading::Counted);
    for highest in [1 << 30 | 60, 400, 51] {
        assert_eq!(stall(&mut reception, 1, highest, 50), Reading::Ignored);
    }
    // The lower half is right.
    assert_eq!(stall(&mut reception, 2, 1 << 30, 50), Reading::Counted);
    let rate = reception.receive_rate(Bytes::new(1_000));
    assert_eq!(rate, Rate::from_bytes_per_sec(25_000.0));
}

#[test]
fn report_without_proof_counts_until_one_has_it() {
    let proof = Some(Duration::from_millis(40));
    let mut reception = Reception::default();
    for (at, proof, is_counted) in [
        (0, None, true),
        (5, None, true),
        (10, proof, true),
        (11, None, false),
        (24, None, false),
        (25, None, true),
    ] {
        let counts = (100 * at as u32, 0, 0);
        let reading = report(&mut reception, secs(at), counts, proof);
        assert_eq!(reading != Reading::Ignored, is_counted, "at {at} s");
    }
}

#[test]
fn refuted_report_leaves_nothing_behind() {
    for (forged, is_refuted) in [
        ((1_500, 255, 480), true),
        ((1_500, 255, 1_000), true),
        ((1_500, 255, -9_000), true),
        ((1_999, 255, 700), true),
        ((1_500, 2, 5), false),
    ] {
        let mut reception = Reception::default();
        for (at, counts) in [(0, (0, 0, 0)), (5, (1_000, 0, 0))] {
            report(&mut reception, secs(at), counts, None);
        }
        report(&mut reception, secs(7), forged, None);
        let reading = report(&mut reception, secs(10), (2_000, 2, 8), None);
        if is_refuted {
            let rate = reception.last.expect("a report").rate;
            assert!(
                matches!(reading, Reading::Refutes(before) if before < rate),
                "{forged:?}"
            );
            let mut kept = reception.intervals.iter().map(|it| it.before.at);
            assert!(kept.all(|at| at != secs(7)), "{forged:?}");
        } else {
            assert_eq!(reading, Reading::Counted, "{forged:?}");
        }
        assert!(reception.confirmed_loss(REMEMBERED) < 0.01, "{forged:?}");
    }
}
