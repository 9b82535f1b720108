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
mod metered;
mod vector;
mod ways;

use core::time::Duration;

use crate::Ecn;
use crate::time::Instant;

pub use arrivals::{Arrivals, Span};
pub use departures::{Departures, Refused};
pub use metered::MeteredArrivals;
pub use vector::Vector;

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

/// A packet that arrived, as a sender of media learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The number under which it was sent, which neither wraps nor starts again.
    pub number: u64,
    /// When it arrived, on a clock that runs as the receiver's, with any zero.
    pub arrived_at: Instant,
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

/// What a report says of the packets that follow those before, so that what it says of many costs as much as of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// So many in a row had not arrived.
    Missing {
        /// Their number, which may be 0.
        count: u16,
    },
    /// The next had, as in [`Fate::Arrived`].
    Arrived {
        /// When.
        at: Option<Instant>,
        /// With which mark.
        ecn: Ecn,
    },
}

impl Told {
    /// Of how many packets it speaks.
    #[inline]
    const fn count(self) -> u64 {
        match self {
            Self::Missing { count } => count as u64,
            Self::Arrived { .. } => 1,
        }
    }

    /// What it says of each.
    pub fn fates(self) -> impl Iterator<Item = Fate> + Clone {
        let (fate, count) = match self {
            Self::Missing { count } => (Fate::Missing, count),
            Self::Arrived { at, ecn } => (Fate::Arrived { at, ecn }, 1),
        };
        core::iter::repeat_n(fate, count.into())
    }
}

impl From<Fate> for Told {
    #[inline]
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Missing => Self::Missing { count: 1 },
            Fate::Arrived { at, ecn } => Self::Arrived { at, ecn },
        }
    }
}

#[cfg(test)]
mod tests;
