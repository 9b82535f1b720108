//! What is remembered of the hosts that receivers are or were at.

use std::net::IpAddr;

use tfrc::loss::Past;
use tfrc::time::{Duration, Instant};
use tfrc::trust::Suspicions;
use tfrc::units::LossEventRate;

use super::hosts::Hosts;
use super::lie::Lie;

/// So long after the last feedback what it said of the path is out of date: five minutes, as RFC 7661 has it for a
/// congestion window that is not used. Who waits as long for another slow start (3/p packets) has less than one that stays
/// (1.2/√p a round trip), but where a path of 100 ms loses less than one packet in a million.
const MEMORY: Duration = Duration::from_secs(300);
/// No receiver makes the initial rate more than an initial window in this time, 3.5 Mb/s: what a reception
/// report says of its own delay cannot be checked.
const LEAST_TOLD_ROUND_TRIP: Duration = Duration::from_millis(10);

/// What is known of the host that the receiver is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// By what a receiver there was caught.
    pub(super) lie: Option<Lie>,
    /// Marks of ours do not come back from there.
    pub(super) loses_marks: bool,
    /// What is counted before it comes to that.
    pub(super) suspicions: Suspicions,
    /// The least R that a reception report may tell for the initial rate; without it none counts.
    pub(super) least_told: Option<Duration>,
    /// Loss intervals of the receivers before the present one.
    pub(super) past: Past,
    /// When feedback last came.
    heard: Instant,
}

impl Known {
    /// Of a stranger's.
    pub(super) fn nothing() -> Self {
        Self {
            lie: None,
            loses_marks: false,
            suspicions: Suspicions::default(),
            least_told: Some(LEAST_TOLD_ROUND_TRIP),
            past: Past::NONE,
            heard: Instant::ZERO,
        }
    }

    pub(super) fn handle_feedback(&mut self, now: Instant) {
        self.heard = now;
    }
}

/// The present host's memory, and those of the hosts before it.
#[derive(Debug)]
pub(super) struct HostMemory {
    pub(super) known: Known,
    others: Hosts<Known>,
}

impl HostMemory {
    pub(super) fn new() -> Self {
        Self {
            known: Known::nothing(),
            others: Hosts::new(),
        }
    }

    /// The receiver moves from one host to another.
    pub(super) fn change(&mut self, from: IpAddr, to: IpAddr) {
        self.others.keep(from, self.known);
        self.known = self.others.take(to).unwrap_or(Known::nothing());
    }

    /// Forgets what is out of date.
    pub(super) fn forget(&mut self, now: Instant) {
        if now.saturating_since(self.known.heard) > MEMORY {
            self.known.past = Past::NONE;
        }
    }

    /// True if the path is known from an earlier receiver.
    pub(super) const fn has_past(&self) -> bool {
        !self.known.past.is_empty()
    }

    /// The least p that is believed of a receiver that computes it: what the ones before it left, as long as it has not
    /// outlived that after `reported` packets.
    pub(super) fn inherited(&self, reported: u64) -> LossEventRate {
        self.known.past.loss_event_rate(reported)
    }
}
