//! Tests of the estimator: arrivals in, loss events and p out.

use super::*;
use crate::Ecn;
use crate::loss::Average;
use crate::units::Bytes;
use proptest::prelude::*;

fn estimator() -> LossEstimator {
    LossEstimator::new(&ReceiverConfig::default())
}

fn packet(seq: u64, ms: u64) -> Arrival {
    Arrival {
        seq,
        at: Instant::from_millis(ms),
        timestamp: 0,
        rtt: Some(Duration::from_millis(100)),
        size: Bytes::new(1_000),
        ecn: Ecn::Ect0,
    }
}

/// Returns the loss events of one packet every 10 ms without those in `lost`, each by the packet that revealed it.
fn events(lost: &[u64], upto: u64) -> std::vec::Vec<u64> {
    let mut estimator = estimator();
    (0..upto)
        .filter(|seq| !lost.contains(seq))
        .filter(|seq| {
            let arrived = estimator.handle_arrival(&packet(*seq, seq * 10), || 50.0);
            arrived.new_events > 0
        })
        .collect()
}

/// A tolerated loss inside an event would undo the event when its packet arrives late.
#[test]
fn late_packets_take_no_event_back_with_tolerance() {
    let mut estimator = estimator();
    estimator.tolerate_losses(0.1);
    let lost = [6, 17, 21];
    let in_order = (0..40).filter(|seq| !lost.contains(seq));
    for seq in in_order {
        estimator.handle_arrival(&packet(seq, seq * 5), || 50.0);
    }
    assert!(!estimator.loss_event_rate().is_zero());
    for late in [17, 6] {
        estimator.handle_arrival(&packet(late, 200), || 50.0);
    }
    assert!(!estimator.loss_event_rate().is_zero());
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    assert_eq!(events(&[20, 21, 25, 30], 60), [24]);
    // Packet 31 would have come 110 ms after packet 20.
    assert_eq!(events(&[20, 31], 60), [23, 34]);
}

#[test]
fn a_loss_exactly_one_round_trip_later_still_belongs_to_the_event() {
    assert_eq!(events(&[20, 30], 60), [23]);
}

#[test]
fn a_mark_is_an_event_at_once() {
    let mut estimator = estimator();
    estimator.handle_arrival(&packet(0, 0), || 50.0);
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..packet(1, 10)
    };
    assert_eq!(estimator.handle_arrival(&marked, || 50.0).new_events, 1);
    assert_eq!(estimator.loss_event_rate().get(), 0.02);
}

#[test]
fn what_is_missing_below_a_mark_begins_the_event() {
    let mut estimator = estimator();
    estimator.handle_arrival(&packet(10, 0), || 50.0);
    estimator.handle_arrival(&packet(12, 20), || 50.0);
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..packet(13, 30)
    };
    let arrived = estimator.handle_arrival(&marked, || 50.0);
    assert_eq!((arrived.lost, arrived.new_events), (1, 1));
    assert_eq!(estimator.intervals.event_start(), Some(11));
}

#[test]
fn in_rfc_3448_a_mark_says_nothing_of_what_is_missing_below() {
    let mut estimator = LossEstimator::new(&ReceiverConfig {
        standard: Standard::Rfc3448,
        ..ReceiverConfig::default()
    });
    estimator.handle_arrival(&packet(10, 0), || 50.0);
    estimator.handle_arrival(&packet(12, 20), || 50.0);
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..packet(13, 30)
    };
    let arrived = estimator.handle_arrival(&marked, || 50.0);
    assert_eq!((arrived.lost, arrived.new_events), (0, 1));
    assert_eq!(estimator.intervals.event_start(), Some(13));
}

/// RFC 4828 §3: with a packet every 10 ms and a round trip of 100 ms, an interval is short up to 200 ms.
#[test]
fn with_small_packets_every_loss_of_a_short_interval_counts() {
    let p = |small_packets, lost: &[u64], upto| {
        let mut estimator = LossEstimator::new(&ReceiverConfig {
            small_packets,
            discounting: false,
            ..ReceiverConfig::default()
        });
        for seq in (0..upto).filter(|seq| !lost.contains(seq)) {
            estimator.handle_arrival(&packet(seq, seq * 10), || 5.0);
        }
        1.0 / estimator.loss_event_rate().get()
    };
    // Events at 20 and 40; three of the twenty packets of the interval between are lost.
    let lost = [20, 21, 25, 40];
    let close = |mean: f64, expected: f64| assert!((mean - expected).abs() < 1e-9, "{mean}");
    close(p(true, &lost, 45), (20.0 / 3.0 + 5.0) / 2.0);
    close(p(false, &lost, 45), (20.0 + 5.0) / 2.0);
    // The interval is one packet, and so 10 ms, longer, and therefore not short.
    close(p(true, &[20, 21, 25, 41], 45), (21.0 + 5.0) / 2.0);
    // The current interval counts once it is longer than two round trips.
    close(p(true, &[20, 41], 62), (21.0 + 5.0) / 2.0);
    close(p(true, &[20, 41], 63), (22.0 + 21.0) / 2.0);
}

