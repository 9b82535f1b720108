//! What holds whatever arrives, seen from outside. The properties of a single part are beside it.

use std::time::Duration;

use proptest::prelude::*;
use tfrc::loss::LossEstimator;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig};

const RTT: Duration = Duration::from_millis(100);

/// Packet `seq` of a stream of one every 10 ms.
fn packet(seq: u64) -> Arrival {
    Arrival {
        seq,
        at: Instant::from_millis(seq * 10),
        timestamp: 0,
        rtt: Some(RTT),
        size: Bytes::new(1_000),
        ecn: Ecn::Ect0,
    }
}

/// w_0 … w_7 (RFC 5348 §5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The weighted mean of intervals, newest first.
fn mean(intervals: &[f64]) -> f64 {
    let (mut total, mut weights) = (0.0, 0.0);
    for (length, weight) in intervals.iter().zip(WEIGHTS) {
        total += length * weight;
        weights += weight;
    }
    total / weights
}

proptest! {
    /// As packets come, p stays where the closed intervals put it until the current one raises their
    /// average, and then falls with every packet (RFC 5348 §5.4).
    #[test]
    fn p_falls_only_once_the_current_interval_raises_the_average(
        // All longer than a round trip, so that every mark is an event.
        lengths in prop::collection::vec(12u64..60, 1..12),
        first in 1u64..200,
        discounting in any::<bool>(),
    ) {
        let mut estimator = LossEstimator::new(&ReceiverConfig { discounting, ..ReceiverConfig::default() });
        let mut seq = 0;
        for (i, length) in lengths.iter().chain([&250]).enumerate() {
            let closed: Vec<f64> = lengths[..i].iter().rev().chain([&first]).map(|length| *length as f64).take(8).collect();
            let mut before = LossEventRate::ONE;
            for current in 1..=*length {
                let ecn = if current == 1 { Ecn::Ce } else { Ecn::Ect0 };
                estimator.handle_arrival(&Arrival { ecn, ..packet(seq) }, || first as f64);
                seq += 1;
                let p = estimator.loss_event_rate();
                // What was discounted in earlier intervals is not known here.
                if i == 0 || !discounting {
                    let mut with = vec![current as f64];
                    with.extend(&closed[..closed.len() - usize::from(i < 8)]);
                    let with = mean(&with[..closed.len().min(8)]);
                    let raises = with > mean(&closed) * (1.0 + 1e-9);
                    prop_assert!(raises || (p.get() * mean(&closed) - 1.0).abs() < 1e-9, "{current} of {closed:?}: {p:?}");
                }
                prop_assert!(p <= before, "{current} of {closed:?}: {before:?} to {p:?}");
                before = p;
            }
        }
        // The last interval has outgrown all before it: one more packet lowers p.
        let before = estimator.loss_event_rate();
        estimator.handle_arrival(&packet(seq), || first as f64);
        prop_assert!(estimator.loss_event_rate() < before);
    }

    /// Every packet from the first to the highest is received or lost once all holes are decided.
    #[test]
    fn packets_are_conserved(seqs in prop::collection::vec((50u64..200, any::<bool>()), 1..300)) {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let calls = seqs.len() as u64;
        for (now, (seq, marked)) in seqs.iter().enumerate() {
            let ecn = if *marked { Ecn::Ce } else { Ecn::Ect0 };
            receiver.handle_data(&Arrival { at: Instant::from_millis(now as u64), ecn, ..packet(*seq) });
            let counters = receiver.counters();
            prop_assert_eq!(counters.received + counters.duplicate, now as u64 + 1);
        }
        // Three more above the highest decide every hole.
        for seq in 200..203 {
            receiver.handle_data(&Arrival { at: Instant::from_millis(calls + seq), ..packet(seq) });
        }
        let counters = receiver.counters();
        prop_assert_eq!(counters.received + counters.lost, 203 - seqs[0].0);
    }

    /// Where the equation binds, more loss or a longer round trip never allows more.
    #[test]
    fn the_allowed_rate_falls_as_loss_and_round_trip_rise(
        history in prop::collection::vec((1u64..2_000, 1e-6..0.5f64), 0..10),
        (rtt, longer) in (1u64..5_000, 1u64..5_000),
        (p, more) in (1e-6..0.5f64, 0.0..0.5f64),
    ) {
        let mut sender = Sender::new(Instant::ZERO, SenderConfig::default());
        let mut now = Instant::from_secs(10);
        for (sample, p) in [(rtt, p)].into_iter().chain(history) {
            sender.handle_feedback(now, &report(now, sample, p));
            now += Duration::from_millis(10);
        }
        let allowed = |sample, p| {
            let mut sender = sender.clone();
            sender.handle_feedback(now, &report(now, sample, p));
            sender.allowed_rate()
        };
        let here = allowed(rtt, p);
        let lossier = allowed(rtt, p + more);
        let farther = allowed(rtt + longer, p);
        prop_assert!(lossier <= here, "{here} became {lossier}");
        prop_assert!(farther <= here, "{here} became {farther}");
    }
}

/// A report that everything arrives: recv_limit never binds.
fn report(now: Instant, sample_ms: u64, p: f64) -> Feedback {
    Feedback {
        sent_at: now - Duration::from_millis(sample_ms),
        delay: Duration::ZERO,
        receive_rate: Rate::from_bytes_per_sec(1e12),
        loss_event_rate: LossEventRate::new(p),
    }
}
