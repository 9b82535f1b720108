//! B.3.3 and B.3.4: the sending rate follows the equation and the receive rate, and so does the spacing.

use std::time::Duration;

use tfrc::time::Instant;

use super::sender;
use crate::check::{Check, Evidence, Run, between, close, ms, packets_of, ratio, sequence, within};
use crate::log::Log;
use crate::scripts::{UNLIMITED_RATE, equation, steer};

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    sender("B.3.3-27")
        .title("X is what the equation gives for s, p and R: the thesis's nine, B/s")
        .section("RFC 5348 §3.1")
        .on(
            &[
                &VECTORS[0].run,
                &VECTORS[1].run,
                &VECTORS[2].run,
                &VECTORS[3].run,
                &VECTORS[4].run,
                &VECTORS[5].run,
                &VECTORS[6].run,
                &VECTORS[7].run,
                &VECTORS[8].run,
            ],
            |e| {
                let pairs = VECTORS.iter().zip(e.logs);
                let (rates, expected): (Vec<_>, Vec<_>) = pairs
                    .map(|(vector, log)| {
                        (settled_rate(log), vector.expected * vector.stretch(e, log))
                    })
                    .unzip();
                sequence(rates, expected, |rate| rate * e.pick(1e-5, 0.1))
            },
        ),
    sender("B.3.3-28")
        .title("a change of R changes X: X at 20 ms over X at 10 ms")
        .section("RFC 5348 §4.3")
        .on(&[&RTT_CHANGE], |e| {
            let log = e.log();
            let before = log.sending_rate(CHANGE_AT - ms(300), CHANGE_AT);
            // R is filtered: after 80 reports it is 20 ms but for 2 in ten thousand.
            let after = log.sending_rate(CHANGE_AT + ms(1_600), Instant::MAX);
            close(ratio(after, before), 0.5, e.pick(1e-3, 0.1))
        }),
    sender("B.3.3-29")
        .title("a change of p changes X: X at p = 0.1 over X at 0.006")
        .section("RFC 5348 §4.3")
        .on(&[&P_CHANGE], |e| {
            let log = e.log();
            let before = log.sending_rate(CHANGE_AT - ms(300), CHANGE_AT);
            let after = log.sending_rate(CHANGE_AT + ms(150), Instant::MAX);
            close(
                ratio(after, before),
                265_515.0 / 2.250_06e6,
                e.pick(1e-4, 0.1),
            )
        }),
    sender("B.3.3-30")
        .title("between two reports a round trip apart X·R is sent: mean, bytes")
        .section("RFC 5348 §4.6")
        .on(&[&VECTORS[0].run], |e| {
            let expected = VECTORS[0].expected * VECTORS[0].rtt.as_secs_f64();
            // A packet more or less at each end of the whole, which is some reports shorter.
            let reports = e.log().reports_to_sender();
            within(
                sent_a_round_trip(e.log(), VECTORS[0].rtt),
                expected,
                3_000.0 / reports.len() as f64 + expected * e.pick(0.0, 0.1),
            )
        }),
    sender("B.3.3-31")
        .title("X is no more than twice X_recv, once that is two round trips old: X over 2·X_recv")
        .section("RFC 5348 §4.3")
        .on(&[&LIMIT], |e| {
            between(excess(e.log()), 0.9, e.pick(1.0001, 1.1))
        }),
    sender("B.3.4-32")
        .title("packets are s/X apart: the round trip whose mean is farthest, us")
        .section("RFC 5348 §4.6 (s/X_inst)")
        .on(&[&VECTORS[0].run], |e| {
            let expected = 1_500.0 / VECTORS[0].expected * 1e6;
            // On a busy host a round trip of 10 ms is a few timers long.
            close(farthest_spacing(e, expected), expected, e.pick(2e-5, 0.2))
        }),
];

/// A row of the thesis's table: s, p and R held, X expected.
struct Vector {
    run: Run,
    rtt: Duration,
    expected: f64,
}

impl Vector {
    const fn new(
        name: &'static str,
        packet_size: u16,
        rtt: Duration,
        expected: f64,
        script: fn() -> crate::interposer::Script,
    ) -> Self {
        let reports = 12 * rtt.as_millis() as u64;
        let lasts = ms(if reports < 800 { 800 } else { reports });
        Self {
            run: Run::new(name, packets_of(packet_size), lasts, script),
            rtt,
            expected,
        }
    }

    /// What the R that the sender told makes of X. In virtual time it is the R that was asked for.
    fn stretch(&self, e: &Evidence<'_>, log: &Log) -> f64 {
        let stated = log.data.last().and_then(|record| record.seen.rtt());
        let real = stated.map_or(1.0, |stated| self.rtt.as_secs_f64() / stated.as_secs_f64());
        e.pick(1.0, real)
    }
}

