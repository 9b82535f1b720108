//! Tests of the bounded record: its size, and packets whose places are taken.

use super::*;

/// A type that owns no memory never has more state than its own size.
#[test]
fn state_has_few_bytes_per_packet() {
    let receiver = size_of::<Arrivals<1_024>>() - size_of::<Arrivals<512>>();
    assert_eq!(receiver, 512 * 16);
    let sender = size_of::<SentPacketTracker<1_024>>() - size_of::<SentPacketTracker<512>>();
    assert_eq!(sender, 512 * 32);
    assert!(!core::mem::needs_drop::<SentPacketTracker<512>>());
    assert!(size_of::<Arrivals<64>>() <= 1_280);
}

/// The slot belongs to a packet that the sender itself marked.
#[test]
fn packet_settles_before_another_takes_its_place() {
    let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
    let now = Instant::from_secs(1);
    // Each packet has another R, because packets with equal R would count as one run.
    for micros in 0..8 {
        let rtt = RTT + Duration::from_micros(micros);
        tracker.handle_sent(now, SIZE, Some(rtt));
    }
    // The tracker waits for the first packet.
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

/// A datagram may end with a refused report. The sender itself marks the packets that take over the slots.
#[test]
fn unsettled_report_counts_before_its_places_are_taken() {
    for others in 0..20u32 {
        let mut tracker = SentPacketTracker::<8>::new(0, ReceiverConfig::default());
        let now = Instant::from_secs(1);
        // Each packet has another R, because packets with equal R would count as one run.
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
        // The slots suffice for eight packets.
        let kept = (others <= 4).then_some(now);
        let settled = tracker.settle(now + RTT + SPACING * others);
        assert_eq!(settled.map(|feedback| feedback.sent_at), kept);
        let counters = tracker.counters();
        assert_eq!((counters.received, counters.lost), (4, 0), "{others}");
        assert!(!tracker.loses_marks(), "{others}");
        // The report has no news, and gives no round trip of the packets.
        let header = made(0, now + 2 * RTT);
        assert_eq!(
            tracker.handle_report(now + 3 * RTT, &header, [arrived(header.made_at); 1]),
            None
        );
    }
}
