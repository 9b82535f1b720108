//! Counts of claims that no honest receiver makes, each of which may also be a damaged datagram.

use core::time::Duration;

use crate::time::Instant;

/// A claim this long after the one before is taken for an accident, with which a new count begins. A receiver that lies more
/// rarely hides a handful of losses.
const MEMORY: Duration = Duration::from_secs(300);
/// Claims of packets that never left which prove a lie: the first may be a damaged datagram, and its repetition a copy.
const PROVING_LIES: u32 = 2;
/// Erased marks after which no mark is relied on.
const PROVING_ERASED_MARKS: u32 = 3;
/// Excessive receive rates that prove a lie.
const PROVING_EXCESSES: u32 = 3;

/// The number of claims of one kind, each within [`MEMORY`] of the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspicion {
    count: u32,
    last: Instant,
}

impl Suspicion {
    pub(crate) fn record(&mut self, at: Instant) {
        if at.saturating_since(self.last) > MEMORY {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = self.last.max(at);
    }
}

/// All suspicions of the receivers at one place. The next receiver at this place inherits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspicions {
    /// Reports about packets that never left.
    pub(crate) lies: Suspicion,
    /// Arrivals that lacked the congestion mark which the sender itself had set.
    pub(crate) erased_marks: Suspicion,
    /// Claims of X_recv far above the rate at which bytes left.
    pub(crate) excesses: Suspicion,
}

impl Suspicions {
    /// Returns true if a receiver repeatedly reported packets that never left.
    pub(crate) const fn prove_lies(&self) -> bool {
        self.lies.count >= PROVING_LIES
    }

    /// Returns true if marks of the sender are hidden by the receiver or erased by the path.
    pub(crate) const fn prove_erased_marks(&self) -> bool {
        self.erased_marks.count >= PROVING_ERASED_MARKS
    }

    /// Returns true if a receiver repeatedly claimed an impossible X_recv.
    pub(crate) const fn prove_excesses(&self) -> bool {
        self.excesses.count >= PROVING_EXCESSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspicions_five_minutes_apart_do_not_add_up() {
        for (apart, count) in [(300, 3), (301, 1)] {
            let mut suspicion = Suspicion::default();
            for n in 1..=3 {
                suspicion.record(Instant::from_secs(1_000 + n * apart));
            }
            assert_eq!(suspicion.count, count, "{apart} s");
        }
    }
}
