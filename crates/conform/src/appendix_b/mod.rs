//! The 57 checks of the thesis's appendix B, with its errors mended.
//!
//! Numbered as they come in the thesis. Where RFC 5348 changed what the thesis quotes from RFC 3448, or
//! the thesis errs, the check's title or a comment says so.

mod feedback;
mod loss;
mod nofeedback;
mod rate;
mod rtt;
mod start;
mod transport;

use crate::check::{BOTH, Check};
use crate::interposer::Side;

/// All, in the order of their numbers.
pub fn checks() -> Vec<&'static Check> {
    [
        transport::CHECKS,
        rtt::CHECKS,
        nofeedback::CHECKS,
        rate::CHECKS,
        start::CHECKS,
        feedback::CHECKS,
        loss::CHECKS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A check of the sender.
const fn sender(id: &'static str) -> Check {
    Check::of(Side::Sender, BOTH, id)
}

/// A check of the receiver.
const fn receiver(id: &'static str) -> Check {
    Check::of(Side::Receiver, BOTH, id)
}
