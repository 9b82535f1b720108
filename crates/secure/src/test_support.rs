//! The one time of the system that tests begin from.

use std::time::Instant;

#[allow(
    clippy::disallowed_methods,
    reason = "the libraries count from a time of the system, whichever it is"
)]
pub(crate) fn system_zero() -> Instant {
    Instant::now()
}
