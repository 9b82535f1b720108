//! §4.3 and §8.2: what the receiver saw limits the rate; reports that are lost, late or overtaken; and a
//! sender that has less to send than it may.

use tfrc::time::Instant;
use tfrc::units::Rate;

use crate::check::{
    Check, Evidence, Outcome, Run, Setup, at_ms, close, ms, packets_of, ratio, within,
};
use crate::interposer::{Fate, Script, Side};
use crate::packet::Packet;
use crate::scripts::{UNLIMITED_RATE, report_in, set, steer};

use super::path::{RATE, ROUND_TRIP, SIZE, in_ms, last_sample, steered};
use super::rate::INITIAL_1000;
use super::sender;

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    sender("E.4.3-56")
        .title("X_recv = 30 kB/s in all reports: after the second X doubles all the same, kB/s")
        .section(
            "RFC 5348 §4.3: \"recv_limit is set to Infinity for the first two round-trip \
             times\"",
        )
        .on(&[&LIMITED], |e| kilobytes(e, 1, 80.0)),
    sender("E.4.3-57")
        .title("and after the sixth it is 2·X_recv, kB/s")
        .section("RFC 5348 §4.3: \"recv_limit = 2 * max (X_recv_set)\"")
        .on(&[&LIMITED], |e| kilobytes(e, 5, 60.0)),
    sender("E.4.3-58")
        .title("one X_recv of 10 kB/s among 50: X after it, kB/s")
        .section(
            "RFC 5348 §4.3: \"X_recv values with timestamps from the two most recent \
             round-trip times\"",
        )
        .on(&[&ONE_LOW], |e| kilobytes(e, DIP, 100.0)),
    sender("E.4.3-59")
        .title("X_recv falls from 50 to 25 kB/s: X after the fourth such report, kB/s")
        .section("RFC 5348 §4.3: \"Delete from X_recv_set values older than two round-trip times\"")
        .on(&[&LOWER], |e| kilobytes(e, DIP + 3, 50.0)),
    sender("E.4.3-60")
        .title("X_recv = 1 B/s without loss: X is W_init/R, kB/s")
        .section("RFC 5348 §4.3: \"X = max(min(2*X, recv_limit), initial_rate)\"")
        .on(&[&INITIAL_1000], |e| kilobytes(e, 7, 40.0)),
    sender("E.4.3-61")
        .title("a report every 0.28 R: X twelve reports later over X, doubled after each four")
        .section("RFC 5348 §4.3: \"Else if (t_now - tld >= R)\"")
        .on(&[&FOUR_A_ROUND_TRIP], |e| {
            // By the ninth report packets are so close that the receiver's timer alone spaces reports.
            let rate = |n| e.log().rate_after_report(n, ms(0));
            close(ratio(rate(20), rate(8)), 8.0, e.pick(1e-3, 0.4))
        }),
    sender("E.4.3-62")
        .title("p = 1e-6 and X_recv = 30 kB/s: X is 2·X_recv, kB/s")
        .section("RFC 5348 §4.3: \"X = max(min(X_Bps, recv_limit), s/t_mbi)\"")
        .on(&[&LIMITED_WITH_LOSS], |e| kilobytes(e, 7, 60.0)),
    sender("E.4.3-63")
        .title("two reports are lost: rate after over rate before")
        .section("RFC 5348 §4.3: \"in cases when the previous feedback packet was lost\"")
        .on(&[&REPORTS_LOST], |e| {
            steady_around(e, at_ms(1_050), at_ms(1_900))
        }),
    sender("E.4.3-64")
        .title("a report is overtaken by the next: the rate two round trips later over that before")
        .section("RFC 5348 §4.3")
        .on(&[&REPORTS_REORDERED], |e| {
            let overtaken = e.log().reports.windows(2).any(|pair| {
                let times = pair[0].delivered.zip(pair[1].delivered);
                times.is_some_and(|(first, second)| second < first)
            });
            let ratio = steady_around(e, at_ms(1_500), at_ms(1_950));
            Outcome {
                pass: ratio.pass && overtaken,
                ..ratio
            }
        }),
    sender("E.4.3-65")
        .title("t_delay is no part of the round trip: R for 80 ms of which it is 60, ms")
        .section("RFC 5348 §4.3: \"R_sample = (t_now - t_recvdata) - t_delay\"")
        .on(&[&DELAYED], |e| {
            let stated = e.log().data.last().and_then(|record| record.seen.rtt());
            within(stated.map(in_ms), 20.0, e.pick(0.01, 10.0))
        }),
    sender("E.4.3-66")
        .title("one sample of 1.1 s after those of 100 ms: R, ms")
        .section("RFC 5348 §4.3: \"R = q*R + (1-q)*R_sample\"")
        .on(&[&SAMPLE_JUMPS], |e| {
            let jumped = e.log().reports_to_sender().last().map(|(at, _)| *at);
            let stated = jumped.and_then(|at| e.log().rtt_after(at));
            within(stated.map(in_ms), 200.0, e.pick(0.01, 15.0))
        }),
    sender("E.4.3-67")
        .title(
            "a tenth of the rate for a second for want of data: the rate after it over that \
             before",
        )
        .section(
            "RFC 5348 §4.3: \"prevents a sender from having to reduce its sending rate\" by \
             a data-limited interval",
        )
        .on(&[&DATA_LIMITED], |e| {
            steady_around(e, at_ms(2_010), at_ms(2_090))
        }),
    sender("E.4.3-68")
        .title("the same with a loss in it: the rate after it over that before")
        .section("RFC 5348 §4.3: \"Halve entries in X_recv_set\"")
        .on(&[&DATA_LIMITED_LOSS], |e| {
            let rates = over_first_second(e, at_ms(2_010), at_ms(2_400));
            close(rates, 0.5, e.pick(0.01, 0.15))
        }),
    sender("E.8.2.1-69")
        .title("the same low reports while all is sent that may be: the rate over that before")
        .section(
            "RFC 5348 §8.2.1: \"any time in the period (t_old, t_new] when the sender was \
             not data-limited\"",
        )
        .on(&[&LOW_REPORTS], |e| {
            let rates = over_first_second(e, at_ms(1_500), at_ms(2_000));
            close(rates, 0.25, e.pick(1e-3, 0.1))
        }),
];

