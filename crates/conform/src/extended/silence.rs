//! §4.4 to §4.6: every branch of the nofeedback timer, the spacing while the round-trip time grows, and how
//! far a sender may burst after it had nothing to send.

use std::time::Duration;

use tfrc::time::Instant;

use crate::check::{
    Check, Evidence, Outcome, Run, Setup, at_ms, between, close, ms, packets_of, ratio, sequence,
};
use crate::interposer::{Fate, Passing, Script, Side};
use crate::log::Log;
use crate::packet::Packet;
use crate::scripts::{UNLIMITED_RATE, report_in, steady, steer};

use super::path::{RATE, ROUND_TRIP, SIZE, last_sample};
use super::sender;

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    sender("E.4.4-70")
        .title("idle at W_init/R, no loss: the rate after two seconds over that before")
        .section("RFC 5348 §4.4: \"Don't halve the allowed sending rate\"")
        .on(&[&IDLE_SLOW], |e| after_idle(e, 1.0)),
    sender("E.4.4-71")
        .title(
            "idle at sixteen times that, no loss: halved down to W_init/R: rate over that \
             before",
        )
        .section("RFC 5348 §4.4: \"p==0 && X < 2 * recover_rate\"")
        .on(&[&IDLE_FAST], |e| after_idle(e, 1.0 / 16.0)),
    sender("E.4.4-72")
        .title("idle with loss and X_recv below W_init/R: the rate after over that before")
        .section("RFC 5348 §4.4: \"p>0 && X_recv < recover_rate\"")
        .on(&[&IDLE_SLOW_LOSS], |e| after_idle(e, 1.0)),
    sender("E.4.4-73")
        .title(
            "idle with loss and X_recv of four times that: halved three times: rate over that \
             before",
        )
        .section("RFC 5348 §4.4")
        .on(&[&IDLE_FAST_LOSS], |e| after_idle(e, 1.0 / 8.0)),
    sender("E.4.4-74")
        .title("no reports, loss, held by X_recv: the rate in each 4R over the first")
        .section("RFC 5348 §4.4: \"Update_Limits(X_recv)\"")
        .on(&[&OUTAGE_RECEIVE], halvings),
    sender("E.4.4-75")
        .title("no reports, loss, held by the equation: the rate in each 4R over the first")
        .section("RFC 5348 §4.4: \"Update_Limits(X_Bps/2)\"")
        .on(&[&OUTAGE_EQUATION], halvings),
    sender("E.4.4-76")
        .title(
            "an expiry without loss leaves X_recv_set: the rate after the next report over \
             that before",
        )
        .section("RFC 5348 §4.4: \"We do not have X_Bps yet\"")
        .on(&[&SHORT_OUTAGE], |e| {
            let log = e.log();
            let back = report_after_outage(log, ms(300));
            let after = back.and_then(|at| log.sending_rate(at, at + ms(95)));
            let before = log.sending_rate(OUTAGE_AT - ms(300), OUTAGE_AT);
            close(ratio(after, before), 1.0, e.pick(0.01, 0.15))
        }),
    sender("E.4.4-77")
        .title("it halved: the rate just before that report over that before")
        .section("RFC 5348 §4.4: \"X = max(X/2, s/t_mbi)\"")
        .on(&[&SHORT_OUTAGE], |e| {
            let log = e.log();
            let back = report_after_outage(log, ms(300));
            let low = back.and_then(|at| log.sending_rate(at - ms(95), at - ms(1)));
            let before = log.sending_rate(OUTAGE_AT - ms(300), OUTAGE_AT);
            close(ratio(low, before), 0.5, e.pick(0.01, 0.15))
        }),
    sender("E.4.4-78")
        .title(
            "after an outage with loss X grows from twice X_recv: the rate after the next \
             report over that before it",
        )
        .section(
            "RFC 5348 §4.4: \"still allows the sender to slow-start, doubling its sending \
             rate each RTT\"",
        )
        .on(&[&LONG_OUTAGE], |e| {
            let log = e.log();
            let back = report_after_outage(log, ms(1_000));
            let before = back.and_then(|at| log.sending_rate(at - ms(150), at - ms(1)));
            let after = back.and_then(|at| log.sending_rate(at, at + ms(95)));
            between(ratio(after, before), 1.0, e.pick(2.01, 2.4))
        }),
    sender("E.4.3-79")
        .title("each report restarts the timer: with one every 3R the rate over the expected")
        .section("RFC 5348 §4.3: \"Reset the nofeedback timer to expire after RTO seconds\"")
        .on(&[&RARE_REPORTS], |e| {
            let rate = e.log().sending_rate(at_ms(1_500), at_ms(3_000));
            close(rate.map(|rate| rate / RATE), 1.0, e.pick(1e-3, 0.1))
        }),
    sender("E.4.5-80")
        .title("a sample four times the usual: X_inst over X")
        .section("RFC 5348 §4.5: \"X_inst = X * R_sqmean / sqrt(R_sample)\"")
        .on(&[&SAMPLE_OF_FOUR], |e| {
            let log = e.log();
            let reports = log.reports_to_sender();
            let last = reports.last().map(|(at, _)| *at);
            let before = last.and_then(|at| log.sending_rate(at - ms(300), at - ms(1)));
            let after = last.and_then(|at| log.sending_rate(at, at + ms(90)));
            // (0.9 + 0.1·2)/2.
            close(ratio(after, before), 0.55, e.pick(1e-3, 0.1))
        }),
    sender("E.4.6-81")
        .title("350 ms without data: packets that leave together after it, of 40 in a round trip")
        .section(
            "RFC 5348 §4.6: \"This limit MUST be less than or equal to one round-trip \
             time's worth of packets\"",
        )
        .on(&[&BURST], |e| {
            let back = e.log().data_between(BACK_AT - ms(1), Instant::MAX);
            let first = back.first().map(|record| record.at);
            let together = first.map(|first| {
                let burst = back.iter().take_while(|record| record.at <= first + ms(1));
                burst.count() as f64
            });
            // A round trip's credit, the packet that is due, and what falls due in the millisecond.
            between(together, 1.0, 41.5)
        }),
    sender("E.4.6-82")
        .title("and over any time after it: bytes less s over X·(time + R), largest")
        .section(
            "RFC 5348 §4.6: \"unused send time over the last T seconds\", T the round-trip \
             time",
        )
        .on(&[&BURST], |e| {
            let back = e.log().data_between(BACK_AT - ms(1), BACK_AT + ms(90));
            let first = back.first().map_or(at_ms(0), |record| record.at);
            let shares = back.iter().enumerate().map(|(sent, record)| {
                let time = record.at.saturating_since(first) + ROUND_TRIP;
                sent as f64 * f64::from(SIZE) / (BURST_RATE * time.as_secs_f64())
            });
            let largest = shares.max_by(f64::total_cmp);
            between(largest, 0.0, e.pick(1.0, 1.05))
        }),
    sender("E.4.6-83")
        .title("with data all the time packets never leave together: the shortest gap over s/X")
        .section("RFC 5348 §4.6: \"t_(i+1) = t_i + t_ipi\"")
        .on(&[&BURST], |e| {
            let data = e.log().data_between(at_ms(700), at_ms(990));
            let gaps = data.windows(2).map(|pair| {
                pair[1].at.saturating_since(pair[0].at).as_secs_f64() * BURST_RATE / f64::from(SIZE)
            });
            between(gaps.min_by(f64::total_cmp), e.pick(0.999, 0.0), 1.01)
        }),
];

