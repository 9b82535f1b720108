//! The meter estimates how long the rest of a plan takes.

use std::num::NonZeroUsize;

use tfrc::time::{Duration, Instant};

use super::Task;
use crate::result::RunResult;

/// How far it is, each time that something ended.
#[derive(Clone, Debug)]
pub struct Progress<'a> {
    /// Runs that are done.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// What the rest will take, if it goes on as so far.
    pub left: Option<Duration>,
    /// An experiment that is complete now.
    pub finished: Option<&'a RunResult>,
}

/// How far it is and how long the rest will take.
pub(super) struct Meter {
    began: Instant,
    done: usize,
    total: usize,
    weight_done: f64,
    weight_total: f64,
    threads: f64,
}

impl Meter {
    pub(super) fn new(began: Instant, tasks: &[Task], threads: NonZeroUsize) -> Self {
        Self {
            began,
            done: 0,
            total: tasks.len(),
            weight_done: 0.0,
            weight_total: tasks.iter().map(|task| task.weight).sum(),
            threads: threads.get() as f64,
        }
    }

    pub(super) fn count(&mut self, weight: f64) {
        self.done += 1;
        self.weight_done += weight;
    }

    pub(super) fn progress<'a>(
        &self,
        now: Instant,
        finished: Option<&'a RunResult>,
    ) -> Progress<'a> {
        let left = self.weight_total - self.weight_done;
        // The files' own figures count as one second of experience, then what is seen takes over.
        let elapsed = (now - self.began).as_secs_f64();
        let pace = (elapsed + 1.0 / self.threads) / (self.weight_done + 1.0);
        Progress {
            done: self.done,
            total: self.total,
            left: (self.done < self.total).then(|| tfrc::units::duration_from_secs(left * pace)),
            finished,
        }
    }
}
