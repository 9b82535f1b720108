//! Finds the least of the delays in a window of time.

use crate::queue::SliceQueue;

/// The least delay in a window, as a monotone queue of candidates. Times are in seconds.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMin {
    /// The first candidate: time of measurement, and the least delay.
    first: (f64, f64),
    /// All candidates, in the order of time and of delay.
    candidates: SliceQueue<(f64, f64)>,
}

/// Bound on the candidates: more would need a delay that rises with each report for minutes.
const MAX_CANDIDATES: usize = 1_024;

impl Default for WindowedMin {
    fn default() -> Self {
        Self {
            first: (f64::NEG_INFINITY, f64::INFINITY),
            candidates: SliceQueue::default(),
        }
    }
}

impl WindowedMin {
    /// Records a delay that was measured at `at`, in seconds.
    #[inline]
    pub(crate) fn observe(&mut self, at: f64, delay: f64) {
        if delay <= self.first.1 {
            self.replace(at, delay);
            return;
        }
        while self.candidates.last().is_some_and(|last| last.1 >= delay) {
            self.candidates.pop_newest();
        }
        if self.candidates.len() == MAX_CANDIDATES {
            self.candidates.pop_newest();
        }
        self.candidates.push((at, delay));
    }

    /// Forgets delays that were measured before `at`, but never the last candidate.
    #[inline]
    pub(crate) fn expire(&mut self, at: f64) {
        if self.first.0 < at {
            self.pop_until(at);
        }
    }

    fn pop_until(&mut self, at: f64) {
        while self.candidates.len() > 1 && self.first.0 < at {
            self.candidates.pop_oldest(1);
            self.first = self.candidates[0];
        }
    }

    /// Returns the least delay; infinite before the first.
    pub(crate) fn get(&self) -> f64 {
        self.first.1
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the time of the last delay.
    pub(crate) fn latest(&self) -> f64 {
        self.candidates.last().map_or(0.0, |last| last.0)
    }

    /// Replaces all delays with one, after a change of the path.
    pub(crate) fn replace(&mut self, at: f64, delay: f64) {
        self.candidates.clear();
        self.candidates.push((at, delay));
        self.first = (at, delay);
    }

    /// Lowers all delays by this much, down to zero at least.
    pub(crate) fn shift(&mut self, by: f64) {
        for (_, delay) in &mut *self.candidates {
            *delay = (*delay - by).max(0.0);
        }
        if let Some(first) = self.candidates.first() {
            self.first = *first;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use proptest::prelude::*;

    use super::WindowedMin;

    const MEMORY: f64 = 20.0;

    proptest! {
        #[test]
        fn least_equals_a_scan_of_the_window(
            delays in prop::collection::vec((0..50u8, 0..4u8), 1..300),
        ) {
            let (mut least, mut all) = (WindowedMin::default(), Vec::new());
            let mut now = 0.0;
            for (delay, wait) in delays {
                let delay = f64::from(delay);
                now += f64::from(wait);
                least.observe(now, delay);
                least.expire(now - MEMORY);
                all.push((now, delay));
                let recent = all.iter().filter(|(at, _)| *at >= now - MEMORY);
                let scanned = recent.map(|(_, delay)| *delay).fold(f64::INFINITY, f64::min);
                prop_assert_eq!(least.get(), scanned);
            }
        }
    }

    #[test]
    fn last_delay_stays_however_old() {
        let mut least = WindowedMin::default();
        assert_eq!(least.get(), f64::INFINITY);
        least.observe(1.0, 5.0);
        least.expire(100.0);
        assert_eq!((least.get(), least.latest()), (5.0, 1.0));
        least.shift(2.0);
        assert_eq!(least.get(), 3.0);
        least.replace(200.0, 9.0);
        assert_eq!((least.get(), least.len()), (9.0, 1));
    }
}