/// X doubles if a report comes R or more after the last change of X. So that a timer that is late once does not
/// decide, the second report comes later, and says so.
static LIMITED: Run = Run::new("limited", packets_of(SIZE), ms(1_000), || {
    Box::new(|mut passing| {
        let is_second = passing.log.reports.len() == 1;
        let fate = steer(&mut passing, ROUND_TRIP, 60e3, 0.0);
        match report_in(&mut passing) {
            Some(report) if is_second => {
                report.delay += ms(10);
                Fate::After(ROUND_TRIP + ms(10))
            }
            _ => fate,
        }
    })
});

/// The report from which X_recv is lower.
const DIP: usize = 8;

static ONE_LOW: Run = Run::new("one-low-report", packets_of(SIZE), ms(1_500), || {
    steered(|n| (if n == DIP { 10e3 } else { 50e3 }, 0.0))
});

static LOWER: Run = Run::new("lower-reports", packets_of(SIZE), ms(1_800), || {
    steered(|n| (if n >= DIP { 25e3 } else { 50e3 }, 0.0))
});

static LIMITED_WITH_LOSS: Run = Run::new("limited-with-loss", packets_of(SIZE), ms(1_200), || {
    steered(|_| (30e3, 1e-6))
});

/// The receiver is told 0.28 R: of four reports the last is more than a round trip after the first, of three it is
/// less, each by more than a timer is late. Each report is held for the whole.
static FOUR_A_ROUND_TRIP: Run = Run::new(
    "four-reports-a-round-trip",
    packets_of(SIZE),
    ms(1_200),
    || {
        Box::new(|mut passing| {
            if let Packet::Data(data) = passing.packet {
                data.rtt_micros = data.rtt_micros / 100 * 28;
            }
            steer(&mut passing, ROUND_TRIP, UNLIMITED_RATE, 0.0)
        })
    },
);

