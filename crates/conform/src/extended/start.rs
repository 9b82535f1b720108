//! §6.3: a receiver that does not see the first packet, or sees a number that wraps at once.

use crate::check::{Check, Run, ms, packets_of, within};
use crate::interposer::Fate;
use crate::log::Log;

use super::path::{SIZE, at_once, on_data, run};
use super::receiver;

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    receiver("E.6.3-84")
        .title("the first packet is lost: the second is reported at once, ms")
        .section("RFC 5348 §6.3: \"initialized by the first data packet that arrives\"")
        .on(&[&FIRST_LOST], |e| at_once(e, 1, e.log().reports.first())),
    receiver("E.6.3-85")
        .title("and begins the history: largest p")
        .section("RFC 5348 §6.3: \"Set p = 0\"")
        .on(&[&FIRST_LOST], |e| within(largest_p(e.log()), 0.0, 0.0)),
    receiver("E.3.2.1-86")
        .title("the second packet's number is 0 after 65,535: largest p")
        .section("RFC 5348 §3.2.1")
        .on(&[&WRAP_AT_ONCE], |e| within(largest_p(e.log()), 0.0, 0.0)),
];

/// A packet a second until the second is answered.
static FIRST_LOST: Run = Run::new("first-packet-lost", packets_of(SIZE), ms(2_000), || {
    on_data(|index, _| Fate::lost_if(index == 0))
});

static WRAP_AT_ONCE: Run = run("wrap-at-once", 40, || {
    let mut offset = None;
    on_data(move |_, data| {
        let offset = *offset.get_or_insert(data.seq.wrapping_sub(u16::MAX));
        data.seq = data.seq.wrapping_sub(offset);
        Fate::NOW
    })
});

/// Of at least ten reports.
fn largest_p(log: &Log) -> Option<f64> {
    log.largest_p().filter(|_| log.reports.len() >= 10)
}
