//! B.4.2: lost and late packets at the receiver.

use std::time::Duration;

use tfrc::time::Instant;

use super::receiver;
use crate::check::{Check, Evidence, Outcome, Run, between, close, ms, packets_of, within};
use crate::interposer::{Fate, Passing, Script};
use crate::log::{Log, Record};
use crate::packet::{Packet, TfrcReport};
use crate::scripts::steer;

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    receiver("B.4.2-46")
        .title("i is lost: packets above it received when the report tells so")
        .section("RFC 5348 §5.1")
        .on(&[&DROP_ONE], |e| {
            within(received_above(e.log(), FIRST), 3.0, 0.0)
        }),
    receiver("B.4.2-47")
        .title("that report leaves at once: after i+3, ms")
        .section("RFC 5348 §6.1")
        .on(&[&DROP_ONE], |e| at_once(e, FIRST, 3)),
    receiver("B.4.2-48")
        .title("and p has risen: by")
        .section("RFC 5348 §6.1")
        .on(&[&DROP_ONE], |e| rises(e, FIRST)),
    receiver("B.4.2-49")
        .title("i+2, i, i+1: no loss, p stays")
        .section("RFC 5348 §5.1")
        .on(&[&TWO_OVERTAKEN], |e| {
            let is_reordered = order(e.log(), 3) == [2, 0, 1];
            within(e.log().largest_p().filter(|_| is_reordered), 0.0, 0.0)
        }),
    receiver("B.4.2-50")
        .title("i+3, i+2, i+1, i: i is lost: packets above it received when the report tells so")
        .section("RFC 5348 §5.1")
        .on(&[&THREE_OVERTAKEN], |e| {
            let is_reordered = order(e.log(), 4) == [3, 2, 1, 0];
            let above = received_above(e.log(), FIRST);
            within(above.filter(|_| is_reordered), 3.0, 0.0)
        }),
    receiver("B.4.2-51")
        .title("that report leaves at once: after i+1, ms")
        .section("RFC 5348 §6.1")
        .on(&[&THREE_OVERTAKEN], |e| at_once(e, FIRST, 1)),
    receiver("B.4.2-52")
        .title("and p has risen (i may then fill its hole, and p fall): by")
        .section("RFC 5348 §6.1")
        .on(&[&THREE_OVERTAKEN], |e| rises(e, FIRST)),
    receiver("B.4.2-53")
        .title("i and i+1 are lost in a round trip: the report leaves at once after i+4, ms")
        .section("RFC 5348 §6.1")
        .on(&[&DROP_TWO], |e| at_once(e, SECOND, 4)),
    receiver("B.4.2-54")
        .title("and p has risen: by")
        .section("RFC 5348 §5.2")
        .on(&[&DROP_TWO], |e| rises(e, SECOND)),
    receiver("B.4.2-55")
        .title("two losses in a round trip are one event: p over that of a single loss")
        .section("RFC 5348 §5.2")
        .on(&[&DROP_TWO, &DROP_AGAIN], |e| {
            let p = |log| Some(rise(log, SECOND)?.1.seen.p.get());
            let ratio = p(e.logs[0]).zip(p(e.logs[1])).map(|(two, one)| two / one);
            // In real time the synthetic first interval differs by a packet in a round trip, squared.
            close(ratio, 1.0, e.pick(1e-6, 0.3))
        }),
    receiver("B.4.2-56")
        .title("i alone is lost: the report leaves at once after i+3, ms")
        .section("RFC 5348 §6.1")
        .on(&[&DROP_AGAIN], |e| at_once(e, SECOND, 3)),
    receiver("B.4.2-57")
        .title("and p rises as much as with two: rise over rise")
        .section("RFC 5348 §5.2")
        .on(&[&DROP_AGAIN, &DROP_TWO], |e| {
            let ratio = increment(e.logs[0], SECOND).zip(increment(e.logs[1], SECOND));
            close(ratio.map(|(one, two)| one / two), 1.0, e.pick(1e-6, 0.5))
        }),
];

