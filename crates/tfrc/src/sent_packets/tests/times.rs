//! Tests of reported times: delays and arrival times are believed within measured round trips.

use super::*;

/// A sender cannot measure how long a receiver waited, and an exaggerated wait makes R too short.
#[test]
fn long_delay_is_believed_once_and_within_limits() {
    let mut tracker = sender(10);
    // Each report takes 100 ms from the departure of its last packet.
    let mut delay = |seq: u64, waited: u64| {
        let header = ReportHeader {
            first: seq as u16,
            made_at: sent_at(seq) + ZERO,
            resolution: Duration::ZERO,
        };
        let arrived = PacketStatus::Arrived {
            at: Some(header.made_at - Duration::from_millis(waited)),
            ecn: Ecn::NotEct,
        };
        let now = sent_at(seq) + RTT;
        let feedback = tracker.handle_report(now, &header, [arrived]).unwrap();
        feedback.delay.as_millis()
    };
    let reported = [9, 3, 9, 9, 1, 5];
    let believed = (FIRST..)
        .zip(reported)
        .map(|(seq, waited)| delay(seq, waited));
    assert!(believed.eq([0, 3, 3, 0, 1, 1]));
}

/// The receiver claims that the packets after a loss arrived together with it, and later ones soon after they left.
/// Two losses 1.9 round trips apart would be one event if that were believed.
#[test]
fn arrival_times_merge_no_losses_sent_far_apart() {
    for (apart, events) in [(9, 1), (12, 2), (19, 2)] {
        let lost = [FIRST + 30, FIRST + 30 + apart];
        let mut tracker = sender(80);
        let mut feedback = None;
        for first in (FIRST..FIRST + 80).step_by(10) {
            let header = ReportHeader {
                first: first as u16,
                made_at: sent_at(first + 9) + ZERO + RTT,
                resolution: Duration::ZERO,
            };
            let claim = |seq: u64| {
                if lost.contains(&seq) {
                    return PacketStatus::Missing;
                }
                // On a time line on which reports arrive when they are made, every packet arrived a round trip
                // after it left.
                let came = sent_at(seq) + RTT;
                let event = sent_at(lost[0]) + RTT;
                let claimed = if came < event {
                    came
                } else {
                    event.max(came - RTT * 9 / 10)
                };
                PacketStatus::Arrived {
                    at: Some(claimed + ZERO),
                    ecn: Ecn::NotEct,
                }
            };
            let now = sent_at(first + 9) + RTT;
            let statuses = (first..first + 10).map(claim);
            feedback = tracker.handle_report(now, &header, statuses).or(feedback);
        }
        assert!(feedback.is_some());
        assert_eq!(
            tracker.counters().loss_events,
            events,
            "{apart} packets apart"
        );
    }
}

/// Ingests a report of these packets, made at `now` on the sender's clock and `waited` after the last arrival.
fn report(
    tracker: &mut Sender,
    now: Instant,
    packets: core::ops::Range<u64>,
    made_at: Instant,
    waited: Duration,
) -> Option<Feedback> {
    let header = ReportHeader {
        first: packets.start as u16,
        made_at: made_at + ZERO,
        resolution: Duration::from_millis(2),
    };
    let last = packets.end - 1;
    let arrived = |seq| PacketStatus::Arrived {
        at: Some(header.made_at - waited - SPACING * (last - seq) as u32),
        ecn: Ecn::NotEct,
    };
    tracker.handle_report(now, &header, packets.map(arrived))
}

/// The other packets would otherwise have waited since that date.
#[test]
fn report_of_later_date_shortens_no_round_trip() {
    let mut tracker = sender(20);
    let mut report = |last: u64, ahead: u64| {
        let sent = sent_at(last);
        let made_at = sent + Duration::from_millis(ahead);
        report(
            &mut tracker,
            sent + RTT,
            FIRST..last + 1,
            made_at,
            Duration::ZERO,
        )
    };
    assert!(report(FIRST, 0).is_some());
    assert!(report(FIRST, 900).is_none());
    // The first report is believed down to the round trip before it, the second without a lower bound.
    for last in [FIRST + 10, FIRST + 11] {
        assert_eq!(report(last, 0).unwrap().delay, Duration::ZERO);
    }
}

/// The report of the packet below arrives that much later.
#[test]
fn overtaking_report_adds_no_wait_to_rtt() {
    for (later, believed) in [(0, 0), (3, 3), (20, 20)] {
        let mut tracker = sender(3);
        let mut report = |seq: u64, later: u64| {
            let now = sent_at(seq) + RTT + Duration::from_millis(later);
            report(
                &mut tracker,
                now,
                seq..seq + 1,
                sent_at(seq),
                Duration::ZERO,
            )
        };
        assert!(report(FIRST, 0).is_some());
        assert!(report(FIRST + 2, 0).is_none());
        let feedback = report(FIRST + 1, 10 + later).unwrap();
        assert_eq!(feedback.sent_at, sent_at(FIRST + 2));
        assert_eq!(feedback.delay, Duration::from_millis(believed));
    }
}

#[test]
fn round_trip_is_at_least_the_format_resolution() {
    for (reported, believed) in [(97, 97), (98, 98), (99, 98), (100, 98)] {
        let mut tracker = sender(1).trusting();
        let waited = Duration::from_millis(reported);
        let now = sent_at(FIRST) + RTT;
        let feedback = report(&mut tracker, now, FIRST..FIRST + 1, sent_at(FIRST), waited);
        assert_eq!(feedback.unwrap().delay, Duration::from_millis(believed));
    }
}

/// A foreign receiver may collect reports, the first of which then waited longest.
#[test]
fn reports_together_give_the_last_round_trip() {
    let mut tracker = SentPacketTracker::<64>::new(0, ReceiverConfig::default());
    for seq in 0..20 {
        tracker.handle_sent(Instant::ZERO + SPACING * seq, SIZE, Some(RTT));
    }
    let came = Instant::ZERO + SPACING * 19 + Duration::from_millis(80);
    for first in [0u16, 10] {
        let arrived = |seq: u16| Instant::ZERO + ZERO + SPACING * u32::from(seq);
        let header = ReportHeader {
            first,
            made_at: arrived(first + 9),
            resolution: Duration::ZERO,
        };
        let statuses = (first..first + 10).map(|seq| PacketStatus::Arrived {
            at: Some(arrived(seq)),
            ecn: Ecn::NotEct,
        });
        tracker.ingest_report(came, &header, statuses);
    }
    let feedback = tracker.settle(came).unwrap();
    assert_eq!(feedback.sent_at, Instant::ZERO + SPACING * 19);
    assert_eq!(feedback.delay, Duration::ZERO);
    assert_eq!(tracker.counters().received, 20);
    assert_eq!(tracker.settle(came), None);
}
