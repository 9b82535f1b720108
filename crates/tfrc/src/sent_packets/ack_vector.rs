//! Reports without arrival times, as in the `light` paper: one bit a packet, and X_recv.
//!
//! The paper sorts losses into loss events by departure times, corrected by α = X_sent / X_recv: packets that leave at one
//! rate and arrive at another are further apart by α.

use core::time::Duration;

use crate::time::Instant;
use crate::units::Rate;

/// The fields of a report without arrival times, beside its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckVector {
    /// The number of the first reported packet, modulo 2^16.
    pub first: u16,
    /// X_recv; zero in the first report.
    pub receive_rate: Rate,
    /// The time from the arrival of the highest packet to the report.
    pub delay: Duration,
}

/// The highest reported packet, from which arrival times are estimated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    pub(super) seq: u64,
    pub(super) sent_at: Instant,
    pub(super) arrived_at: Instant,
    /// The factor α.
    pub(super) stretch: f64,
}

impl Anchor {
    /// Returns the estimated arrival of a packet that left at `sent_at`.
    #[inline]
    pub(super) fn estimate(&self, sent_at: Instant) -> Instant {
        if sent_at < self.sent_at {
            self.arrived_at - self.sent_at.nanos_since(sent_at).scaled(self.stretch)
        } else {
            self.arrived_at + sent_at.nanos_since(self.sent_at).scaled(self.stretch)
        }
    }
}
