//! Finds losses that no lower rate would avoid, by trials of a lower rate.
//!
//! A full queue loses packets while its delay is long. A policer and a queue of a few packets lose packets without a delay, but
//! few or none at a lower rate. So losses without a queueing delay lead to a trial: a lower rate for as many packets as
//! would show a few losses. The losses of the trial count as random. The method has a limit: losses that cross traffic causes
//! in a short queue count as random, too.

use tfrc::Receiver;

use crate::Params;

/// The search for losses that no lower rate would avoid.
#[derive(Clone, Debug, Default)]
pub(crate) struct RandomLoss {
    is_sought: bool,
    /// Packets and losses without a queueing delay since the last trial.
    usual: LossCount,
    /// The time over which these packets were reported, in seconds.
    lasted: f64,
    /// The time for which trials may lower the rate, in seconds; `None` before the first report.
    allowance: Option<f64>,
    /// Packets and random losses of the trials. Each trial has twice the weight of the trial before.
    random: LossCount,
    trial: Option<LossTrial>,
    /// True if the queueing delay of the last report was within its target.
    is_clear: bool,
}

/// Packets, and how many of them were lost.
#[derive(Clone, Copy, Debug, Default)]
struct LossCount {
    packets: f64,
    losses: f64,
}

/// A period at the lower rate.
#[derive(Clone, Copy, Debug)]
struct LossTrial {
    /// The time since the trial began, in seconds.
    lasted: f64,
    /// The first packet that counts; `None` in the first round, in which a queue drains and a policer's bucket fills.
    first: Option<u64>,
    count: LossCount,
}

/// The arrivals and losses of one report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossReport {
    /// The seconds since the report before.
    pub(crate) elapsed: f64,
    /// Packets that arrived and that were found lost.
    pub(crate) delivered: f64,
    pub(crate) lost: f64,
    /// The highest packet that arrived, and the next to be sent.
    pub(crate) newest: u64,
    pub(crate) next: u64,
    /// True if the queueing delay is within its target.
    pub(crate) is_clear: bool,
    /// True if TFRC's X bounds the rate.
    pub(crate) is_bound: bool,
}

/// The share of the rate that a trial uses. A policer that loses up to the rest of the packets loses none in a trial.
pub(crate) const TRIAL_RATE: f64 = 0.75;
/// Losses from which a ratio is estimated. By Poisson's distribution the standard error is half the ratio.
const SHOWING_LOSSES: f64 = 4.0;
/// Trials take up to this share of the time.
const TRIAL_SHARE: f64 = 0.1;

impl LossCount {
    fn add(&mut self, report: &LossReport) {
        self.packets += report.delivered + report.lost;
        self.losses += report.lost;
    }

    /// Returns the losses per packet, one standard deviation above the measured ratio, up to the ratio that TFRC
    /// tolerates.
    fn upper_ratio(&self) -> f64 {
        let most = self.losses + libm::sqrt(self.losses);
        if most > 0.0 {
            (most / self.packets).min(Receiver::MAX_TOLERATED_LOSS)
        } else {
            0.0
        }
    }
}

impl RandomLoss {
    pub(crate) fn seek(&mut self) {
        self.is_sought = true;
    }

    pub(crate) fn is_sought(&self) -> bool {
        self.is_sought
    }

    /// Returns true while frames have the lower rate.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns the share of packets that are lost at any rate; zero while a queue stands.
    pub(crate) fn ratio(&self) -> f64 {
        if self.is_clear {
            self.random.upper_ratio()
        } else {
            0.0
        }
    }

    pub(crate) fn observe(&mut self, report: &LossReport, params: &Params) {
        self.is_clear = report.is_clear;
        let Some(trial) = &mut self.trial else {
            self.observe_usual(report, params);
            return;
        };
        trial.lasted += report.elapsed;
        match trial.first {
            None if trial.lasted > params.round => trial.first = Some(report.next),
            Some(_) if !report.is_clear => return self.stop_trial(),
            Some(first) if report.newest >= first => trial.count.add(report),
            Some(_) | None => {}
        }
        let expected = trial.count.packets * self.usual.losses / self.usual.packets;
        if trial.count.losses.max(expected) >= SHOWING_LOSSES {
            let count = trial.count;
            self.stop_trial();
            self.settle(count);
        } else if trial.lasted > params.hold {
            self.stop_trial();
        }
    }

    /// Forgets the present trial, because cross traffic fills the queue or reports have another format.
    pub(crate) fn stop_trial(&mut self) {
        if let Some(trial) = self.trial.take() {
            self.allowance = self.allowance.map(|allowance| allowance - trial.lasted);
        }
    }

    fn observe_usual(&mut self, report: &LossReport, params: &Params) {
        let allowance = self.allowance.unwrap_or(TRIAL_SHARE * params.hold);
        let allowance = (allowance + TRIAL_SHARE * report.elapsed).min(params.hold);
        self.allowance = Some(allowance);
        if !report.is_clear {
            return;
        }
        if self.lasted > params.hold {
            self.fade();
        }
        self.usual.add(report);
        self.lasted += report.elapsed;
        let is_of_use = report.is_bound || self.random.losses > 0.0;
        let needed = SHOWING_LOSSES / self.usual.losses * self.lasted / TRIAL_RATE;
        if self.usual.losses >= SHOWING_LOSSES && is_of_use && needed <= allowance {
            self.trial = Some(LossTrial {
                lasted: 0.0,
                first: None,
                count: LossCount::default(),
            });
        }
    }

