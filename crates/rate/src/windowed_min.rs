//! The least of the delays in a window of time.

use alloc::collections::VecDeque;

/// The least delay in a window, as a monotone queue of candidates. Times are in seconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMin {
    /// Candidates, each less than those after it: when it was measured, and the delay.
    candidates: VecDeque<(f64, f64)>,
}

/// More candidates than this would need a delay that rises with each report for minutes.
const MAX_CANDIDATES: usize = 1_024;

impl WindowedMin {
    /// Takes in a delay that was measured at `at`.
    pub(crate) fn observe(&mut self, at: f64, delay: f64) {
        while self.candidates.back().is_some_and(|last| last.1 >= delay) {
            self.candidates.pop_back();
        }
        if self.candidates.len() == MAX_CANDIDATES {
            self.candidates.pop_back();
        }
        self.candidates.push_back((at, delay));
    }

    /// Forgets what was measured before `at`, but never the last candidate.
    pub(crate) fn expire(&mut self, at: f64) {
        while self.candidates.len() > 1 && self.candidates[0].0 < at {
            self.candidates.pop_front();
        }
    }

    /// The least delay; infinite before the first.
    pub(crate) fn get(&self) -> f64 {
        self.candidates
            .front()
            .map_or(f64::INFINITY, |first| first.1)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// When the last delay was measured.
    pub(crate) fn latest(&self) -> f64 {
        self.candidates.back().map_or(0.0, |last| last.0)
    }

    /// The path changed: the least delay is this from now on.
    pub(crate) fn replace(&mut self, at: f64, delay: f64) {
        self.candidates.clear();
        self.candidates.push_back((at, delay));
    }

    /// All delays are less by this, and none is less than zero.
    pub(crate) fn shift(&mut self, by: f64) {
        for (_, delay) in &mut self.candidates {
            *delay = (*delay - by).max(0.0);
        }
    }
}
