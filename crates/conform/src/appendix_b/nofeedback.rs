//! B.3.2: a sender that hears nothing, from the start or from half a second on.

use tfrc::time::Instant;

use super::sender;
use crate::check::{Check, Evidence, Outcome, Run, Value, at_ms, ms, packets_of, sequence, within};
use crate::interposer::{Fate, Script, Side};
use crate::log::Log;
use crate::scripts::steer;

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    sender("B.3.2-21")
        .title("one packet a second for two seconds: departures, s")
        .section("RFC 5348 §4.2")
        .on(&[&MUTE], |e| departures(e, 0, 3)),
    sender("B.3.2-22")
        .title("then the rate halves at 2, 6, 14, 30, 62 s: departures, s")
        .section("RFC 5348 §4.4")
        .on(&[&MUTE], |e| departures(e, 3, 10)),
    sender("B.3.2-23")
        .title("down to a packet in 64 s: departures, s")
        .section("RFC 5348 §4.4")
        .on(&[&MUTE], |e| departures(e, 13, 2)),
    sender("B.3.2-24")
        .title("4R after the last report the rate halves: rate after over rate before")
        .section("RFC 5348 §4.4")
        .on(&[&OUTAGE_BEGINS], |e| {
            let ratios = halvings(e.log(), 2);
            within(ratios.get(1).copied(), 0.5, e.pick(1e-4, 0.05))
        }),
    sender("B.3.2-25")
        .title("and again every 4R while 2s/X is no longer: rates over that before")
        .section("RFC 5348 §4.4")
        .on(&[&OUTAGE_BEGINS], |e| {
            let expected = vec![1.0, 0.5, 0.25, 0.125];
            sequence(halvings(e.log(), 4), expected, |ratio| {
                ratio * e.pick(1e-4, 0.15)
            })
        }),
    sender("B.3.2-26")
        .title("packets are ever farther apart, up to 64 s (the thesis has \"decreased\"): gaps, s")
        .section("RFC 5348 §4.4")
        .on(&[&OUTAGE], growing_gaps),
];

/// Departures of a sender that hears nothing, as the thesis lists them.
const TRACE: [f64; 15] = [
    0.0, 1.0, 2.0, 4.0, 6.0, 10.0, 14.0, 22.0, 30.0, 46.0, 62.0, 94.0, 126.0, 190.0, 254.0,
];

static MUTE: Run = Run::new("mute-receiver", packets_of(1_000), ms(255_000), || {
    Box::new(|passing| match passing.from {
        Side::Sender => Fate::NOW,
        Side::Receiver => Fate::Drop,
    })
});

/// R = 50 ms and 512 packets a second, halved four times.
static OUTAGE_BEGINS: Run = Run::new("outage-begins", packets_of(500), ms(1_500), reports_end);

/// The same, halved fifteen times to one packet in 64 s.
static OUTAGE: Run = Run {
    name: "outage",
    lasts: ms(262_000),
    ..OUTAGE_BEGINS
};

fn reports_end() -> Script {
    Box::new(|mut passing| match passing.from {
        Side::Receiver if passing.at >= OUTAGE_AT => Fate::Drop,
        _ => steer(&mut passing, RTT, 256e3, 0.0),
    })
}
const OUTAGE_AT: Instant = at_ms(500);
const RTT: std::time::Duration = ms(50);

/// `count` departures of the trace from `first` on.
fn departures(e: &Evidence<'_>, first: usize, count: usize) -> Outcome {
    let data = e.log().data.iter().skip(first).take(count);
    let times = data.map(|record| record.at.as_secs_f64()).collect();
    let expected = TRACE[first..first + count].to_vec();
    sequence(times, expected, |_| e.pick(1e-6, 0.2))
}

/// The rate in each of `count` spans of 4R after the last report, over that in the first.
fn halvings(log: &Log, count: u32) -> Vec<f64> {
    let Some((last, _)) = log.reports_to_sender().last().copied() else {
        return Vec::new();
    };
    let rates = (0..count).map(|span| {
        let from = last + 4 * RTT * span;
        log.sending_rate(from, from + 4 * RTT).unwrap_or(0.0)
    });
    let rates: Vec<_> = rates.collect();
    rates.iter().map(|rate| rate / rates[0]).collect()
}

/// The gaps between packets, none shorter than the one before it and the last 64 s.
fn growing_gaps(e: &Evidence<'_>) -> Outcome {
    let data = e.log().data_between(at_ms(5_000), Instant::MAX);
    let gaps: Vec<f64> = data
        .windows(2)
        .map(|pair| pair[1].at.saturating_since(pair[0].at).as_secs_f64())
        .collect();
    // A packet that left late is followed by the next sooner.
    let least = e.pick(1.0 - 1e-6, 0.75);
    let grows = gaps.windows(2).all(|pair| pair[1] >= pair[0] * least);
    let tolerance = e.pick(1e-6, 0.2);
    let last_is_longest = gaps
        .last()
        .is_some_and(|gap| (gap - 64.0).abs() <= tolerance);
    Outcome {
        value: Value::Numbers(gaps),
        expected: Value::Text("none shorter than the last, and at last 64".to_owned()),
        pass: grows && last_is_longest,
    }
}
