//! What was noted against receivers at one place, which may be one: no honest one does it, but a datagram that was damaged
//! on its way may look so.

use core::time::Duration;

use crate::time::Instant;

/// So long after the last, what was noted is taken for accidents: five minutes, in which who has them rarer hides a
/// handful of losses.
const MEMORY: Duration = Duration::from_secs(300);

/// How often something was noted, none of it long before the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspicion {
    count: u32,
    last: Instant,
}

impl Suspicion {
    pub(crate) fn note(&mut self, at: Instant) {
        if at.saturating_since(self.last) > MEMORY {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.last = self.last.max(at);
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }
}

/// All that is counted against the receivers at one place, to be handed on from one to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspicions {
    /// Reports that told of what never left.
    pub(crate) lies: Suspicion,
    /// Marks of our own that packets had lost when they came.
    pub(crate) erased_marks: Suspicion,
    /// Claims of X_recv clearly above what was sent.
    pub(crate) excesses: Suspicion,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_five_minutes_apart_does_not_add_up() {
        for (apart, count) in [(300, 3), (301, 1)] {
            let mut suspicion = Suspicion::default();
            for n in 1..=3 {
                suspicion.note(Instant::from_secs(1_000 + n * apart));
            }
            assert_eq!(suspicion.count(), count, "{apart} s");
        }
    }
}
