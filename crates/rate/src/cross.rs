//! Evidence of cross traffic that keeps a queue standing.
//!
//! A burst that enters the bottleneck at pace P beside cross traffic Y leaves it at B = C·P/(P + Y). With Y = C − R, where R
//! is what this flow gets in the mean, the capacity is C = B·(P − R)/(P − B), and R/C is the flow's share. A queue that stands
//! while the share is small is not this flow's.
//!
//! Flows that follow delay drain their queue within a few round trips. Flows that react to loss alone keep it, or drain it only
//! after a loss. So there are two kinds of evidence. One is the excess of such a queue over the target, summed up while it stands
//! (CUSUM; Page, 1954). The other is a loss in each of two queues, one after the other; a single one may come from a link that
//! became slower.

use crate::Params;
use crate::bursts::Bursts;
use crate::number::larger;
use crate::window::DeliveryWindow;

#[derive(Clone, Debug)]
pub(crate) struct CrossEvidence {
    /// The flow's share of what the link carries, while a queue stands.
    share: f64,
    /// The same over a longer time, kept while no queue stands.
    usual_share: f64,
    /// The excess of the queue in targets, summed over seconds.
    evidence: f64,
    /// For how long a queue has stood, and for how much of that bursts have shown a share.
    stood: f64,
    shown: f64,
    /// The last loss event of this queue and of the queues before it, in seconds.
    last_loss: f64,
    loss_before: f64,
}

/// What one report counts in the share, and in the usual share.
const SHARE_GAIN: f64 = 0.25;
const USUAL_GAIN: f64 = 0.1;
/// Bursts show a share where their pace is this much faster than they are served.
const VISIBLE_STRETCH: f64 = 1.05;
/// A queue counts up to so many targets: a deeper one is no better evidence.
const MAX_COUNTED_TARGETS: f64 = 4.0;
/// A flow with more of the link than this is alone, as far as errors of the measurement allow.
const ALONE_SHARE: f64 = 0.7;
/// The usual share is no less than this.
const LEAST_SHARE: f64 = 0.05;

impl Default for CrossEvidence {
    fn default() -> Self {
        Self {
            share: 1.0,
            usual_share: 1.0,
            evidence: 0.0,
            stood: 0.0,
            shown: 0.0,
            last_loss: f64::NEG_INFINITY,
            loss_before: f64::NEG_INFINITY,
        }
    }
}

impl CrossEvidence {
    /// Takes in a report after `elapsed` seconds, with the queueing delay and its target in seconds.
    pub(crate) fn observe(
        &mut self,
        elapsed: f64,
        queue: f64,
        target: f64,
        bursts: &Bursts,
        window: &DeliveryWindow,
    ) {
        if queue < target {
            *self = Self {
                share: self.usual_share,
                usual_share: self.usual_share,
                loss_before: larger(self.loss_before, self.last_loss),
                ..Self::default()
            };
            return;
        }
        self.stood += elapsed;
        if let Some(bursts) = bursts.recent() {
            self.shown += elapsed;
            let received = window.rate_between(bursts.span);
            let (pace, served) = (bursts.pace, bursts.served);
            let share = if pace <= VISIBLE_STRETCH * served {
                self.share
            } else if pace > VISIBLE_STRETCH * received {
                (received * (pace - served) / (served * (pace - received))).clamp(0.0, 1.0)
            } else {
                1.0
            };
            self.share += (share - self.share) * SHARE_GAIN;
            self.usual_share += (share - self.usual_share) * USUAL_GAIN;
        }
        let counted = (queue / target).min(MAX_COUNTED_TARGETS);
        let excess = counted * (1.0 - self.share) - 1.0;
        self.evidence = (self.evidence + elapsed * excess).max(0.0);
    }

    /// Takes in a loss event. It is evidence if a queue stands and bursts show that most of the link is used by others.
    pub(crate) fn observe_loss(&mut self, now: f64, params: &Params) {
        if self.stood == 0.0 || self.share > ALONE_SHARE {
            return;
        }
        if now - self.loss_before < params.hold {
            self.evidence = f64::INFINITY;
        }
        self.last_loss = now;
    }

    /// True if the evidence is enough to compete.
    pub(crate) fn is_proven(&self, params: &Params) -> bool {
        self.evidence > params.alarm
    }

    /// True if bursts show that the queue is this flow's own.
    pub(crate) fn is_alone(&self, params: &Params) -> bool {
        let is_shown = self.shown > params.round && self.shown > self.stood / 2.0;
        self.share > ALONE_SHARE && self.evidence == 0.0 && is_shown
    }

    /// The flow's share of what the link carries, when a queue stood last.
    pub(crate) fn usual_share(&self) -> f64 {
        self.usual_share.max(LEAST_SHARE)
    }

    /// From now on the evidence is this share of what is enough.
    pub(crate) fn set_evidence(&mut self, share: f64, params: &Params) {
        self.evidence = share * params.alarm;
    }
}