/// The fourth stands under "varying s" in the thesis, yet varies p.
static VECTORS: [Vector; 9] = [
    Vector::new("equation-1", 1_500, ms(10), 2.250_06e6, || {
        equation(ms(10), 0.006)
    }),
    Vector::new("equation-2", 1_500, ms(10), 919_512.0, || {
        equation(ms(10), 0.026)
    }),
    Vector::new("equation-3", 1_500, ms(10), 265_515.0, || {
        equation(ms(10), 0.1)
    }),
    Vector::new("equation-4", 1_500, ms(10), 1.684_98e6, || {
        equation(ms(10), 0.01)
    }),
    Vector::new("equation-5", 4_800, ms(10), 7.200_21e6, || {
        equation(ms(10), 0.006)
    }),
    Vector::new("equation-6", 9_000, ms(10), 1.350_04e7, || {
        equation(ms(10), 0.006)
    }),
    Vector::new("equation-7", 1_500, ms(1), 2.250_06e7, || {
        equation(ms(1), 0.006)
    }),
    Vector::new("equation-8", 1_500, ms(200), 112_503.0, || {
        equation(ms(200), 0.006)
    }),
    Vector::new("equation-9", 1_500, ms(400), 56_251.6, || {
        equation(ms(400), 0.006)
    }),
];

const CHANGE_AT: Instant = Instant::from_millis(600);

static RTT_CHANGE: Run = Run::new("rtt-change", packets_of(1_500), ms(2_700), || {
    Box::new(|mut passing| {
        let rtt = if passing.at < CHANGE_AT {
            ms(10)
        } else {
            ms(20)
        };
        steer(&mut passing, rtt, UNLIMITED_RATE, 0.006)
    })
});

static P_CHANGE: Run = Run::new("p-change", packets_of(1_500), ms(2_000), || {
    Box::new(|mut passing| {
        let p = if passing.at < CHANGE_AT { 0.006 } else { 0.1 };
        steer(&mut passing, ms(40), UNLIMITED_RATE, p)
    })
});

/// X_recv falls from 100 kB/s to 30 kB/s: twice that is still above W_init/R, 40 kB/s.
static LIMIT: Run = Run::new("receive-limit", packets_of(1_000), ms(3_000), || {
    Box::new(|mut passing| {
        let falls = passing.at >= LIMIT_FALLS;
        let rate = if falls { 60e3 } else { 200e3 };
        steer(&mut passing, LIMIT_RTT, rate, 0.0)
    })
});
const LIMIT_RTT: Duration = ms(100);
const LIMIT_FALLS: Instant = Instant::from_millis(1_500);

/// The rate from the sixth report on: p, R and X_recv are held, and so X is.
fn settled_rate(log: &Log) -> f64 {
    let reports = log.reports_to_sender();
    let settled = reports.get(5).map(|(at, _)| *at);
    settled
        .and_then(|at| log.sending_rate(at, Instant::MAX))
        .unwrap_or(0.0)
}

/// Mean of the bytes in a round trip from the sixth report to the last.
fn sent_a_round_trip(log: &Log, rtt: Duration) -> Option<f64> {
    let reports = log.reports_to_sender();
    let (from, to) = (reports.get(5)?.0, reports.last()?.0);
    let data = log.data_between(from, to).iter();
    let bytes: usize = data.map(|record| record.seen.size).sum();
    let round_trips = to.saturating_since(from).as_secs_f64() / rtt.as_secs_f64();
    Some(bytes as f64 / round_trips)
}

/// The larger share that X has of its limit, before and after X_recv fell.
fn excess(log: &Log) -> Option<f64> {
    let before = log.sending_rate(LIMIT_FALLS - ms(500), LIMIT_FALLS)? / 200e3;
    let after = log.sending_rate(LIMIT_FALLS + 4 * LIMIT_RTT, Instant::MAX)? / 60e3;
    Some(before.max(after))
}

/// The mean spacing in the round trip where it is farthest from what is expected, us.
fn farthest_spacing(e: &Evidence<'_>, expected: f64) -> Option<f64> {
    let reports = e.log().reports_to_sender();
    let mut from = reports.get(5)?.0;
    let last = e.log().data.last()?.at;
    let span = VECTORS[0].rtt * e.pick(1, 10);
    let mut farthest = None;
    while from + span <= last {
        let data = e.log().data_between(from, from + span);
        let gaps = data.len().checked_sub(1)?;
        let whole = data.last()?.at.saturating_since(data[0].at);
        let mean = whole.as_secs_f64() * 1e6 / gaps as f64;
        if farthest.is_none_or(|far: f64| (mean - expected).abs() > (far - expected).abs()) {
            farthest = Some(mean);
        }
        from += span;
    }
    farthest
}
