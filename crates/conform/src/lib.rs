//! Conformance checks for TFRC over RTP, after appendix B of the thesis.
//!
//! An *interface system* between sender and receiver forwards, drops, delays, reorders and rewrites datagrams. The interface system
//! sees nothing else of either.
//!
//! ```text
//!  Implementation ──► Interposer ──► Implementation
//!     (sender)   ◄──  script, log ◄──   (receiver)
//! ```
//!
//! All three are [`Endpoint`](evenkeel_rtp::endpoint::Endpoint)s: [`simulate`] drives them by a virtual
//! clock, `evenkeel conform` over real sockets, each implementation in a process of its own.
//!
//! # To add a check
//!
//! 1. A **run** ([`Run::new`]) is two fresh implementations and a **script**: a closure that is
//!    shown every datagram as it comes ([`Passing`](interposer::Passing)), may change its fields
//!    ([`packet`]) and says what becomes of it ([`Fate`](interposer::Fate)). It may look at the log so
//!    far; its state is whatever the closure captures. [`scripts`] has the usual ones: [`scripts::steer`]
//!    keeps R, p and the rate of the sender where a check needs them. Checks may share a run.
//! 2. A **check** ([`Check`]) names its runs and judges their [`Log`]s: data packets and
//!    reports as they came and as they were passed on, with times from the first data packet on.
//!    [`Log::sending_rate`] measures X from departures, [`Log::rtt_after`] reads R. In virtual time
//!    values are exact to the microsecond of the wire; [`Evidence::pick`] states the tolerance for real
//!    time beside it.
//! 3. Put it into a list: `appendix_b` for the thesis's 57, `extended` for this project's own,
//!    `sender_based` for reports of arrivals. `sender` or `receiver` of the list begins it. [`all`] gives every check,
//!    and each is a test named by its number in `tests/`, which fails if one is left out.
//!
//! ```
//! use evenkeel_conform::{Clock, Evidence, Rfc, all, simulate};
//!
//! let check = all().into_iter().find(|check| check.id == "B.3.1-16").unwrap();
//! let logs: Vec<_> = check.runs.iter().map(|run| simulate(run, Rfc::Rfc5348)).collect();
//! let outcome = check.judge(&logs, Clock::Virtual, Rfc::Rfc5348);
//! assert!(outcome.pass);
//! ```
#![forbid(unsafe_code)]

pub mod appendix_b;
pub mod check;
pub mod extended;
pub mod implementation;
pub mod interposer;
pub mod log;
pub mod packet;
pub mod scripts;
pub mod sender_based;
mod simulate;

pub use check::{Check, Clock, Evidence, Outcome, Pause, Rfc, Run, Setup, Value};
pub use implementation::Implementation;
pub use interposer::Interposer;
pub use log::Log;
pub use simulate::{INTERPOSER, simulate, simulate_with};

/// Every check.
pub fn all() -> Vec<&'static Check> {
    [
        appendix_b::checks(),
        extended::checks(),
        sender_based::checks(),
    ]
    .concat()
}
