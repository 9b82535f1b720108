//! Losses that no lower rate would avoid.
//!
//! A full queue loses packets while its delay is long. A policer and a queue of a few packets lose them without a delay, but
//! none at half the rate, where a frame leaves at the pace that was the mean rate before. So losses without a queueing delay
//! are put to a trial: frames of half the size for as many packets as would show a few losses. The losses of that trial
//! are random; what others' traffic loses in a short queue is taken for random too, and is the limit of this method.

use crate::Params;

#[derive(Clone, Debug, Default)]
pub(crate) struct RandomLoss {
    is_sought: bool,
    /// Packets and losses without a queueing delay since the last trial.
    before: Count,
    /// Packets and random losses of the trials. Each counts twice as much as the one before.
    trials: Count,
    trial: Option<Trial>,
    /// No trial before this, in seconds.
    rested_at: f64,
    /// The last report had no queueing delay beyond its target.
    is_clear: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: f64,
    losses: f64,
}

/// A time at a lower rate.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// When it began, in seconds, and its first packet.
    began_at: f64,
    first: u64,
    count: Count,
}

/// What a report adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossReport {
    /// When it came, in seconds.
    pub(crate) now: f64,
    /// Packets that arrived and that were found lost.
    pub(crate) delivered: f64,
    pub(crate) lost: f64,
    /// The highest packet that arrived, and the next to be sent.
    pub(crate) newest: u64,
    pub(crate) next: u64,
    /// The queueing delay is within its target.
    pub(crate) is_clear: bool,
    /// TFRC's X holds the rate down.
    pub(crate) is_bound: bool,
}

/// So many losses tell a ratio: its error is half of it, by Poisson's distribution, and a trial that should have as many and
/// has none is chance in one of 50.
const TELLING_LOSSES: f64 = 4.0;
/// Trials take up to this share of the time, so that they cost half as much of the rate.
const TRIAL_SHARE: f64 = 0.1;

impl Count {
    fn add(&mut self, report: &LossReport) {
        self.packets += report.delivered + report.lost;
        self.losses += report.lost;
    }

    /// Losses per packet, with a standard deviation of their number above it.
    fn most_likely_ratio(&self) -> f64 {
        let most = self.losses + tfrc::float::sqrt(self.losses);
        if most > 0.0 { most / self.packets } else { 0.0 }
    }
}

impl RandomLoss {
    pub(crate) fn seek(&mut self) {
        self.is_sought = true;
    }

    /// True while frames are to be of half their size.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// The share of packets that are lost at any rate; zero while a queue stands.
    pub(crate) fn ratio(&self) -> f64 {
        if self.is_clear {
            self.trials.most_likely_ratio()
        } else {
            0.0
        }
    }

    pub(crate) fn observe(&mut self, report: &LossReport, params: &Params) {
        self.is_clear = report.is_clear;
        if !self.is_sought {
            return;
        }
        if let Some(trial) = &mut self.trial {
            if report.is_clear && report.newest >= trial.first {
                trial.count.add(report);
            }
            let expected = trial.count.packets * self.before.losses / self.before.packets;
            let is_told = trial.count.losses.max(expected) >= TELLING_LOSSES;
            if is_told || report.now - trial.began_at > params.hold {
                self.end_trial(report.now, params);
            }
        } else if report.is_clear {
            self.before.add(report);
            let is_of_use = report.is_bound || self.trials.losses > 0.0;
            if self.before.losses >= TELLING_LOSSES && is_of_use && report.now >= self.rested_at {
                self.trial = Some(Trial {
                    began_at: report.now,
                    first: report.next,
                    count: Count::default(),
                });
            }
        }
    }

    fn end_trial(&mut self, now: f64, params: &Params) {
        let Some(Trial {
            began_at, count, ..
        }) = self.trial.take()
        else {
            return;
        };
        self.trials = if count.losses > 0.0 {
            Count {
                packets: self.trials.packets / 2.0 + count.packets,
                losses: self.trials.losses / 2.0 + count.losses,
            }
        } else {
            Count::default()
        };
        self.before = Count::default();
        self.rested_at = now + params.hold.max((now - began_at) / TRIAL_SHARE);
    }
}