/// Nothing to send for two seconds and more.
const IDLE: Setup = packets_of(SIZE).with_pause(ms(1_500), ms(4_500), ms(10_000));

const fn idle(name: &'static str, script: fn() -> Script) -> Run {
    Run::new(name, IDLE, ms(4_700), script)
}

static IDLE_SLOW: Run = idle("idle-slow", || steady(ROUND_TRIP, RATE));
static IDLE_FAST: Run = idle("idle-fast", || steady(ROUND_TRIP, 16.0 * RATE));
static IDLE_SLOW_LOSS: Run = idle("idle-slow-loss", || with_loss(RATE, 1e-6));
static IDLE_FAST_LOSS: Run = idle("idle-fast-loss", || with_loss(8.0 * RATE, 1e-6));

fn with_loss(rate: f64, p: f64) -> Script {
    Box::new(move |mut passing| steer(&mut passing, ROUND_TRIP, rate, p))
}

const OUTAGE_AT: Instant = at_ms(1_000);

/// The arrival of the first report that came more than `silence` after the outage began.
fn report_after_outage(log: &Log, silence: Duration) -> Option<Instant> {
    let reports = log.reports_to_sender();
    let mut times = reports.iter().map(|(at, _)| *at);
    times.find(|at| *at > OUTAGE_AT + silence)
}