#[test]
fn a_late_packet_takes_its_loss_event_back() {
    let mut estimator = estimator();
    for seq in [0, 1, 3, 4, 5] {
        estimator.handle_arrival(&packet(seq, seq * 10), || 50.0);
    }
    assert_eq!(estimator.loss_event_rate().get(), 0.02);
    let arrived = estimator.handle_arrival(&packet(2, 60), || 50.0);
    assert!(arrived.recovered && arrived.merged);
    assert!(estimator.loss_event_rate().is_zero());
}

#[test]
fn a_late_mark_below_what_is_lost_belongs_to_its_event() {
    let mut estimator = estimator();
    // 11 to 13 are lost at 40 ms; 11 comes a second later, marked, and then 12 and 13.
    for (seq, ms) in [(10, 0), (14, 40), (15, 41), (16, 42)] {
        estimator.handle_arrival(&packet(seq, ms), || 50.0);
    }
    let marked = Arrival {
        ecn: Ecn::Ce,
        ..packet(11, 1_000)
    };
    assert_eq!(estimator.handle_arrival(&marked, || 50.0).new_events, 0);
    for seq in [12, 13] {
        // The mark remains, and so does the event.
        let arrived = estimator.handle_arrival(&packet(seq, 1_001), || 50.0);
        assert!(arrived.recovered && !arrived.merged);
    }
    assert_eq!(estimator.loss_event_rate().get(), 0.02);
}

#[test]
fn a_blackout_of_many_round_trips_is_many_events_and_bounded_work() {
    for average in [Average::default(), Average::Plain(MAX_INTERVALS as u8)] {
        let mut estimator = LossEstimator::new(&ReceiverConfig {
            average,
            ..ReceiverConfig::default()
        });
        estimator.handle_arrival(&packet(0, 0), || 50.0);
        let mut events = 0;
        for seq in [1_u64 << 40, (1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3] {
            let arrival = packet(seq, 3_600_000 + (seq & 3));
            events += estimator.handle_arrival(&arrival, || 50.0).new_events;
        }
        // An hour is 36,000 round trips of 2^40 / 36,000 packets.
        assert!((35_998..=36_000).contains(&events), "{events}");
        let mean = 1.0 / estimator.loss_event_rate().get() / (1_u64 << 40) as f64;
        assert!((0.99..1.01).contains(&(mean * 36_000.0)), "{mean}");
    }
}

proptest! {
    #[test]
    fn any_arrivals_leave_a_probability(
        arrivals in prop::collection::vec((0u64..300, 0u64..100_000, any::<bool>(), 0u64..2_000), 1..200),
        [discounting, reordering] in any::<[bool; 2]>(),
    ) {
        let config = ReceiverConfig { discounting, reordering, ..ReceiverConfig::default() };
        let mut estimator = LossEstimator::new(&config);
        let mut previous = 0.0;
        for (seq, ms, marked, rtt) in arrivals {
            let arrival = Arrival {
                rtt: (rtt > 0).then(|| Duration::from_millis(rtt)),
                ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
                ..packet(seq, ms)
            };
            let arrived = estimator.handle_arrival(&arrival, || 30.0);
            let p = estimator.loss_event_rate().get();
            prop_assert!((0.0..=1.0).contains(&p));
            // p rises only on a new loss event, or if a merge removes the discount of a long interval.
            prop_assert!(p <= previous * (1.0 + 1e-12) || arrived.new_events > 0 || arrived.merged, "{previous} to {p}");
            previous = p;
        }
    }

    /// Numbers, times and round trips of any size must leave a probability, with bounded work and no panic.
    #[test]
    fn extremes_leave_a_probability(
        arrivals in prop::collection::vec((extreme(), extreme(), any::<bool>(), extreme()), 1..60),
    ) {
        let mut estimator = estimator();
        for (seq, nanos, marked, rtt) in arrivals {
            let arrival = Arrival {
                at: Instant::from_nanos(nanos),
                rtt: Some(Duration::from_nanos(rtt)),
                ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
                ..packet(seq, 0)
            };
            estimator.handle_arrival(&arrival, || 1.0);
            prop_assert!((0.0..=1.0).contains(&estimator.loss_event_rate().get()));
        }
    }
}

/// Generates any number, often one near an end of the range.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..20u64, u64::MAX - 20..=u64::MAX]
}
