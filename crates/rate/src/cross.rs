//! Evidence of cross traffic that keeps a queue standing.
//!
//! A burst of pace P beside cross traffic Y leaves the bottleneck at the service rate B = C·P/(P + Y). With Y = C −
//! R, where R is this flow's delivery rate, the capacity is C = B·(P − R)/(P − B), and R/C is the flow's share. If
//! a queue stands while the share is small, other flows keep the queue.
//!
//! Flows that follow delay drain their queue within a few round trips. Flows that react to loss alone keep the queue, or drain the
//! queue only after a loss. So there are two kinds of evidence. The first is the excess of such a queue over the target, summed
//! while the queue stands (CUSUM; Page, 1954). The second is a loss in each of two successive queues, since a single loss may
//! come from a link that became slower.

use crate::Params;
use crate::bursts::Bursts;
use crate::number::larger;
use crate::window::DeliveryWindow;

#[derive(Clone, Debug)]
pub(crate) struct CrossEvidence {
    /// The flow's share of the link while a queue stands.
    share: f64,
    /// The share over a longer time, kept while no queue stands.
    usual_share: f64,
    /// The excess of the queue in targets, summed over time in seconds.
    evidence: f64,
    /// The time for which a queue has stood, and the time in which bursts have shown a share, in seconds.
    stood: f64,
    shown: f64,
    /// The last loss event of this queue and of the queues before it, in seconds.
    last_loss: f64,
    loss_before: f64,
}

/// Weights of one report in the share and in the usual share.
const SHARE_GAIN: f64 = 0.25;
const USUAL_GAIN: f64 = 0.1;
/// Bursts show a share if their pace is at least this multiple of their service rate.
const VISIBLE_STRETCH: f64 = 1.05;
/// A queue counts up to this many targets, as evidence and in a back-off, since a deeper queue is no better evidence.
pub(crate) const MAX_COUNTED_TARGETS: f64 = 4.0;
/// Lower bound of the usual share.
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
    /// Handles a report after `elapsed` seconds, with the queueing delay and its target in seconds.
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

    /// Handles a loss event, which is evidence if a queue stands and bursts show that other flows use most of the
    /// link.
    pub(crate) fn observe_loss(&mut self, now: f64, params: &Params) {
        if self.stood == 0.0 || self.share > params.alone_share {
            return;
        }
        if now - self.loss_before < params.hold {
            self.evidence = f64::INFINITY;
        }
        self.last_loss = now;
    }

    /// Returns true if the evidence is enough to compete.
    pub(crate) fn is_proven(&self, params: &Params) -> bool {
        self.evidence > params.alarm
    }

    /// Returns true if bursts show that the queue is this flow's own.
    pub(crate) fn is_alone(&self, params: &Params) -> bool {
        let is_shown = self.shown > params.round && self.shown > self.stood / 2.0;
        self.share > params.alone_share && self.evidence == 0.0 && is_shown
    }

    /// Returns the flow's share of the link at the last standing queue.
    pub(crate) fn usual_share(&self) -> f64 {
        self.usual_share.max(LEAST_SHARE)
    }

    /// Sets the evidence to this share of the proving evidence.
    pub(crate) fn set_evidence(&mut self, share: f64, params: &Params) {
        self.evidence = share * params.alarm;
    }
}