static REPORTS_LOST: Run = Run::new("reports-lost", packets_of(SIZE), ms(2_000), || {
    Box::new(|mut passing| match passing.from {
        Side::Receiver if (at_ms(1_000)..at_ms(1_190)).contains(&passing.at) => Fate::Drop,
        _ => steer(&mut passing, ROUND_TRIP, 2.0 * RATE, 0.0),
    })
});

static REPORTS_REORDERED: Run = Run::new("reports-reordered", packets_of(SIZE), ms(2_000), || {
    Box::new(|mut passing| match passing.from {
        Side::Receiver if (at_ms(1_000)..at_ms(1_090)).contains(&passing.at) => {
            steer(&mut passing, ms(250), 2.0 * RATE, 0.0)
        }
        _ => steer(&mut passing, ROUND_TRIP, 2.0 * RATE, 0.0),
    })
});

static DELAYED: Run = Run::new("t-delay", packets_of(SIZE), ms(1_000), || {
    Box::new(|mut passing| {
        let Some(report) = report_in(&mut passing) else {
            return Fate::NOW;
        };
        report.delay += ms(60);
        Fate::After(ms(80))
    })
});

/// After a second all reports but one are lost; that one takes 1.1 s.
static SAMPLE_JUMPS: Run = Run::new("sample-jumps", packets_of(SIZE), ms(3_500), || {
    last_sample(ms(1_100), RATE)
});

/// A packet every round trip for a second.
const SPARSE: Setup = packets_of(SIZE).with_pause(ms(1_000), ms(2_000), ms(100));

/// X_recv = 80 kB/s, and 10 while that is what is sent.
static DATA_LIMITED: Run = Run::new("data-limited", SPARSE, ms(2_300), || {
    at_times(|at| {
        let low = (at_ms(1_110)..at_ms(2_090)).contains(&at);
        (if low { 10e3 } else { 80e3 }, 1e-6)
    })
});

/// p rises in the middle. Afterwards X_recv is half of what it was.
static DATA_LIMITED_LOSS: Run = Run::new("data-limited-loss", SPARSE, ms(2_500), || {
    at_times(|at| {
        let rate = match () {
            () if at < at_ms(1_110) => 80e3,
            () if at < at_ms(2_090) => 10e3,
            () => 40e3,
        };
        (rate, if at < at_ms(1_500) { 1e-6 } else { 2e-6 })
    })
});

/// As DATA_LIMITED, but for the sender, which has all the time data.
static LOW_REPORTS: Run = Run::new("low-reports", packets_of(SIZE), ms(2_100), || {
    at_times(|at| (if at < at_ms(1_110) { 80e3 } else { 20e3 }, 1e-6))
});

/// X_recv and p by the time at which the report left.
fn at_times(say: fn(Instant) -> (f64, f64)) -> Script {
    Box::new(move |mut passing| {
        let (receive_rate, p) = say(passing.at);
        if let Some(report) = report_in(&mut passing) {
            set(report, Rate::from_bytes_per_sec(receive_rate), p);
        }
        Fate::Held(ROUND_TRIP)
    })
}

/// X after the `n`th report, kB/s.
fn kilobytes(e: &Evidence<'_>, n: usize, expected: f64) -> Outcome {
    let rate = e.log().rate_after_report(n, ms(0));
    close(rate.map(|rate| rate / 1e3), expected, e.pick(1e-4, 0.15))
}

/// The rate in a span equals the rate at the end of the first second.
fn steady_around(e: &Evidence<'_>, from: Instant, to: Instant) -> Outcome {
    close(over_first_second(e, from, to), 1.0, e.pick(0.01, 0.15))
}

/// The rate in a span over the rate in the last four round trips of the first second.
fn over_first_second(e: &Evidence<'_>, from: Instant, to: Instant) -> Option<f64> {
    let before = e.log().sending_rate(at_ms(600), at_ms(1_000));
    ratio(e.log().sending_rate(from, to), before)
}
