//! §5.4 and §5.5: the average of the loss intervals and its discounting, to the digit.

use tfrc::Ecn;

use crate::check::{Check, Run, within};
use crate::interposer::Fate;

use super::oracle::{self, Event, loss_event_rate, marked};
use super::path::{FIRST, highest, on_data, run};
use super::receiver;

/// The checks of these sections.
pub(super) static CHECKS: &[Check] = &[
    receiver("E.5.4-23")
        .title("fewer than n intervals: p over what it must be")
        .section(
            "RFC 5348 §5.4: \"otherwise, k is the maximum number of loss intervals seen so \
             far\"",
        )
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, FIRST..EVENTS[7].start)
        }),
    receiver("E.5.4-24")
        .title("n intervals, weighted by age: p over what it must be")
        .section("RFC 5348 §5.4")
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, EVENTS[8].start..EVENTS[9].start + 15)
        }),
    receiver("E.5.4-25")
        .title("the interval before the n last counts no more: p over that without it")
        .section("RFC 5348 §5.4")
        .on(&[&HISTORY], |e| {
            let log = e.log();
            let ratio = log.reports.iter().rev().find_map(|report| {
                let highest = highest(log, &report.seen)?;
                let recent = EVENTS[9].start..EVENTS[9].start + 15;
                // Any length stands for what was before.
                let expected = loss_event_rate(&EVENTS, 1e9, highest);
                recent
                    .contains(&highest)
                    .then(|| report.seen.p.get() / expected)
            });
            within(ratio, 1.0, 1e-6)
        }),
    receiver("E.5.4-26")
        .title("a current interval below the average changes nothing: values of p while it is")
        .section(
            "RFC 5348 §5.4: \"only include the current loss interval if it is sufficiently \
             large\"",
        )
        .on(&[&HISTORY], |e| {
            let log = e.log();
            let reports = log.reports.iter().filter(|report| {
                let highest = highest(log, &report.seen);
                highest.is_some_and(|highest| {
                    (EVENTS[11].start..EVENTS[11].start + 20).contains(&highest)
                })
            });
            let mut values: Vec<_> = reports.map(|report| report.seen.p.get()).collect();
            let seen = values.len();
            values.dedup();
            within((seen >= 4).then_some(values.len() as f64), 1.0, 0.0)
        }),
    receiver("E.5.5-27")
        .title(
            "a current interval above twice the average discounts the others: p over what it \
             must be",
        )
        .section("RFC 5348 §5.5: \"DF = 2 * I_mean/I_0\"")
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, EVENTS[9].start + 19..EVENTS[9].start + 70)
        }),
    receiver("E.5.5-28")
        .title("down to the threshold of 0.25: p over what it must be")
        .section("RFC 5348 §5.5: \"We recommend a THRESHOLD of 0.25\"")
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, EVENTS[9].start + 85..EVENTS[10].start)
        }),
    receiver("E.5.5-29")
        .title("a new event keeps the discount: p over what it must be")
        .section("RFC 5348 §5.5: \"DF_i = DF * DF_i\"")
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, EVENTS[10].start..EVENTS[11].start)
        }),
    receiver("E.5.5-30")
        .title("and the next one multiplies it: p over what it must be")
        .section("RFC 5348 §5.5")
        .on(&[&HISTORY], |e| {
            oracle::exact(e, &EVENTS, EVENTS[12].start..usize::MAX)
        }),
];

/// Intervals of 6 to 14 packets, with an average of some 9; a long one, whose discount reaches the
/// threshold; and two that discount less.
const LENGTHS: [usize; 12] = [9, 7, 12, 6, 10, 8, 14, 6, 9, 110, 12, 90];

const EVENTS: [Event; 13] = {
    let mut events = [marked(FIRST); 13];
    let mut i = 0;
    while i < LENGTHS.len() {
        events[i + 1] = marked(events[i].start + LENGTHS[i]);
        i += 1;
    }
    events
};

static HISTORY: Run = run("history", 350, || {
    on_data(|index, data| {
        if EVENTS.iter().any(|event| event.start == index) {
            data.ecn = Ecn::Ce;
        }
        Fate::NOW
    })
});
