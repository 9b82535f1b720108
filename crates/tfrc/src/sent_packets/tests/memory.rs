//! Tests of the bounded record: its size, and packets whose places are taken.

use super::*;

/// What owns nothing has no state but its own size.
#[test]
fn state_has_few_bytes_per_packet() {
    let receiver = size_of::<Arrivals<1_024>>() - size_of::<Arrivals<512>>();
    assert_eq!(receiver, 512 * 16);
    let sender = size_of::<SentPacketTracker<1_024>>() - size_of::<SentPacketTracker<512>>();
    assert_eq!(sender, 512 * 32);
    assert!(!core::mem::needs_drop::<SentPacketTracker<512>>());
    assert!(size_of::<Arrivals<64>>() <= 1_280);
}

/// Its place is that of a packet which we marked ourselves.
#[test]
fn packet_settles_before_another_takes_its_place() {
    let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
    let now = Instant::from_secs(1);
    // Another R each, or they were counted in one run.
    for micros in 0..8 {
        let rtt = RTT + Duration::from_micros(micros);
        tracker.handle_sent(now, SIZE, Some(rtt));
    }
    // The first is waited for.
    let report = |made_at, first, count| {
        let header = ReportHeader {
            first,
            made_at,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(made_at),
            ecn: Ecn::Ect0,
        };
        (header, std::vec![arrived; count])
    };
    let (header, statuses) = report(now + RTT / 2, 1, 7);
    tracker.handle_report(now + RTT, &header, statuses);
    assert_eq!(tracker.counters().received, 0);
    for _ in 0..5 {
        tracker.handle_sent(now + RTT, SIZE, Some(RTT));
        tracker.handle_test_mark();
    }
    let (header, statuses) = report(now + RTT + RTT / 2, 5, 3);
    tracker.handle_report(now + 2 * RTT, &header, statuses);
    assert_eq!(tracker.counters().received, 7);
    assert!(!tracker.loses_marks());
}

/// A datagram may end with a report that is refused. The packets that take their places are marked by ourselves.
#[test]
fn unsettled_report_counts_before_its_places_are_taken() {
    for others in 0..20u32 {
        let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
        let now = Instant::from_secs(1);
        // Another R each, or they were counted in one run.
        for micros in 0..4 {
            let rtt = RTT + Duration::from_micros(micros);
            tracker.handle_sent(now, SIZE, Some(rtt));
        }
        let arrived = |at| PacketStatus::Arrived {
            at: Some(at),
            ecn: Ecn::Ect0,
        };
        let made = |first, made_at| ReportHeader {
            first,
            made_at,
            resolution: Duration::ZERO,
        };
        let header = made(0, now + RTT / 2);
        tracker.ingest_report(now + RTT, &header, [arrived(header.made_at); 4]);
        for number in 1..=others {
            tracker.handle_sent(now + RTT + SPACING * number, SIZE, Some(RTT));
            tracker.handle_test_mark();
        }
        // There is room for eight.
        let kept = (others <= 4).then_some(now);
        let settled = tracker.settle(now + RTT + SPACING * others);
        assert_eq!(settled.map(|feedback| feedback.sent_at), kept);
        let counters = tracker.counters();
        assert_eq!((counters.received, counters.lost), (4, 0), "{others}");
        assert!(!tracker.loses_marks(), "{others}");
        // It tells nothing new, and makes no round trip of theirs.
        let header = made(0, now + 2 * RTT);
        assert_eq!(
            tracker.handle_report(now + 3 * RTT, &header, [arrived(header.made_at); 1]),
            None
        );
    }
}
