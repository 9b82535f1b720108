//! How long before a deadline a thread must stop sleeping to meet it: learned from its own waits.

use tfrc::time::Duration;

/// The lateness that is to be expected of a wait: about the largest of the last thousand.
///
/// Timers of a physical machine are late by a few microseconds, timers of a virtual machine by tens, and both
/// by more when the processor was in a deep sleep. Who spins for that long burns no more than it must.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeupMargin(Duration);

impl WakeupMargin {
    /// Nothing is known yet: the longest.
    pub(crate) const fn unknown() -> Self {
        Self(MAX_MARGIN)
    }

    /// How long before the deadline to wake up.
    pub(crate) fn get(self) -> Duration {
        self.0
    }

    /// A wait ended `late`.
    pub(crate) fn learn(&mut self, late: Duration) {
        let wanted = (late + late / 4).min(MAX_MARGIN);
        self.0 = (self.0 - self.0 / MEMORY_WAITS).max(wanted);
    }
}

/// A thread that lost its processor to another is late by milliseconds: no spinning helps against that.
const MAX_MARGIN: Duration = Duration::from_micros(200);

/// Waits after which a late one is all but forgotten: a 99th percentile needs hundreds.
const MEMORY_WAITS: u32 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    const PUNCTUAL: Duration = Duration::from_micros(4);

    #[test]
    fn a_late_wait_is_allowed_for_at_once_and_forgotten_slowly() {
        let mut margin = WakeupMargin::unknown();
        for _ in 0..10 * MEMORY_WAITS {
            margin.learn(PUNCTUAL);
        }
        assert_eq!(margin.get(), PUNCTUAL * 5 / 4);
        margin.learn(Duration::from_micros(80));
        assert_eq!(margin.get(), Duration::from_micros(100));
        for _ in 0..100 {
            margin.learn(PUNCTUAL);
        }
        assert!(margin.get() > Duration::from_micros(90));
    }

    #[test]
    fn a_lost_processor_teaches_no_more_than_the_most() {
        let mut margin = WakeupMargin::unknown();
        margin.learn(Duration::from_secs(1));
        assert_eq!(margin.get(), MAX_MARGIN);
    }
}
