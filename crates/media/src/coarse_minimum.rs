//! Finds the least sample of the last half to whole minute, in constant memory.

use std::time::Duration;

use tfrc::time::Instant;

/// The least sample of one to two windows. It needs no exact window, and so no queue of candidates as the path model's
/// windowed minimum does: after a change of the path it is up to a window late.
#[derive(Clone, Debug)]
pub(crate) struct CoarseMinimum<T> {
    /// The least of the window before and of the current window.
    minima: [Option<T>; 2],
    start: Instant,
}

/// The window. A sample is kept for at least one window and at most two.
const WINDOW_TIME: Duration = Duration::from_secs(30);

impl<T> Default for CoarseMinimum<T> {
    fn default() -> Self {
        Self {
            minima: [None, None],
            start: Instant::ZERO,
        }
    }
}

impl<T: Ord + Copy> CoarseMinimum<T> {
    /// Records a sample.
    pub(crate) fn observe(&mut self, now: Instant, sample: T) {
        if now.saturating_since(self.start) > WINDOW_TIME {
            self.minima = [self.minima[1], None];
            self.start = now;
        }
        let [_, current] = &mut self.minima;
        *current = Some(current.map_or(sample, |least| least.min(sample)));
    }

    /// Gives the least sample; `None` before the first.
    pub(crate) fn get(&self) -> Option<T> {
        self.minima.iter().flatten().min().copied()
    }
}
