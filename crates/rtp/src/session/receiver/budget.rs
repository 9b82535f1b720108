//! Bounds the feedback of a receiver, whatever data packets arrive.

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// The divisor of received bytes that gives RTCP's share (RFC 3550 §6.2). A report of p takes 56 bytes with IP and
/// UDP headers, less than 5 % of a packet of 1,200 bytes, so one for every packet fits. Reports of arrivals are
/// longer.
const SHARE: u64 = 20;
/// The rate that is always granted: a stream of small packets still gets ten reports of p a second, or fewer of the
/// longer reports of arrivals.
const FLOOR: Rate = Rate::from_bytes_per_sec(560.0);
/// The most bytes that are saved: sixteen reports of p, for expedited ones after a quiet time.
const DEPTH: u64 = 16 * 56;

/// A token bucket in bytes, including the headers of the lower layers. It starts full.
#[derive(Debug)]
pub(in crate::session) struct Budget {
    /// The credit in twentieths of a byte, so that small packets are not rounded away.
    credit: u64,
    updated: Instant,
}

impl Budget {
    pub(in crate::session) fn new(now: Instant) -> Self {
        Self {
            credit: DEPTH * SHARE,
            updated: now,
        }
    }

    /// Adds the share of a data packet of `size` bytes.
    pub(in crate::session) fn earn(&mut self, size: usize) {
        self.add(size as u64);
    }

    /// Takes `size` bytes out, and returns false if they are not available.
    pub(in crate::session) fn spend(&mut self, now: Instant, size: usize) -> bool {
        let earned = FLOOR * now.saturating_since(self.updated);
        // A time that earned less than a byte is counted later.
        if earned > Bytes::ZERO {
            self.add(earned.get().saturating_mul(SHARE));
            self.updated = now;
        }
        let cost = size as u64 * SHARE;
        let affordable = self.credit >= cost;
        if affordable {
            self.credit -= cost;
        }
        affordable
    }

    /// Returns when `size` bytes will be available if no data arrives.
    pub(in crate::session) fn ready(&self, size: usize) -> Instant {
        let missing = (size as u64 * SHARE).saturating_sub(self.credit);
        // The wait is a nanosecond longer than the quotient, because its rounding must not cause a wake-up in vain.
        let wait = Bytes::new(missing.div_ceil(SHARE)) / FLOOR;
        if missing == 0 {
            self.updated
        } else {
            self.updated + wait + Duration::from_nanos(1)
        }
    }

    fn add(&mut self, twentieths: u64) {
        self.credit = self.credit.saturating_add(twentieths).min(DEPTH * SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_full_packet_earns_a_report() {
        let mut budget = Budget::new(Instant::ZERO);
        while budget.spend(Instant::ZERO, 56) {}
        for _ in 0..100 {
            budget.earn(1_200);
            assert!(budget.spend(Instant::ZERO, 56));
        }
    }

    #[test]
    fn a_flood_of_small_packets_earns_a_twentieth_of_its_bytes() {
        let mut budget = Budget::new(Instant::ZERO);
        while budget.spend(Instant::ZERO, 56) {}
        let reports = (0..10_000)
            .filter(|_| {
                budget.earn(40);
                budget.spend(Instant::ZERO, 56)
            })
            .count();
        assert_eq!(reports, 10_000 * 40 / 20 / 56);
    }

    proptest! {
        #[test]
        fn what_is_not_affordable_is_so_when_it_said(spent in 0..40usize, size in 1..=896usize) {
            let mut budget = Budget::new(Instant::from_secs(1));
            for _ in 0..spent {
                budget.spend(Instant::from_secs(1), 56);
            }
            let ready = budget.ready(size);
            prop_assert!(budget.spend(ready, size));
        }
    }
}
