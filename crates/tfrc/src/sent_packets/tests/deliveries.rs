//! Tests of deliveries: each packet that arrived, once, in the order of arrival.

use super::*;
use proptest::prelude::*;

/// Returns the deliveries of the last report.
fn delivered(tracker: &Sender) -> Vec<(u64, Instant)> {
    let deliveries = tracker.deliveries();
    deliveries.map(|it| (it.number, it.arrived_at)).collect()
}

proptest! {
    #[test]
    fn deliveries_are_each_packet_once_in_order(
        journeys in journeys(),
        every in prop::collection::vec(1usize..20, 1..6),
        order in prop::collection::vec((0u64..200_000, any::<bool>()), 300),
    ) {
        let arrivals = arrivals(&journeys);
        let made = reports(&arrivals, &every, 40);
        let mut tracker = sender(journeys.len());
        let mut came: Vec<(Instant, &Made)> = Vec::new();
        for (made, (later, is_repeated)) in made.iter().zip(&order) {
            let now = made.header.made_at - ZERO + Duration::from_millis(40);
            came.push((now + Duration::from_micros(*later), made));
            came.extend(is_repeated.then_some((now + Duration::from_millis(70), made)));
        }
        came.sort_by_key(|(now, _)| *now);
        let arrived = |number| arrivals.iter().find(|arrival| arrival.seq == number).map(|arrival| arrival.at);
        let mut numbers = std::collections::BTreeSet::new();
        for (now, made) in came {
            let before = tracker.counters().received;
            tracker.handle_report(now, &made.header, made.statuses.iter().copied());
            let delivered = delivered(&tracker);
            prop_assert_eq!(delivered.len() as u64, tracker.counters().received - before);
            prop_assert!(delivered.is_sorted_by_key(|(_, at)| *at));
            let zero = delivered.first().map(|(number, at)| (arrived(*number).expect("it arrived"), *at));
            for (number, at) in delivered {
                prop_assert!(numbers.insert(number), "{} twice", number);
                let (first_arrived, first_at) = zero.expect("there is a first");
                let true_at = arrived(number).expect("it arrived");
                prop_assert_eq!(true_at.saturating_since(first_arrived), at.saturating_since(first_at));
            }
        }
    }
}

#[test]
fn deliveries_leave_out_packets_never_sent() {
    let mut tracker = sender(4);
    tracker.handle_left_out(sent_at(FIRST + 4));
    tracker.handle_sent(sent_at(FIRST + 5), SIZE, Some(RTT));
    let now = sent_at(FIRST + 5) + RTT;
    let header = ReportHeader {
        first: (FIRST - 3) as u16,
        made_at: now,
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: Some(now - RTT / 2),
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(now, &header, [arrived; 30]);
    let numbers: Vec<u64> = tracker.deliveries().map(|it| it.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 5].map(|number| FIRST + number));
    // A repeated arrival is no new delivery.
    tracker.handle_report(now + SPACING, &header, [arrived; 30]);
    assert_eq!(delivered(&tracker), []);
}

#[test]
fn deliveries_are_none_after_room_was_made() {
    let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
    let now = Instant::from_secs(1);
    for _ in 0..4 {
        tracker.handle_sent(now, SIZE, Some(RTT));
    }
    let header = ReportHeader {
        first: 0,
        made_at: now + RTT / 2,
        resolution: Duration::ZERO,
    };
    let arrived = PacketStatus::Arrived {
        at: Some(header.made_at),
        ecn: Ecn::Ect0,
    };
    tracker.ingest_report(now + RTT, &header, [arrived; 4]);
    for number in 1..=20 {
        tracker.handle_sent(now + RTT + SPACING * number, SIZE, Some(RTT));
    }
    assert_eq!(tracker.counters().received, 4);
    assert_eq!(tracker.deliveries().count(), 0);
    assert_eq!(tracker.settle(now + RTT * 3), None);
    assert_eq!(tracker.deliveries().count(), 0);
}
