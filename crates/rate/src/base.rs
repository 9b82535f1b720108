//! The delay of an empty path.

use alloc::collections::VecDeque;

/// The least transit time in a window. Transit times are of two clocks, so that only differences between them mean
/// something.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseDelay {
    /// Candidates, each less than those after it: departure and transit, in seconds.
    candidates: VecDeque<(f64, f64)>,
}

/// More candidates than this would need a transit time that rises with each report for minutes.
const MAX_CANDIDATES: usize = 1_024;

impl BaseDelay {
    /// Takes in the transit time of a packet that left at `at`.
    pub(crate) fn observe(&mut self, at: f64, transit: f64) {
        while self.candidates.back().is_some_and(|last| last.1 >= transit) {
            self.candidates.pop_back();
        }
        if self.candidates.len() == MAX_CANDIDATES {
            self.candidates.pop_back();
        }
        self.candidates.push_back((at, transit));
    }

    /// Forgets what left before `at`, but never the last candidate.
    pub(crate) fn expire(&mut self, at: f64) {
        while self.candidates.len() > 1 && self.candidates[0].0 < at {
            self.candidates.pop_front();
        }
    }

    /// The least transit time; infinite before the first.
    pub(crate) fn get(&self) -> f64 {
        self.candidates
            .front()
            .map_or(f64::INFINITY, |first| first.1)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// When the packet left whose transit time was observed last.
    pub(crate) fn latest(&self) -> f64 {
        self.candidates.back().map_or(0.0, |last| last.0)
    }

    /// The path changed: its base delay is this from now on.
    pub(crate) fn replace(&mut self, at: f64, transit: f64) {
        self.candidates.clear();
        self.candidates.push_back((at, transit));
    }
}
