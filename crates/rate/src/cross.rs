//! Evidence of cross traffic that keeps a queue standing.
//!
//! A burst that enters the bottleneck at pace P beside cross traffic Y leaves it at B = C·P/(P + Y). With Y = C − R, where
//! R is what this flow gets in the mean, the capacity is C = B·(P − R)/(P − B), and R/C is the flow's share. A queue that
//! stands while the share is small is not this flow's: the product of both is summed up (CUSUM), less a drift that a
//! lone flow's errors stay below.

use crate::bursts::Bursts;
use crate::window::Window;

#[derive(Clone, Debug)]
pub(crate) struct CrossTraffic {
    /// The flow's share of what the link carries.
    share: f64,
    /// Evidence, in seconds of queue times seconds.
    evidence: f64,
}

impl Default for CrossTraffic {
    fn default() -> Self {
        Self { share: 1.0, evidence: 0.0 }
    }
}

/// One frame counts as much in the share; and bursts show a share where they are this much faster than they are served.
const SHARE_GAIN: f64 = 0.25;
const VISIBLE: f64 = 1.05;
/// A queue counts up to so many targets: a deep one is no better evidence.
const MOST_TARGETS: f64 = 4.0;

impl CrossTraffic {
    /// Takes in a report after `elapsed` seconds. `queue` and `target` are in seconds.
    pub(crate) fn observe(&mut self, elapsed: f64, queue: f64, target: f64, bursts: &Bursts, window: &Window) {
        if queue < target {
            *self = Self::default();
            return;
        }
        if let Some((pace, served, span)) = bursts.recent() {
            let received = window.rate_between(span);
            let share = if pace <= VISIBLE * served {
                self.share
            } else if pace > VISIBLE * received {
                (received * (pace - served) / (served * (pace - received))).clamp(0.0, 1.0)
            } else {
                1.0
            };
            self.share += (share - self.share) * SHARE_GAIN;
        }
        let news = queue.min(MOST_TARGETS * target) * (1.0 - self.share) - target;
        self.evidence = (self.evidence + elapsed * news).max(0.0);
    }

    pub(crate) fn share(&self) -> f64 {
        self.share
    }

    pub(crate) fn evidence(&self) -> f64 {
        self.evidence
    }

    /// From now on there is this much evidence.
    pub(crate) fn reset(&mut self, evidence: f64) {
        self.evidence = evidence;
    }
}
