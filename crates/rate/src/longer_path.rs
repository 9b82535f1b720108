//! Decides whether a standing queue is a longer path, cross traffic, or the flow's own queue.

use crate::law_state::Mode;
use crate::model::PathModel;
use crate::number::larger;
use crate::standing::{StandingQueue, StandingReport, StandingVerdict};

impl PathModel {
    pub(crate) fn judge_standing_queue(&mut self, elapsed: f64, round_trip: f64, target: f64) {
        let (queue, least) = (self.least.queue, self.signal.least());
        if self.law.mode == Mode::Compete || larger(queue, least) <= target / 2.0 {
            self.standing = None;
            return;
        }
        let report = StandingReport {
            elapsed,
            round_trip,
            queue,
            least,
            sending_rate: self.window.sending_rate(self.interval),
            delivery_rate: self.delivery_rate,
        };
        let begin = || StandingQueue::begin(report.queue, report.delivery_rate);
        let standing = self.standing.get_or_insert_with(begin);
        let is_least = self.law.is_least();
        match standing.observe(
            &report,
            is_least,
            self.params.queue_target,
            self.params.round,
        ) {
            StandingVerdict::LongerPath(by) => self.lengthen_path(by, round_trip),
            StandingVerdict::Unexplained if self.cross.is_alone(&self.params) => {
                self.lengthen_path(least, round_trip);
            }
            // A flow at its least rate makes no queue.
            StandingVerdict::Unexplained if is_least => self.cross.set_evidence(2.0, &self.params),
            StandingVerdict::Unexplained | StandingVerdict::Open => {}
        }
    }

    /// Raises the base delay: the path's own delay has grown by this many seconds.
    fn lengthen_path(&mut self, by: f64, round_trip: f64) {
        self.base.replace(self.base.latest(), self.base.get() + by);
        self.round_trip.replace(self.reported, round_trip);
        self.signal.shift(by);
        self.standing = None;
        self.law.draining = false;
        self.cross.set_evidence(0.0, &self.params);
    }
}
