//! How much feedback a receiver may send, whatever the data packets make it want to say.

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// RTCP's share of what is received (RFC 3550 §6.2). A report of p, 56 bytes with its IP and UDP headers, is
/// less than 5 % of a packet of 1,200 bytes, so that one for every packet fits; those of arrivals are longer and take the share of more.
const SHARE: u64 = 20;
/// Always granted, so that a stream of small packets is still reported ten times a second by reports of p, and less often
/// by those of arrivals, which are longer.
const FLOOR: Rate = Rate::from_bytes_per_sec(560.0);
/// Saved up at most: sixteen reports of p, for expedited ones after a quiet time.
const DEPTH: u64 = 16 * 56;

/// A token bucket in bytes, headers of the lower layers included. It starts full.
#[derive(Debug)]
pub(in crate::session) struct Budget {
    /// Twentieths of a byte, so that small packets are not rounded away.
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

    /// Data of `size` bytes came.
    pub(in crate::session) fn earn(&mut self, size: usize) {
        self.add(size as u64);
    }

    /// Takes `size` bytes out, if they are there.
    pub(in crate::session) fn spend(&mut self, now: Instant, size: usize) -> bool {
        let earned = FLOOR * now.saturating_since(self.updated);
        // Time that earned less than a byte is left for later.
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

    /// When `size` bytes will be there if no data comes.
    pub(in crate::session) fn ready(&self, size: usize) -> Instant {
        let missing = (size as u64 * SHARE).saturating_sub(self.credit);
        // A nanosecond more than the quotient, whose rounding must not wake us in vain.
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
