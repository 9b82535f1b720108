//! Sender-based TFRC: the receiver reports which packets came, when and with which mark; the sender
//! computes p and X_recv from that.
//!
//! ```text
//! packets ──► Arrivals ──► report ──► Departures ──► p, X_recv ──► Sender
//! ```
//!
//! [`Arrivals`] is all that a receiver needs: a ring, and the times at which to report. [`Departures`]
//! remembers what was sent, checks reports against it, puts what they tell back into the order of arrival
//! and hands it to the same [`crate::Receiver`] that runs at the other end where receivers know TFRC.
//! Between the two is any format that carries sequence numbers and arrival times or, coarser, a bit a
//! packet and X_recv.

mod arrivals;
mod batch;
mod clock;
mod departures;
mod vector;
mod ways;

use core::time::Duration;

use crate::Ecn;
use crate::time::Instant;

pub use arrivals::{Arrivals, Span};
pub use departures::{Departures, Refused};
pub use vector::{MeteredArrivals, Vector};

/// What a report says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of the first packet that it speaks of, modulo 2^16.
    pub first: u16,
    /// When it was made, on the receiver's clock, which may have any zero.
    pub made_at: Instant,
    /// The unit in which it tells time: no round trip is believed to be shorter.
    pub resolution: Duration,
}

/// What a report says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It had not arrived.
    Missing,
    /// It had.
    Arrived {
        /// When, on the receiver's clock; `None` if the receiver cannot tell.
        at: Option<Instant>,
        /// The ECN field that it arrived with.
        ecn: Ecn,
    },
}

#[cfg(test)]
mod tests;