/// R = 400 ms and ten packets in it: room between packets even on a busy host.
const ROUND_TRIP: Duration = ms(400);
const RATE: f64 = 25e3;
/// The data packet, from 0, that is the first *i*: some round trips after the rate has settled.
const FIRST: usize = 30;
/// The *i* of a second loss event, five round trips later. The interval between the two is known to the
/// packet; the one before the first is synthetic.
const SECOND: usize = 80;

static DROP_ONE: Run = Run::new("drop-one", packets_of(1_000), ms(4_000), || {
    on_data(|index| Fate::lost_if(index == FIRST))
});

static TWO_OVERTAKEN: Run = Run::new("overtaken-by-one", packets_of(1_000), ms(4_000), || {
    on_data(|index| match index.wrapping_sub(FIRST) {
        0 => Fate::After(ms(93)),
        1 => Fate::After(ms(66)),
        _ => Fate::NOW,
    })
});

static THREE_OVERTAKEN: Run = Run::new("overtaken-by-three", packets_of(1_000), ms(4_000), || {
    on_data(|index| match index.wrapping_sub(FIRST) {
        0 => Fate::After(ms(150)),
        1 => Fate::After(ms(100)),
        2 => Fate::After(ms(50)),
        _ => Fate::NOW,
    })
});

static DROP_TWO: Run = Run::new("drop-two", packets_of(1_000), ms(6_000), || {
    on_data(|index| Fate::lost_if([FIRST, SECOND, SECOND + 1].contains(&index)))
});

static DROP_AGAIN: Run = Run::new("drop-again", packets_of(1_000), ms(6_000), || {
    on_data(|index| Fate::lost_if([FIRST, SECOND].contains(&index)))
});

/// A steady sender, and a fate for each data packet by its number from 0.
fn on_data(fate: fn(usize) -> Fate) -> Script {
    Box::new(move |mut passing: Passing<'_>| match passing.packet {
        Packet::Data(_) => fate(passing.log.data.len()),
        Packet::Report(_) | Packet::Arrivals | Packet::Other => {
            steer(&mut passing, ROUND_TRIP, RATE, 0.0)
        }
    })
}

/// The first report after packet `i` left whose p is above the p of the report before it, and that report.
fn rise(log: &Log, i: usize) -> Option<(Record<TfrcReport>, Record<TfrcReport>)> {
    let left = log.data.get(i)?.at;
    let pair = log
        .reports
        .windows(2)
        .find(|pair| pair[1].at > left && pair[1].seen.p > pair[0].seen.p)?;
    Some((pair[0], pair[1]))
}

/// Packets above `i` that were delivered before the report of its loss left.
fn received_above(log: &Log, i: usize) -> Option<f64> {
    let (_, report) = rise(log, i)?;
    let above = log.data[i + 1..].iter();
    let received = above.filter(|record| record.delivered.is_some_and(|at| at <= report.at));
    Some(received.count() as f64)
}

/// From the delivery of packet `i + after` to the report of the loss of `i`, ms: at once, if long before
/// the timer of the round trip.
fn at_once(e: &Evidence<'_>, i: usize, after: usize) -> Outcome {
    let log = e.log();
    let waited = rise(log, i).and_then(|(_, report)| {
        let delivered = log.data.get(i + after)?.delivered?;
        let waited = report.at.checked_since(delivered)?;
        Some(waited.as_secs_f64() * 1e3)
    });
    within(waited, 0.0, e.pick(0.001, 20.0))
}

fn increment(log: &Log, i: usize) -> Option<f64> {
    let (before, after) = rise(log, i)?;
    Some(after.seen.p.get() - before.seen.p.get())
}

fn rises(e: &Evidence<'_>, i: usize) -> Outcome {
    between(increment(e.log(), i), f64::MIN_POSITIVE, 1.0)
}

/// The numbers of `count` packets from the first *i* on, less its own, in the order of their delivery.
fn order(log: &Log, count: usize) -> Vec<usize> {
    let packets = log.data.iter().enumerate().skip(FIRST).take(count);
    let mut delivered: Vec<(Option<Instant>, usize)> = packets
        .map(|(index, record)| (record.delivered, index - FIRST))
        .collect();
    delivered.sort();
    delivered.into_iter().map(|(_, number)| number).collect()
}
