//! Tests of packets that no report covered: each hole is one loss event.

use super::*;

#[test]
fn unreported_packets_are_one_loss_per_hole() {
    let journeys: Vec<_> = (0..200)
        .map(|_| Journey {
            lost: false,
            marked: false,
            jitter: Duration::ZERO,
        })
        .collect();
    let arrivals = arrivals(&journeys);
    let made = reports(&arrivals, &[10], 0);
    let mut tracker = sender(200);
    for (index, made) in made.iter().enumerate() {
        let now = made.header.made_at - ZERO + Duration::from_millis(30);
        let statuses = made.statuses.iter().copied();
        if index % 4 != 1 {
            tracker.handle_report(now, &made.header, statuses);
        }
    }
    assert_eq!(tracker.never_reported(), 50);
    let counters = tracker.counters();
    assert_eq!((counters.received, counters.lost), (150, 5));
    assert_eq!(counters.loss_events, 5);
}

#[test]
fn unreported_hole_with_left_out_number_is_one() {
    let mut tracker = Sender::new(FIRST, ReceiverConfig::default());
    for seq in FIRST..FIRST + 40 {
        if seq == FIRST + 15 {
            tracker.handle_left_out(sent_at(seq));
        } else {
            tracker.handle_sent(sent_at(seq), SIZE, Some(RTT));
        }
    }
    for first in [FIRST, FIRST + 20, FIRST + 30] {
        let made_at = sent_at(first + 15) + ZERO;
        let header = ReportHeader {
            first: first as u16,
            made_at,
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + 10).map(|seq| PacketStatus::Arrived {
            at: Some(sent_at(seq) + ZERO + Duration::from_millis(40)),
            ecn: Ecn::NotEct,
        });
        tracker.handle_report(made_at - ZERO + RTT, &header, statuses);
    }
    let counters = tracker.counters();
    assert_eq!((counters.received, counters.lost), (30, 1));
    assert_eq!(tracker.never_reported(), 9);
}

/// Reports skip what was lost, once in five packets; each hole is a loss event.
#[test]
fn skipped_losses_are_loss_events() {
    let honest = with_numbers_left_out(|seq| seq % 10 == 0);
    let mut tracker = sender(200);
    for seq in (FIRST..FIRST + 195).step_by(15) {
        let header = ReportHeader {
            first: seq as u16,
            made_at: sent_at(seq + 15) + ZERO,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(sent_at(seq + 14) + ZERO),
            ecn: Ecn::NotEct,
        };
        tracker.handle_report(sent_at(seq + 15) + RTT, &header, [arrived; 14]);
    }
    assert!(tracker.counters().loss_events > 5);
    assert_eq!(honest.counters().loss_events, 0);
}
