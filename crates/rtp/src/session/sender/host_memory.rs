//! The memory of hosts at which receivers are or were.

use std::net::IpAddr;

use tfrc::loss::Past;
use tfrc::time::{Duration, Instant};
use tfrc::trust::Suspicions;
use tfrc::units::LossEventRate;

use super::hosts::Hosts;
use super::lie::Lie;

/// The time after the last feedback at which the remembered path is out of date: five minutes, as in RFC 7661 for
/// an unused congestion window.
///
/// A receiver gains nothing by waiting so long for another slow start (3/p packets): one that stays gets more
/// (1.2/√p a round trip), unless a path of 100 ms loses less than one packet in a million.
const MEMORY: Duration = Duration::from_secs(300);
/// The least round trip that a reception report may claim for the initial rate, because its own delay cannot be
/// checked. It bounds the initial rate to an initial window in this time, 3.5 Mb/s.
const LEAST_CLAIMED_RTT: Duration = Duration::from_millis(10);

/// The memory of one host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostRecord {
    /// The lie of the present receiver, if one was proven.
    pub(super) lie: Option<Lie>,
    /// True if the sender's marks do not return from this host.
    pub(super) loses_marks: bool,
    /// The suspicions that prove nothing yet.
    pub(super) suspicions: Suspicions,
    /// The least R that a reception report may claim for the initial rate; with `None` no claim counts.
    pub(super) least_claimed_rtt: Option<Duration>,
    /// The loss intervals of the receivers before the present one.
    pub(super) past: Past,
    /// The time of the last feedback.
    heard: Instant,
}

impl HostRecord {
    /// Creates the memory of an unknown host.
    pub(super) fn nothing() -> Self {
        Self {
            lie: None,
            loses_marks: false,
            suspicions: Suspicions::default(),
            least_claimed_rtt: Some(LEAST_CLAIMED_RTT),
            past: Past::NONE,
            heard: Instant::ZERO,
        }
    }

    pub(super) fn handle_feedback(&mut self, now: Instant) {
        self.heard = now;
    }
}

/// The memory of the present host, and of the hosts before.
#[derive(Debug)]
pub(super) struct HostMemory {
    pub(super) known: HostRecord,
    earlier: Hosts<HostRecord>,
}

impl HostMemory {
    pub(super) fn new() -> Self {
        Self {
            known: HostRecord::nothing(),
            earlier: Hosts::new(),
        }
    }

    /// Moves the receiver from one host to another.
    pub(super) fn change(&mut self, from: IpAddr, to: IpAddr) {
        self.earlier.keep(from, self.known);
        self.known = self.earlier.take(to).unwrap_or(HostRecord::nothing());
    }

    /// Forgets a path that is out of date.
    pub(super) fn forget(&mut self, now: Instant) {
        if now.saturating_since(self.known.heard) > MEMORY {
            self.known.past = Past::NONE;
        }
    }

    /// Returns true if the path is known from an earlier receiver.
    pub(super) const fn has_past(&self) -> bool {
        !self.known.past.is_empty()
    }

    /// Returns the least p that a receiver which computes p may claim: p of the receivers before it, until
    /// `reported` packets have outlived it.
    pub(super) fn inherited(&self, reported: u64) -> LossEventRate {
        self.known.past.loss_event_rate(reported)
    }
}