    /// Halves the weight of the losses at the usual rate. If they are far fewer than the random losses, those have
    /// ended.
    fn fade(&mut self) {
        let expected = self.usual.packets * self.random.upper_ratio();
        if self.usual.losses < SHOWING_LOSSES && expected > 2.0 * SHOWING_LOSSES {
            self.random = LossCount::default();
        }
        self.usual.packets /= 2.0;
        self.usual.losses /= 2.0;
        self.lasted /= 2.0;
    }

    fn settle(&mut self, count: LossCount) {
        self.random = if count.losses > 0.0 {
            LossCount {
                packets: self.random.packets / 2.0 + count.packets,
                losses: self.random.losses / 2.0 + count.losses,
            }
        } else {
            LossCount::default()
        };
        (self.usual, self.lasted) = (LossCount::default(), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that loses packets with one probability at the usual rate and another at the lower rate.
    struct LossyFlow {
        random_loss: RandomLoss,
        chances: u32,
        next: u64,
        trial_s: f64,
    }

    const PARAMS: Params = Params::CALL;

    impl LossyFlow {
        fn new() -> Self {
            let mut random_loss = RandomLoss::default();
            random_loss.seek();
            Self {
                random_loss,
                chances: 1,
                next: 0,
                trial_s: 0.0,
            }
        }

        fn report(&mut self, [usual, lowered]: [f64; 2], is_clear: bool) {
            let loss = if self.random_loss.is_on_trial() {
                self.trial_s += 0.04;
                lowered
            } else {
                usual
            };
            let mut lost = 0.0;
            for _ in 0..12 {
                // The upper bits of the generator of Numerical Recipes are random enough.
                self.chances = self
                    .chances
                    .wrapping_mul(1_664_525)
                    .wrapping_add(1_013_904_223);
                let is_lost = f64::from(self.chances >> 8) < loss * f64::from(1 << 24);
                lost += f64::from(u8::from(is_lost));
            }
            self.next += 12;
            let report = LossReport {
                elapsed: 0.04,
                delivered: 12.0 - lost,
                lost,
                newest: self.next - 1,
                next: self.next,
                is_clear,
                is_bound: true,
            };
            self.random_loss.observe(&report, &PARAMS);
        }

        /// Runs the flow for this time. Gives the mean ratio over the second half.
        fn run(&mut self, seconds: u64, losses: [f64; 2]) -> f64 {
            let reports = seconds * 25;
            let mut sum = 0.0;
            for report in 0..reports {
                self.report(losses, true);
                if report >= reports / 2 {
                    sum += self.random_loss.ratio();
                }
            }
            sum / (reports - reports / 2) as f64
        }
    }

    #[test]
    fn losses_at_any_rate_are_tolerated() {
        for loss in [0.005, 0.01, 0.02, 0.05, 0.07] {
            let mut flow = LossyFlow::new();
            let ratio = flow.run(600, [loss; 2]);
            // The ratio is one standard deviation above the measurement.
            assert!((loss..2.0 * loss).contains(&ratio), "{loss}: {ratio}");
            assert!(flow.trial_s < 0.12 * 600.0, "{loss}: {}", flow.trial_s);
        }
    }

    #[test]
    fn losses_of_a_policer_are_not_tolerated() {
        for loss in [0.005, 0.02, 0.1, 0.25] {
            let mut flow = LossyFlow::new();
            assert_eq!(flow.run(600, [loss, 0.0]), 0.0, "{loss}");
            assert!(flow.trial_s > 0.0, "{loss}");
        }
        // The losses that remain at a lower rate are tolerated.
        let ratio = LossyFlow::new().run(600, [0.05, 0.02]);
        assert!((0.02..0.04).contains(&ratio), "{ratio}");
    }

    #[test]
    fn losses_in_a_queue_are_not_tolerated() {
        let mut flow = LossyFlow::new();
        flow.run(60, [0.05; 2]);
        assert!(flow.random_loss.ratio() > 0.0);
        flow.report([0.05; 2], false);
        assert_eq!(flow.random_loss.ratio(), 0.0);
        let mut flow = LossyFlow::new();
        for _ in 0..10_000 {
            flow.report([0.05; 2], false);
            assert!(!flow.random_loss.is_on_trial());
        }
    }

    #[test]
    fn tolerance_outlives_a_queue_during_a_trial() {
        let mut flow = LossyFlow::new();
        flow.run(60, [0.05; 2]);
        while !flow.random_loss.is_on_trial() {
            flow.report([0.05; 2], true);
        }
        // The first round of a trial counts nothing.
        for _ in 0..10 {
            flow.report([0.0; 2], true);
        }
        let before = flow.random_loss.ratio();
        assert!(before > 0.04 && flow.random_loss.is_on_trial());
        flow.report([1.0; 2], false);
        assert!(!flow.random_loss.is_on_trial());
        flow.report([0.0; 2], true);
        assert_eq!(flow.random_loss.ratio(), before);
    }

    #[test]
    fn hours_without_loss_leave_no_trace() {
        let mut flow = LossyFlow::new();
        flow.run(60, [0.05; 2]);
        flow.run(4 * 3_600, [0.0; 2]);
        assert_eq!(flow.random_loss.ratio(), 0.0);
        // The ratio is found as soon as at the start.
        let ratio = flow.run(60, [0.05; 2]);
        assert!((0.05..0.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn tolerance_ends_after_losses_begin_to_respond() {
        let mut flow = LossyFlow::new();
        flow.run(60, [0.05; 2]);
        assert_eq!(flow.run(120, [0.05, 0.0]), 0.0);
    }
}
