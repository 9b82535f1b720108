//! Checks of RFC 5348 beyond appendix B: loss events to the packet, averages to the digit, marks, silence, bursts, wrapping numbers.
//!
//! RFC 5348 is quoted by the section in each number, `E.<section>-<n>`. What cannot be seen from outside is
//! made to show: a loss event's first packet in the p of a later report, the allowed rate in departures.

mod average;
mod events;
mod limits;
mod marks;
mod oracle;
mod path;
mod rate;
mod reports;
mod silence;
mod start;

use crate::check::{Check, RFC_5348};
use crate::interposer::Side;

/// All, in the order of their numbers.
pub fn checks() -> Vec<&'static Check> {
    [
        marks::CHECKS,
        events::CHECKS,
        average::CHECKS,
        reports::CHECKS,
        rate::CHECKS,
        limits::CHECKS,
        silence::CHECKS,
        start::CHECKS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A check of the sender.
const fn sender(id: &'static str) -> Check {
    Check::of(Side::Sender, RFC_5348, id)
}

/// A check of the receiver.
const fn receiver(id: &'static str) -> Check {
    Check::of(Side::Receiver, RFC_5348, id)
}
