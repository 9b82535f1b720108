//! §3.1 to §4.2: the rate at the ends of the equation's range, for packets of two sizes, and at the start.

use std::time::Duration;

use tfrc::equation;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate};

use crate::check::{
    Check, Evidence, Outcome, Run, Setup, at_ms, between, close, ms, packets_of, sequence,
};
use crate::interposer::{Fate, Side};
use crate::log::Log;
use crate::scripts::{equation as equation_alone, steady, steer};

use super::path::{RATE, ROUND_TRIP, SIZE, steered};
use super::sender;

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    sender("E.3.1-48")
        .title("p = 1 at R = 1 ms: X over what the equation gives")
        .section("RFC 5348 §3.1")
        .on(&[&ALL_LOST], |e| follows_equation(e, ms(1), 1.0)),
    sender("E.3.1-49")
        .title("p = 1e-5 at R = 200 ms: X over what the equation gives")
        .section("RFC 5348 §3.1")
        .on(&[&HARDLY_LOST], |e| follows_equation(e, ms(200), 1e-5)),
    sender("E.3.1-50")
        .title("p = 0.5 at R = 0.1 ms: X over what the equation gives")
        .section("RFC 5348 §3.1")
        .on(&[&NEAR], |e| follows_equation(e, TENTH, 0.5)),
    sender("E.4.1-51")
        .title(
            "packets of two sizes: X over that of full ones (their mean is 0.6, and allowed too)",
        )
        .section("RFC 5348 §4.1: \"either compute the average segment size or use the maximum\"")
        .on(&[&TWO_SIZES], |e| {
            let settled = e.log().reports_to_sender().get(5).map(|(at, _)| *at);
            let rate = settled.and_then(|at| e.log().sending_rate(at, at_ms(u64::MAX)));
            let full = equation_rate(SIZE, ms(50), 0.01);
            between(rate.map(|rate| rate / full), 0.58, e.pick(1.02, 1.1))
        }),
    sender("E.4.2-52")
        .title(
            "X after the first report, R = 100 ms: X·R for packets of 1,000, 1,460 and 3,000 bytes",
        )
        .section("RFC 5348 §4.2: \"W_init = min(4*MSS, max(2*MSS, 4380))\"")
        .on(&[&INITIAL_1000, &INITIAL_1460, &INITIAL_3000], |e| {
            let windows = e.logs.iter().map(|log| {
                let rate = log.rate_after_report(0, ms(0)).unwrap_or(0.0);
                rate * e.pick(ROUND_TRIP, median_rtt(log, at_ms(0))).as_secs_f64()
            });
            let expected = vec![4_000.0, 4_380.0, 6_000.0];
            sequence(windows.collect(), expected, |w| w * e.pick(1e-4, 0.15))
        }),
    sender("E.4.2-53")
        .title("R = 12 s: X·R after the first report, bytes")
        .section("RFC 5348 §4.2")
        .on(&[&FAR], |e| {
            let window = e.log().rate_after_report(0, ms(0)).map(|rate| rate * 12.0);
            close(window, 4_000.0, e.pick(1e-4, 0.05))
        }),
    sender("E.4.2-54")
        .title("the first report comes after the rate was halved: X·R, bytes")
        .section("RFC 5348 §4.2: \"Upon receiving the first round-trip time measurement\"")
        .on(&[&LATE_START], |e| {
            let rate = e.log().rate_after_report(0, ms(0));
            close(rate.map(|rate| rate * 0.1), 4_000.0, e.pick(1e-4, 0.15))
        }),
    sender("E.4.2-55")
        .title("the first report tells p = 0.05: X over W_init/R")
        .section("RFC 5348 §4.2")
        .on(&[&LOSSY_START], |e| {
            let rate = e.log().rate_after_report(0, ms(0));
            between(rate.map(|rate| rate / RATE), 0.5, e.pick(1.0001, 1.15))
        }),
];

const TENTH: Duration = Duration::from_micros(100);

static ALL_LOST: Run = Run::new("all-lost", packets_of(SIZE), ms(5_000), || {
    equation_alone(ms(1), 1.0)
});

static HARDLY_LOST: Run = Run::new("hardly-lost", packets_of(SIZE), ms(2_500), || {
    equation_alone(ms(200), 1e-5)
});

static NEAR: Run = Run::new("near", packets_of(SIZE), ms(800), || {
    equation_alone(TENTH, 0.5)
});

/// One report, about the first packet.
static FAR: Run = Run::new("far", packets_of(SIZE), ms(24_000), || {
    Box::new(|mut passing| match passing.from {
        Side::Receiver if !passing.log.reports.is_empty() => Fate::Drop,
        _ => steer(&mut passing, ms(12_000), RATE, 0.0),
    })
});

static TWO_SIZES: Run = Run::new(
    "two-sizes-sent",
    Setup {
        shortfall: 800,
        ..packets_of(SIZE)
    },
    ms(1_500),
    || equation_alone(ms(50), 0.01),
);

/// No more than W_init/R, whatever X_recv is.
const fn initial(name: &'static str, packet_size: u16) -> Run {
    Run::new(name, packets_of(packet_size), ms(1_000), || {
        steady(ROUND_TRIP, 2.0)
    })
}
pub(super) static INITIAL_1000: Run = initial("initial-1000", 1_000);
static INITIAL_1460: Run = initial("initial-1460", 1_460);
static INITIAL_3000: Run = initial("initial-3000", 3_000);

/// No report before the timer of two seconds.
static LATE_START: Run = Run::new("late-start", packets_of(SIZE), ms(5_000), || {
    Box::new(|mut passing| match passing.from {
        Side::Receiver if passing.at < at_ms(2_500) => Fate::Drop,
        _ => steer(&mut passing, ROUND_TRIP, RATE, 0.0),
    })
});

static LOSSY_START: Run = Run::new("lossy-start", packets_of(SIZE), ms(400), || {
    steered(|_| (0.0, 0.05))
});

fn equation_rate(size: u16, rtt: Duration, p: f64) -> f64 {
    let rate = equation::rate(Bytes::new(size.into()), rtt, LossEventRate::new(p));
    rate.bytes_per_sec()
}

/// The R that the sender told after an instant: the median, for real ones scatter.
fn median_rtt(log: &Log, from: Instant) -> Duration {
    let after = log.data_between(from, Instant::MAX).iter();
    let mut median_rtt: Vec<_> = after.filter_map(|record| record.seen.rtt()).collect();
    median_rtt.sort();
    median_rtt
        .get(median_rtt.len() / 2)
        .copied()
        .unwrap_or(ROUND_TRIP)
}

/// X from the sixth report on, over what the equation gives.
fn follows_equation(e: &Evidence<'_>, rtt: Duration, p: f64) -> Outcome {
    let log = e.log();
    let settled = log.reports_to_sender().get(5).map(|(at, _)| *at);
    let settled = settled.unwrap_or(Instant::MAX);
    let rate = log.sending_rate(settled, Instant::MAX);
    let expected = equation_rate(SIZE, e.pick(rtt, median_rtt(log, settled)), p);
    // A round trip bounds the credit: of one that is shorter than a timer is late, that is lost.
    let real = if rtt < ms(1) { 0.5 } else { 0.15 };
    close(rate.map(|rate| rate / expected), 1.0, e.pick(1e-4, real))
}
