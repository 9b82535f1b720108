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
/// Occasions to lie in a row, for each proof so far, that a receiver must let pass to be believed again. A receiver that
/// hides half of its losses lets them pass once in 16 times.
const REFUTING_OCCASIONS: u32 = 4;

/// The number of claims of one kind, each within [`MEMORY`] of the one before, of which `PROVING` are a proof.
///
/// A third party that forges packets can make an honest receiver claim what no honest one claims. So a proof is put to
/// the test: a receiver that lies goes on, while one that was deceived does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspicion<const PROVING: u32> {
    count: u32,
    last: Instant,
    /// The proofs so far.
    proofs: u32,
    /// The occasions to lie that passed since the last claim.
    passed: u32,
}

impl<const PROVING: u32> Suspicion<PROVING> {
    pub(crate) fn record(&mut self, at: Instant) {
        if at.saturating_since(self.last) > MEMORY {
            *self = Self::default();
        }
        self.count = self.count.saturating_add(1);
        self.proofs += u32::from(self.count == PROVING);
        self.passed = 0;
        self.last = self.last.max(at);
    }

    /// Records an occasion on which the receiver made no such claim.
    pub(crate) fn refute(&mut self) {
        if self.is_on_probation() {
            self.passed += 1;
            if !self.is_on_probation() {
                self.count = 0;
            }
        }
    }

    /// Returns true if there was a proof, whether it holds or not.
    pub(crate) const fn was_proven(self) -> bool {
        self.proofs > 0
    }

    const fn is_proof(self) -> bool {
        self.count >= PROVING
    }

    /// Returns true if the receiver, or one before it, lied and has not let enough occasions pass since.
    const fn is_on_probation(self) -> bool {
        self.passed < REFUTING_OCCASIONS.saturating_mul(self.proofs)
    }

    /// Returns the suspicion of the next receiver at this place, which is believed but put to the test.
    const fn inherited(self) -> Self {
        if !self.is_proof() {
            return self;
        }
        Self {
            count: 0,
            passed: 0,
            ..self
        }
    }
}

/// All suspicions of the receivers at one place. The next receiver at this place inherits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspicions {
    /// Reports about packets that never left.
    pub(crate) lies: Suspicion<PROVING_LIES>,
    /// Arrivals that lacked the congestion mark which the sender itself had set.
    pub(crate) erased_marks: Suspicion<PROVING_ERASED_MARKS>,
    /// Claims of X_recv far above the rate at which bytes left.
    pub(crate) excesses: Suspicion<PROVING_EXCESSES>,
}

impl Suspicions {
    /// Returns true if a receiver repeatedly reported packets that never left.
    pub(crate) const fn prove_lies(&self) -> bool {
        self.lies.is_proof()
    }

    /// Returns true if marks of the sender are hidden by the receiver or erased by the path.
    pub(crate) const fn prove_erased_marks(&self) -> bool {
        self.erased_marks.is_proof()
    }

    /// Returns true if a receiver repeatedly claimed an impossible X_recv.
    pub(crate) const fn prove_excesses(&self) -> bool {
        self.excesses.is_proof()
    }

    /// Returns true if numbers are to be left out often, because a receiver lied and has not been believed again.
    pub const fn are_on_probation(&self) -> bool {
        self.lies.is_on_probation()
    }

    /// Returns true if a lie was proven before the last proof.
    pub const fn are_repeated(&self) -> bool {
        self.lies.proofs.saturating_add(self.excesses.proofs) > 1
    }

    /// Returns the suspicions of the next receiver at this place. A proof dies with its receiver.
    #[must_use]
    pub const fn inherited(self) -> Self {
        Self {
            lies: self.lies.inherited(),
            erased_marks: self.erased_marks,
            excesses: self.excesses.inherited(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspicions_five_minutes_apart_do_not_add_up() {
        for (apart, count) in [(300, 3), (301, 1)] {
            let mut suspicion = Suspicion::<4>::default();
            for n in 1..=3 {
                suspicion.record(Instant::from_secs(1_000 + n * apart));
            }
            assert_eq!(suspicion.count, count, "{apart} s");
        }
    }

    /// Returns a suspicion of as many claims in a row.
    fn claimed(claims: u64) -> Suspicion<2> {
        let mut suspicion = Suspicion::default();
        for n in 0..claims {
            suspicion.record(Instant::from_secs(1 + n));
        }
        suspicion
    }

    #[test]
    fn proof_ends_after_four_occasions_without_a_claim() {
        let mut suspicion = claimed(2);
        for passed in 0..4 {
            assert!(suspicion.is_proof(), "{passed}");
            suspicion.refute();
        }
        assert!(!suspicion.is_proof() && !suspicion.is_on_probation());
        // The second proof takes twice as many.
        suspicion.record(Instant::from_secs(10));
        suspicion.record(Instant::from_secs(11));
        for _ in 0..7 {
            suspicion.refute();
        }
        assert!(suspicion.is_proof());
        // A claim begins the count anew.
        suspicion.record(Instant::from_secs(12));
        for _ in 0..7 {
            suspicion.refute();
        }
        assert!(suspicion.is_proof());
        suspicion.refute();
        assert!(!suspicion.is_proof());
    }

    #[test]
    fn next_receiver_is_believed_and_tested() {
        let next = claimed(2).inherited();
        assert!(!next.is_proof() && next.is_on_probation());
        let unproven = claimed(1);
        assert_eq!(unproven.inherited(), unproven);
        assert!(!unproven.is_on_probation());
    }
}
