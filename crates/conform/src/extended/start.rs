//! §6.3: a receiver that does not see the first packet, or sees a number that wraps at once.

use crate::check::{Check, RFC_5348, Run, ms, packets_of, within};
use crate::interposer::Side;
use crate::log::Log;

use super::path::{SIZE, at_once, fate, on_data, run};

/// The checks of this section.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "E.6.3-84",
        subject: Side::Receiver,
        title: "the first packet is lost: the second is reported at once, ms",
        section: "RFC 5348 §6.3: \"initialized by the first data packet that arrives\"",
        rfc: RFC_5348,
        runs: &[&FIRST_LOST],
        judge: |e| at_once(e, 1, e.log().reports.first()),
    },
    Check {
        id: "E.6.3-85",
        subject: Side::Receiver,
        title: "and begins the history: largest p",
        section: "RFC 5348 §6.3: \"Set p = 0\"",
        rfc: RFC_5348,
        runs: &[&FIRST_LOST],
        judge: |e| within(largest_p(e.log()), 0.0, 0.0),
    },
    Check {
        id: "E.3.2.1-86",
        subject: Side::Receiver,
        title: "the second packet's number is 0 after 65,535: largest p",
        section: "RFC 5348 §3.2.1",
        rfc: RFC_5348,
        runs: &[&WRAP_AT_ONCE],
        judge: |e| within(largest_p(e.log()), 0.0, 0.0),
    },
];

/// A packet a second until the second is answered.
static FIRST_LOST: Run = Run {
    name: "first-packet-lost",
    setup: packets_of(SIZE),
    lasts: ms(2_000),
    script: || on_data(|index, _| fate(index == 0)),
};

static WRAP_AT_ONCE: Run = run("wrap-at-once", 40, || {
    let mut offset = None;
    on_data(move |_, data| {
        let offset = *offset.get_or_insert(data.seq.wrapping_sub(u16::MAX));
        data.seq = data.seq.wrapping_sub(offset);
        fate(false)
    })
});

/// Of at least ten reports.
fn largest_p(log: &Log) -> Option<f64> {
    let reported = log.reports.iter().map(|report| report.seen.p.get());
    let largest = reported.max_by(f64::total_cmp);
    largest.filter(|_| log.reports.len() >= 10)
}
