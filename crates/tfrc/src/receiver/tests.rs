//! Tests of the receiver: when it reports, and which p and X_recv.

use super::*;
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(100);

fn packet(seq: u64, ms: u64) -> Arrival {
    Arrival {
        seq,
        at: Instant::from_millis(ms),
        timestamp: seq as u32,
        rtt: Some(RTT),
        size: Bytes::new(1_000),
        ecn: Ecn::NotEct,
    }
}

/// A type that owns no memory never has more state than its own size.
#[test]
fn the_state_is_less_than_four_kilobytes_and_owns_nothing() {
    let size = size_of::<Receiver>();
    assert!(size <= 4_096, "{size}");
    assert!(!core::mem::needs_drop::<Receiver>());
}

#[test]
fn the_end_of_an_hour_at_a_million_packets_a_second_is_like_its_start() {
    let hour = 3_600 * 1_000_000;
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut last = None;
    for seq in hour - 250_000..hour {
        let now = Instant::from_micros(seq);
        receiver.handle_data(&Arrival {
            at: now,
            ..packet(seq, 0)
        });
        last = receiver.poll_report(now).or(last);
    }
    let report = last.unwrap();
    assert!(report.loss_event_rate.is_zero());
    assert_eq!(report.receive_rate, Rate::from_bytes_per_sec(1e9));
    assert_eq!(receiver.counters().received, 250_000);
}

#[test]
fn a_report_may_be_taken_whenever_data_came_since_the_last() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    assert_eq!(receiver.take_report(Instant::from_millis(1)), None);
    receiver.handle_data(&packet(0, 5));
    assert!(receiver.take_report(Instant::from_millis(6)).is_some());
    assert_eq!(receiver.take_report(Instant::from_millis(7)), None);
    receiver.handle_data(&packet(1, 8));
    let report = receiver.take_report(Instant::from_millis(9)).unwrap();
    assert_eq!(report.delay, Duration::from_millis(1));
}

#[test]
fn reports_leave_as_often_as_they_are_told_to() {
    for (quarters, expected) in [(1, 40), (4, 10), (40, 1)] {
        let mut receiver = Receiver::new(ReceiverConfig {
            report_quarters: quarters,
            ..ReceiverConfig::default()
        });
        let sent = (0..=1_000).filter(|&ms| {
            receiver.handle_data(&packet(ms, ms));
            receiver.poll_report(Instant::from_millis(ms)).is_some()
        });
        // The first packet is reported at once.
        assert_eq!(sent.count(), expected + 1, "{quarters}");
    }
}

proptest! {
    #[test]
    fn a_run_counts_as_its_packets_do(
        lost in 0..12u64, before in 0..20u64, sizes in proptest::collection::vec(1..2_000u64, 1..200), gap in 0..3u64,
    ) {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for seq in (0..=before).filter(|seq| *seq != lost) {
            receiver.handle_data(&packet(seq, seq));
            receiver.poll_report(Instant::from_millis(seq));
        }
        let first = before + 1;
        let mut single = receiver.clone();
        let until = receiver.takes_run_until(first);
        let run = (first..).zip(&sizes).map(|(seq, size)| Arrival {
            size: Bytes::new(*size),
            ..packet(seq, before + (seq - before) * gap)
        });
        let run: std::vec::Vec<_> = run.take_while(|packet| packet.at < until).collect();
        for packet in &run {
            single.handle_data(packet);
        }
        if let Some(last) = run.last() {
            receiver.handle_run(&Run {
                count: run.len() as u64,
                last_seq: last.seq,
                last_at: last.at,
                rtt: RTT,
                bytes: run.iter().map(|packet| packet.size).sum(),
                largest: run.iter().map(|packet| packet.size).max().unwrap_or_default(),
            });
            // The timestamp of a run is the one of the packet before.
            single.timestamp = receiver.timestamp;
        }
        prop_assert_eq!(std::format!("{receiver:?}"), std::format!("{single:?}"));
    }
}

#[test]
fn the_first_packet_is_reported_at_once_with_no_rate_and_no_loss() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.handle_data(&packet(0, 5));
    let now = Instant::from_millis(8);
    assert!(receiver.poll_timeout().is_some_and(|due| due <= now));
    let report = receiver.poll_report(now).unwrap();
    assert_eq!(report.delay, Duration::from_millis(3));
    assert_eq!(
        (report.receive_rate, report.loss_event_rate),
        (Rate::ZERO, LossEventRate::ZERO)
    );
    assert_eq!(receiver.poll_report(now), None);
    assert_eq!(receiver.poll_timeout(), None);
    receiver.handle_data(&packet(1, 20));
    assert_eq!(receiver.poll_timeout(), Some(now + RTT));
}

#[test]
fn until_a_round_trip_is_told_every_packet_is_reported() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in 0..4 {
        receiver.handle_data(&Arrival {
            rtt: None,
            ..packet(seq, seq * 7)
        });
        assert!(
            receiver
                .poll_report(Instant::from_millis(seq * 7))
                .is_some()
        );
    }
}

#[test]
fn one_report_a_round_trip_carries_what_arrived() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    let mut reports = std::vec::Vec::new();
    for seq in 0..100 {
        receiver.handle_data(&packet(seq, seq * 10));
        let now = Instant::from_millis(seq * 10);
        reports.extend(receiver.poll_report(now));
    }
    assert_eq!(reports.len(), 10);
    // 1,000 bytes every 10 ms.
    assert!(
        reports[1..]
            .iter()
            .all(|r| (r.receive_rate.bytes_per_sec() - 1e5).abs() < 1.0),
        "{reports:?}"
    );
}