/// Reports are lost for a time.
fn outage(passing: &mut Passing<'_>, until: Instant, rate: f64, p: f64) -> Fate {
    if passing.from == Side::Receiver && (OUTAGE_AT..until).contains(&passing.at) {
        Fate::Drop
    } else {
        steer(passing, ROUND_TRIP, rate, p)
    }
}

static OUTAGE_RECEIVE: Run = Run::new(
    "outage-receive-limited",
    packets_of(SIZE),
    ms(2_800),
    || Box::new(|mut passing| outage(&mut passing, Instant::MAX, 8.0 * RATE, 1e-6)),
);

static OUTAGE_EQUATION: Run = Run::new(
    "outage-equation-limited",
    packets_of(SIZE),
    ms(2_800),
    || Box::new(|mut passing| outage(&mut passing, Instant::MAX, UNLIMITED_RATE, 0.002)),
);

/// One expiry, and the reports are back before the next.
static SHORT_OUTAGE: Run = Run::new("short-outage", packets_of(SIZE), ms(2_300), || {
    Box::new(|mut passing| outage(&mut passing, at_ms(1_550), 4.0 * RATE, 0.0))
});

/// Afterwards X_recv is what the receiver measured.
static LONG_OUTAGE: Run = Run::new("long-outage", packets_of(SIZE), ms(3_500), || {
    Box::new(|mut passing| {
        if passing.from == Side::Receiver && passing.at >= at_ms(2_450) {
            if let Some(report) = report_in(&mut passing) {
                report.p = tfrc::units::LossEventRate::new(1e-6);
            }
            return Fate::Held(ROUND_TRIP);
        }
        outage(&mut passing, at_ms(2_450), 8.0 * RATE, 1e-6)
    })
});

/// The receiver is told three times R.
static RARE_REPORTS: Run = Run::new("rare-reports", packets_of(SIZE), ms(3_100), || {
    Box::new(|mut passing| {
        if let Packet::Data(data) = passing.packet {
            data.rtt_micros *= 3;
        }
        steer(&mut passing, ROUND_TRIP, RATE, 0.0)
    })
});

/// The last report's sample is 400 ms.
static SAMPLE_OF_FOUR: Run = Run::new("sample-of-four", packets_of(SIZE), ms(1_800), || {
    last_sample(4 * ROUND_TRIP, 4.0 * RATE)
});

const BURST_RATE: f64 = 10.0 * RATE;
const BACK_AT: Instant = at_ms(1_350);

/// Nothing to send for less than the nofeedback timer.
static BURST: Run = Run::new(
    "burst",
    packets_of(SIZE).with_pause(ms(1_000), ms(1_350), ms(10_000)),
    ms(1_500),
    || steady(ROUND_TRIP, BURST_RATE),
);

/// The rate in the round trip after the pause over that before it.
fn after_idle(e: &Evidence<'_>, expected: f64) -> Outcome {
    let before = e.log().sending_rate(at_ms(1_100), at_ms(1_500));
    let after = e.log().sending_rate(at_ms(4_501), at_ms(4_590));
    close(ratio(after, before), expected, e.pick(0.01, 0.15))
}

/// The rate in each 4R after the last report, over that in the first.
fn halvings(e: &Evidence<'_>) -> Outcome {
    let log: &Log = e.log();
    let last = log
        .reports_to_sender()
        .last()
        .map_or(at_ms(0), |(at, _)| *at);
    let rates: Vec<_> = (0..4)
        .map(|span| {
            let from = last + 4 * ROUND_TRIP * span;
            log.sending_rate(from + ms(5), from + 4 * ROUND_TRIP)
                .unwrap_or(0.0)
        })
        .collect();
    let shares = rates.iter().map(|rate| rate / rates[0]).collect();
    sequence(shares, vec![1.0, 0.5, 0.25, 0.125], |share| {
        share * e.pick(0.01, 0.15)
    })
}
