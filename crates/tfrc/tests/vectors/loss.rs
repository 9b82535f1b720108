//! `intervals.toml`, `loss_events.toml` and `rfc4342_example.toml` (RFC 5348 §5).

use std::time::Duration;

use serde::Deserialize;
use tfrc::loss::{Arrived, LossEstimator};
use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn, ReceiverConfig};

use super::{assert_close, read};

fn packet(seq: u64, ms: u64, r_ms: u64, marked: bool) -> Arrival {
    Arrival {
        seq,
        at: Instant::from_millis(ms),
        timestamp: 0,
        rtt: Some(Duration::from_millis(r_ms)),
        size: Bytes::new(1_000),
        ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
    }
}

/// One that waits for three packets, not for the path's reordering.
fn estimator(discounting: bool) -> LossEstimator {
    LossEstimator::new(&ReceiverConfig {
        discounting,
        ..ReceiverConfig::default()
    })
}

fn assert_p(estimator: &LossEstimator, p: [u32; 2], tolerance: f64, what: &str) {
    let expected = f64::from(p[0]) / f64::from(p[1]);
    assert_close(estimator.loss_event_rate().get(), expected, tolerance, what);
}

#[derive(Deserialize)]
struct IntervalVectors {
    tolerance: f64,
    case: Vec<IntervalCase>,
}

#[derive(Deserialize)]
struct IntervalCase {
    name: String,
    discounting: bool,
    closed: Vec<u64>,
    current: u64,
    p: f64,
}

/// Marks begin the events, for a mark is an event at once: the interval before it is closed with its
/// full length.
#[test]
fn intervals_average_to_their_loss_event_rate() {
    let vectors: IntervalVectors = read("intervals.toml");
    for case in vectors.case {
        let mut estimator = estimator(case.discounting);
        let (first, others) = case.closed.split_first().unwrap();
        let mut seq = 0;
        for length in others.iter().chain([&case.current]) {
            for i in 0..*length {
                // A packet every 10 ms and a round trip of 5 ms: every mark is an event.
                let arrival = packet(seq, seq * 10, 5, i == 0);
                let arrived = estimator.handle_arrival(&arrival, || *first as f64);
                assert_eq!(arrived.new_events, u64::from(i == 0));
                seq += 1;
            }
        }
        let what = format!("{}, discounting {}", case.name, case.discounting);
        assert_close(
            estimator.loss_event_rate().get(),
            case.p,
            vectors.tolerance,
            &what,
        );
    }
}

#[derive(Deserialize)]
struct EventVectors {
    tolerance: f64,
    case: Vec<EventCase>,
}

#[derive(Deserialize)]
struct EventCase {
    name: String,
    r_ms: u64,
    first_interval: u64,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    seq: u64,
    ms: u64,
    #[serde(default)]
    mark: bool,
    r_ms: Option<u64>,
    #[serde(default)]
    duplicate: bool,
    #[serde(default)]
    lost: u64,
    #[serde(default)]
    events: u64,
    #[serde(default)]
    recovered: bool,
    #[serde(default)]
    merged: bool,
    p: Option<[u32; 2]>,
}

#[test]
fn arrivals_group_into_their_loss_events() {
    let vectors: EventVectors = read("loss_events.toml");
    for case in vectors.case {
        let mut estimator = estimator(false);
        let (mut r_ms, mut p) = (case.r_ms, [0, 1]);
        for step in case.steps {
            r_ms = step.r_ms.unwrap_or(r_ms);
            let arrival = packet(step.seq, step.ms, r_ms, step.mark);
            let arrived = estimator.handle_arrival(&arrival, || case.first_interval as f64);
            let what = format!("{}, packet {} at {} ms", case.name, step.seq, step.ms);
            let expected = Arrived {
                duplicate: step.duplicate,
                lost: step.lost,
                recovered: step.recovered,
                new_events: step.events,
                merged: step.merged,
            };
            assert_eq!(arrived, expected, "{what}");
            p = step.p.unwrap_or(p);
            assert_p(&estimator, p, vectors.tolerance, &what);
        }
    }
}

#[derive(Deserialize)]
struct Example {
    packets: String,
    acknowledged: u64,
    option: Vec<u8>,
    intervals: Vec<[u64; 3]>,
    spacing_ms: u64,
    r_ms: u64,
    first_interval: u64,
    p_at_44: [u32; 2],
    p_at_46: [u32; 2],
}

#[test]
fn the_worked_example_of_rfc_4342_has_its_intervals() {
    let example: Example = read("rfc4342_example.toml");
    assert_eq!(
        decode(&example.option, example.acknowledged),
        example.intervals
    );
    // Lost all, or marked all but the last, which the example says was lost: the intervals are the same.
    for marked in [false, true] {
        let mut estimator = estimator(false);
        let mut lost = 0;
        for (seq, packet_was) in (0..).zip(example.packets.chars().chain("--".chars())) {
            let mark = packet_was == '*' && marked && seq != 43;
            if packet_was == '-' || mark {
                let arrival = packet(seq, seq * example.spacing_ms, example.r_ms, mark);
                let arrived = estimator.handle_arrival(&arrival, || example.first_interval as f64);
                lost += arrived.lost;
            }
            if seq == example.acknowledged {
                assert_p(&estimator, example.p_at_44, 1e-15, "at 44");
                // All but 43, which is among the two that the option skips.
                assert_eq!(lost, if marked { 0 } else { 6 });
            }
        }
        assert_p(&estimator, example.p_at_46, 1e-15, "at 46");
    }
}

/// A Loss Intervals option's intervals, newest first: first packet, lossy length, lossless length
/// (RFC 4342 §8.6.1).
fn decode(option: &[u8], acknowledged: u64) -> Vec<[u64; 3]> {
    assert_eq!((option[0], usize::from(option[1])), (193, option.len()));
    let mut end = acknowledged - u64::from(option[2]) + 1;
    let number = |bytes: &[u8]| bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let decode_interval = |bytes: &[u8]| {
        let lossless = number(&bytes[..3]);
        // The top bit is the nonce echo.
        let lossy = number(&bytes[3..6]) & 0x7f_ffff;
        end -= lossless + lossy;
        [end, lossy, lossless]
    };
    option[3..].chunks(9).map(decode_interval).collect()
}