#[test]
fn the_first_loss_is_reported_at_once_and_allows_the_rate_so_far() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in 0..100 {
        receiver.handle_data(&packet(seq, seq * 10));
        receiver.poll_report(Instant::from_millis(seq * 10));
    }
    for seq in [101, 102] {
        receiver.handle_data(&packet(seq, seq * 10));
        receiver.poll_report(Instant::from_millis(seq * 10));
    }
    receiver.handle_data(&packet(103, 1_030));
    let report = receiver.poll_report(Instant::from_millis(1_030)).unwrap();
    let allowed = equation::rate(Bytes::new(1_000), RTT, report.loss_event_rate).bytes_per_sec();
    assert!((allowed / 1e5 - 1.0).abs() < 0.05, "{allowed}");
    assert_eq!(receiver.counters().lost, 1);
}

/// At 1,000 bytes every 10 ms, then every 20 ms, RFC 3448 allows the later rate.
#[test]
fn in_rfc_3448_the_first_loss_allows_the_rate_of_the_last_round_trip() {
    for (standard, expected) in [(Standard::Rfc5348, 1e5), (Standard::Rfc3448, 5e4)] {
        let mut receiver = Receiver::new(ReceiverConfig {
            standard,
            ..ReceiverConfig::default()
        });
        let times = (0..100).chain((100..200).step_by(2));
        for (seq, time) in times.enumerate() {
            // Packet 147 is lost.
            let seq = seq as u64 + u64::from(seq >= 147);
            receiver.handle_data(&packet(seq, time * 10));
            receiver.poll_report(Instant::from_millis(time * 10));
        }
        let p = receiver.loss_event_rate();
        let allowed = equation::rate(Bytes::new(1_000), RTT, p).bytes_per_sec();
        assert!(
            (allowed / expected - 1.0).abs() < 0.05,
            "{standard:?} {allowed}"
        );
    }
}

#[test]
fn in_rfc_3448_a_silence_does_not_hasten_the_report_after_it() {
    for (standard, expected) in [(Standard::Rfc5348, 250), (Standard::Rfc3448, 300)] {
        let mut receiver = Receiver::new(ReceiverConfig {
            standard,
            ..ReceiverConfig::default()
        });
        receiver.handle_data(&packet(0, 0));
        receiver.poll_report(Instant::ZERO);
        receiver.handle_data(&packet(1, 250));
        assert_eq!(
            receiver.poll_timeout(),
            Some(Instant::from_millis(expected))
        );
    }
}

#[test]
fn a_loss_event_taken_back_is_reported_at_once() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in [0, 1, 2, 4, 5, 6] {
        receiver.handle_data(&packet(seq, seq * 10));
        receiver.poll_report(Instant::from_millis(seq * 10));
    }
    assert!(receiver.handle_data(&packet(3, 70)).merged);
    let report = receiver.poll_report(Instant::from_millis(70)).unwrap();
    assert_eq!(report.loss_event_rate, LossEventRate::ZERO);
}

#[test]
fn a_marked_first_packet_allows_half_a_packet_a_round_trip() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    receiver.handle_data(&Arrival {
        ecn: Ecn::Ce,
        ..packet(0, 0)
    });
    let report = receiver.poll_report(Instant::ZERO).unwrap();
    let allowed = equation::rate(Bytes::new(1_000), RTT, report.loss_event_rate).bytes_per_sec();
    assert!((allowed / 5_000.0 - 1.0).abs() < 0.05, "{allowed}");
}

#[test]
fn being_descheduled_does_not_change_the_measured_rate() {
    let mut receiver = Receiver::new(ReceiverConfig::default());
    for seq in 0..50 {
        receiver.handle_data(&packet(seq, seq * 10));
        receiver.poll_report(Instant::from_millis(seq * 10));
    }
    // The process sleeps for 300 ms, then reads half of what waits before its timer is served.
    for seq in 50..65 {
        receiver.handle_data(&packet(seq, seq * 10));
    }
    let report = receiver.poll_report(Instant::from_millis(800)).unwrap();
    assert!(
        (report.receive_rate.bytes_per_sec() - 1e5).abs() < 1.0,
        "{report:?}"
    );
    assert_eq!(report.delay, Duration::from_millis(160));
}

/// Generates any number, often one near an end of the range.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..20u64, u64::MAX - 20..=u64::MAX]
}

proptest! {
    #[test]
    fn extremes_leave_a_finite_report(
        arrivals in prop::collection::vec(
            ([extreme(), extreme(), extreme()], prop::option::of(extreme()), any::<bool>(), extreme()),
            1..60,
        ),
    ) {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for ([seq, at, size], rtt, marked, now) in arrivals {
            receiver.handle_data(&Arrival {
                seq,
                at: Instant::from_nanos(at),
                timestamp: 0,
                rtt: rtt.map(Duration::from_nanos),
                size: Bytes::new(size),
                ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
            });
            if let Some(report) = receiver.poll_report(Instant::from_nanos(now)) {
                prop_assert!(report.receive_rate.is_finite());
                prop_assert!((0.0..=1.0).contains(&report.loss_event_rate.get()));
            }
        }
    }

    #[test]
    fn a_loss_is_never_reported_as_none(rtt in extreme(), size in extreme(), step in 0..1u64 << 40) {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for seq in [0, 1, 3, 4, 5] {
            receiver.handle_data(&Arrival {
                at: Instant::from_nanos(seq * step),
                rtt: Some(Duration::from_nanos(rtt)),
                size: Bytes::new(size),
                ..packet(seq, 0)
            });
            receiver.poll_report(Instant::from_nanos(seq * step));
        }
        prop_assert!(!receiver.loss_event_rate().is_zero());
    }
}
