//! B.3.5 and B.3.6: slow start, and the spacing by the square root of the round-trip time.

use std::time::Duration;

use super::{receiver, sender};
use crate::check::{
    Check, Evidence, Outcome, Run, all_within, between, close, ms, packets_of, ratio, within,
};
use crate::interposer::{Fate, Passing, Side};
use crate::log::Log;
use crate::packet::Packet;
use crate::scripts::{UNLIMITED_RATE, steer};

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    sender("B.3.5-33")
        .title("without loss X doubles at each report a round trip after the last: X over X before")
        .section("RFC 5348 §4.3")
        .on(&[&SLOW_START], |e| {
            let rate = |n| e.log().rate_after_report(n, e.pick(ms(0), ms(10)));
            let ratios = (1..DOUBLINGS - 1).filter_map(|n| Some(rate(n + 1)? / rate(n)?));
            all_within(e, ratios, 2.0, e.pick(1e-3, 0.4))
        }),
    receiver("B.3.5-34")
        .title("without loss the receiver reports p = 0: the largest")
        .section("RFC 5348 §6.3")
        .on(&[&SLOW_START], |e| within(e.log().largest_p(), 0.0, 0.0)),
    sender("B.3.5-35")
        .title("a report of p = 0.01 ends it: X after over X before")
        .section("RFC 5348 §4.3")
        .on(&[&SLOW_START], |e| {
            let rate = |n| e.log().rate_after_report(n, e.pick(ms(0), ms(10)));
            let (before, after) = (rate(DOUBLINGS), rate(DOUBLINGS + 1));
            between(ratio(after, before), 0.0, 0.99)
        }),
    sender("B.3.6-36")
        .title("after R_sample = 10 ms R_sqmean is .9·sqrt(.02) + .1·sqrt(.01), from the rates")
        .section("RFC 5348 §4.5")
        .on(&[&HALVED], |e| {
            close(mean_root(e.log(), HALF), 0.137_279, e.pick(1e-5, 0.1))
        }),
    sender("B.3.6-37")
        .title("and X2/X1 is R_sqmean/sqrt(R_sample)")
        .section("RFC 5348 §4.5 (with X held by X_recv)")
        .on(&[&HALVED], |e| spacing_ratio(e, 1.372_79)),
    sender("B.3.6-38")
        .title("after R_sample = 40 ms R_sqmean is .9·sqrt(.02) + .1·sqrt(.04), from the rates")
        .section("RFC 5348 §4.5")
        .on(&[&DOUBLED], |e| {
            close(mean_root(e.log(), DOUBLE), 0.147_279, e.pick(1e-5, 0.1))
        }),
    sender("B.3.6-39")
        .title("and X2/X1 is R_sqmean/sqrt(R_sample)")
        .section("RFC 5348 §4.5 (with X held by X_recv)")
        .on(&[&DOUBLED], |e| spacing_ratio(e, 0.736_396)),
];

/// Reports before the one that tells of loss.
const DOUBLINGS: usize = 6;

/// No limit by X_recv, so that X doubles at each report. The receiver is told a round-trip time a
/// quarter longer, so that no report comes sooner than a round trip after the last.
static SLOW_START: Run = Run::new("slow-start", packets_of(1_500), ms(1_300), || {
    Box::new(|mut passing| {
        if let Packet::Data(data) = passing.packet {
            data.rtt_micros += data.rtt_micros / 4;
        }
        let loss = passing.log.reports.len() > DOUBLINGS;
        let p = if loss { 0.01 } else { 0.0 };
        steer(&mut passing, ms(100), UNLIMITED_RATE, p)
    })
});

const USUAL: Duration = ms(20);
const HALF: Duration = ms(10);
const DOUBLE: Duration = ms(40);
/// Reports with the usual round-trip time; then one with another, and then none for a while, so that
/// the rate after that one can be measured.
const USUAL_REPORTS: usize = 30;

static HALVED: Run = Run::new("oscillation-half", packets_of(1_000), ms(800), || {
    Box::new(|mut passing| one_other(&mut passing, HALF))
});

static DOUBLED: Run = Run::new("oscillation-double", packets_of(1_000), ms(800), || {
    Box::new(|mut passing| one_other(&mut passing, DOUBLE))
});

fn one_other(passing: &mut Passing<'_>, other: Duration) -> Fate {
    let reports = passing.log.reports.len();
    if passing.from == Side::Receiver && reports > USUAL_REPORTS {
        return Fate::Drop;
    }
    let rtt = if reports < USUAL_REPORTS {
        USUAL
    } else {
        other
    };
    steer(passing, rtt, 800e3, 0.0)
}

/// X before the other report, and after it until the nofeedback timer may expire.
fn rates(log: &Log) -> Option<(f64, f64)> {
    let (at, _) = *log.reports_to_sender().get(USUAL_REPORTS)?;
    let before = log.sending_rate(at - 5 * USUAL, at)?;
    let after = log.sending_rate(at, at + ms(70))?;
    Some((before, after))
}

fn mean_root(log: &Log, sample: Duration) -> Option<f64> {
    let (before, after) = rates(log)?;
    Some(after / before * sample.as_secs_f64().sqrt())
}

fn spacing_ratio(e: &Evidence<'_>, expected: f64) -> Outcome {
    let ratio = rates(e.log()).map(|(before, after)| after / before);
    close(ratio, expected, e.pick(1e-5, 0.1))
}
