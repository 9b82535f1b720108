//! The law that sets the rate from the queueing delay and the bursts.

use libm::sqrt;

use crate::cross::MAX_COUNTED_TARGETS;
use crate::law_state::{LEAST_RATE, Mode, Overload, QueueReport};
use crate::model::PathModel;
use crate::number::{HIGHEST_RATE, larger, smaller};
use crate::random_loss::TRIAL_RATE;

/// The rate at which the target equals [`Params::queue_target`](crate::Params), in bytes per second: 3 Mb/s.
const REFERENCE_RATE: f64 = 375e3;
/// The target is constant below this rate, in bytes per second. A packet of Ethernet's size outlasts a frame there.
const LEAST_TARGET_RATE: f64 = 25e3;
/// ln 4: a rate with this growth in a round doubles in half a round.
const LN_4: f64 = 2.0 * core::f64::consts::LN_2;
/// A report with a stretched burst raises the rate by this share at most.
const MAX_RISE_FRACTION: f64 = 0.3;
/// Growth ahead of arrivals ends at this multiple of the delivery rate, as TFRC's does (RFC 5348 §4.3).
const MAX_UNPROVEN_GROWTH: f64 = 2.0;
/// Growth is additive beyond this share of the target while no burst is stretched.
const ADDITIVE_GROWTH_FRACTION: f64 = 0.5;
/// A back-off for the growth of the queue keeps at least these factors: of the rate, and of the share.
const MIN_CUT_FACTOR: f64 = 0.25;
const MIN_SHARE_CUT_FACTOR: f64 = 0.9;
/// A queue below this share of the target has drained.
const DRAINED_FRACTION: f64 = 0.25;
/// The application limits the rate where frames use less than this share of their budgets, and growth would be unproven
/// (RFC 7661 §4.4.2).
const APPLICATION_LIMITED_USAGE: f64 = 0.8;
/// Weight of one report in the mean evenness.
const EVENNESS_GAIN: f64 = 0.1;
/// A queue has passed its peak when less than this share of the peak is left.
const PAST_PEAK_FRACTION: f64 = 0.85;
/// Competing ends after the queue has been below half of its target for this time, in seconds.
const QUIET_TIME: f64 = 0.5;
/// The rate grows to this multiple of the delivery rate or the mean service rate, whichever is higher: no flow gets more than
/// the rate at which its bursts are served. The rest is room for growth from one burst to the next.
const SHARE_CEILING: f64 = 1.05;
/// A frame uses at least this share of the rate, however irregularly bursts are served.
const MIN_RISK_FACTOR: f64 = 0.5;

impl PathModel {
    /// The queueing delay that the flow aims at, in seconds. The target depends on the flow's rate alone and falls as the rate
    /// rises, so that flows which share a queue are pulled to one rate (Swift's flow scaling, SIGCOMM 2020 §3.5).
    pub(crate) fn target(&self) -> f64 {
        let scale = REFERENCE_RATE / self.law.rate.max(LEAST_TARGET_RATE);
        self.params.queue_target * sqrt(scale)
    }

    /// Updates the rate from a report.
    pub(crate) fn follow(&mut self, report: &QueueReport) {
        match self.law.mode {
            Mode::Compete => self.compete(report),
            Mode::Delay => {
                if self.cross.is_proven(&self.params) {
                    self.begin_to_compete(report.now);
                }
                self.follow_delay(report);
            }
        }
        self.hold_to_bounds();
    }

    fn begin_to_compete(&mut self, now: f64) {
        self.law.mode = Mode::Compete;
        self.law.competes_since = now;
        (self.law.longest_queue, self.law.quiet) = (0.0, 0.0);
        self.law.draining = false;
        self.cross.set_evidence(0.0, &self.params);
    }

    /// Follows TFRC's X until a test of the path is due. Cross traffic that reacts to loss fills the queue and backs off when the
    /// queue overflows. All flows of a queue observe that moment: if they compete with each other alone, all of them test the
    /// path then and find the path empty.
    fn compete(&mut self, report: &QueueReport) {
        let (now, queue) = (report.now, report.queue);
        self.law.rate = self.law.highest_bound.min(HIGHEST_RATE);
        self.law.quiet = if queue < self.target() / 2.0 {
            self.law.quiet + report.elapsed
        } else {
            0.0
        };
        self.law.longest_queue = self.law.longest_queue.max(queue);
        let age = now - self.law.competes_since;
        let is_past_peak = queue < PAST_PEAK_FRACTION * self.law.longest_queue;
        let is_test = age > self.params.hold && (is_past_peak || age > 2.0 * self.params.hold);
        if is_test || self.law.quiet > QUIET_TIME {
            self.law.mode = Mode::Delay;
            self.law.draining = true;
            self.law.backed_off = f64::NEG_INFINITY;
            // A queue that has gone for a moment may be TCP's, which fills the queue again.
            let evidence = if is_test { 0.0 } else { 0.5 };
            self.cross.set_evidence(evidence, &self.params);
        }
    }

    fn follow_delay(&mut self, report: &QueueReport) {
        let QueueReport {
            now,
            elapsed,
            round_trip,
            queue,
            target,
        } = *report;
        let is_drained = queue < DRAINED_FRACTION * target && self.least.sent > self.law.backed_off;
        // Draining ends with the round: flows that drain together could otherwise hold a constant queue and never grow again.
        let is_over = now - self.law.backed_off > self.round_after(round_trip);
        if self.law.draining && (is_drained || is_over || self.own_queue(now) <= 0.0) {
            self.law.draining = false;
        }
        let floor = self.overload_floor(queue > target);
        let served = self.served();
        let is_stretched = self.bursts.evenness() < 1.0 - self.params.stretch;
        if (queue > target || self.law.draining) && is_stretched {
            self.law.rate = self.law.rate.min((self.law.share * served).max(floor));
        }
        if queue > target {
            self.back_off(now, round_trip, queue / target, floor);
        } else if !self.law.draining
            && self.usage > APPLICATION_LIMITED_USAGE
            && !self.random_loss.is_on_trial()
        {
            self.grow(elapsed, round_trip, queue / target, is_stretched);
        }
    }

    /// The rate at which the bottleneck serves this flow's bursts, at least the delivery rate.
    fn served(&self) -> f64 {
        let measured = self.bursts.service_rate().unwrap_or(0.0);
        larger(measured, self.delivery_rate)
    }

    /// The least ratio of the rate to the service rate of bursts. Bursts of pace g·R beside cross traffic Y are served at
    /// B = C·g·R/(g·R + Y), so R/B on a full link is (g·R + Y)/(g·C), which is above 1/g. Below 1/g the rate would fall to
    /// zero, because each fall lowers the service rate too.
    fn least_share(&self) -> f64 {
        1.0 / self.burst_gain()
    }

    /// The least rate to which an overload may reduce this flow at once. Beside other traffic a slower burst is served more
    /// slowly, so that a small flow which followed its service rate would yield the whole excess alone. Flows yield alike if
    /// each follows the ratio in which its bursts are stretched more than before.
    fn overload_floor(&mut self, is_over: bool) -> f64 {
        let evenness = self.bursts.evenness();
        if !is_over && !self.law.draining {
            self.law.evenness += (evenness - self.law.evenness) * EVENNESS_GAIN;
            self.law.overload = None;
            return 0.0;
        }
        let begun = Overload {
            rate: self.law.rate,
            evenness: self.law.evenness,
            worst: evenness,
        };
        let overload = self.law.overload.get_or_insert(begun);
        overload.worst = overload.worst.min(evenness);
        overload.rate * (overload.worst / overload.evenness).min(1.0)
    }

    /// The wait after a back-off, in seconds, by whose end reports show the effect.
    fn round_after(&self, round_trip: f64) -> f64 {
        larger(round_trip + self.interval, self.params.round)
    }

    /// Cuts the rate once a round. The cut follows the growth of the queue and the queue's ratio to its target.
    fn back_off(&mut self, now: f64, round_trip: f64, excess: f64, floor: f64) {
        if now - self.law.backed_off <= self.round_after(round_trip) {
            return;
        }
        let carried = 1.0 / (1.0 + self.queue_gradient());
        let kept = 1.0 - self.params.backoff * excess.min(MAX_COUNTED_TARGETS);
        // The flow first gives up the rate that the application did not use.
        let kept = kept * self.usage.max(0.5);
        self.law.rate *= carried.max(MIN_CUT_FACTOR) * kept;
        if self.bursts.service_rate().is_some() {
            let share = self.law.share * carried.max(MIN_SHARE_CUT_FACTOR) * kept;
            self.law.share = share.max(self.least_share());
            self.law.rate = self
                .law
                .rate
                .min((self.law.share * self.served()).max(floor));
        }
        (self.law.backed_off, self.law.draining, self.law.starting) = (now, true, false);
    }

    /// Lets the rate grow, with a queue of this share of its target.
    fn grow(&mut self, elapsed: f64, round_trip: f64, fullness: f64, is_stretched: bool) {
        let (before, served) = (self.law.rate, self.served());
        if is_stretched {
            // N equal flows have √N times the target of a lone flow and together grow √N times as fast. So the frequency at
            // which the queue oscillates, the root of growth over target, does not depend on N.
            let capacity = self.delivery_rate / self.cross.usual_share();
            let scale = (sqrt(capacity * before) / served).max(1.0);
            let proven = self.bursts.mean_service_rate().max(self.delivery_rate);
            let most = SHARE_CEILING * proven / served;
            let share = self.law.share + self.params.increase * scale * elapsed * (1.0 - fullness);
            self.law.share = share.min(most.max(self.law.share));
            // Without a queue the rate does not fall, since cross traffic may have delayed a single burst. Only slow start falls
            // back to the service rate of its first stretched burst.
            let least = if self.law.starting {
                before / MAX_UNPROVEN_GROWTH
            } else {
                before
            };
            self.law.rate =
                (self.law.share * served).clamp(least, before * (1.0 + MAX_RISE_FRACTION));
            self.law.starting = false;
        } else if fullness < ADDITIVE_GROWTH_FRACTION {
            // Slow start grows once a round trip. Later growth is no faster than the growth of flows with other round trips.
            let proved = 1.0 / (round_trip + self.interval);
            let gain = if self.law.starting {
                proved
            } else {
                proved.min(LN_4 / self.params.round)
            };
            self.law.rate *= 1.0 + elapsed * gain;
            self.law.share = self.law.rate / served.max(self.law.rate / SHARE_CEILING);
        } else {
            self.law.rate *= 1.0 + self.params.increase * elapsed;
        }
        let proven = MAX_UNPROVEN_GROWTH * self.delivery_rate.max(LEAST_RATE / MAX_UNPROVEN_GROWTH);
        self.law.rate = self.law.rate.min(before.max(proven));
    }

    fn hold_to_bounds(&mut self) {
        let bound = self.law.highest_bound;
        self.law.rate = smaller(self.law.rate, bound).clamp(LEAST_RATE, HIGHEST_RATE);
        if self.law.rate >= bound
            && let Some(served) = self.bursts.service_rate()
        {
            // While TFRC's X holds the rate, the share may not run ahead of it.
            let share = SHARE_CEILING * self.law.rate / served.max(1.0);
            self.law.share = self.law.share.min(share).max(self.least_share());
        }
    }

    /// Gives the rate that the flow may use, in bytes per second: at most TFRC's X, and less in a trial of random loss.
    pub(crate) fn usable_rate(&self) -> f64 {
        let rate = self.law.rate.min(self.law.bound);
        if self.random_loss.is_on_trial() {
            rate * TRIAL_RATE
        } else {
            rate
        }
    }

    /// The rate for the size of the next frame.
    pub(crate) fn frame_rate(&self, now: f64) -> f64 {
        let rate = self.usable_rate();
        if self.law.mode == Mode::Compete {
            return rate;
        }
        // The path may serve a single frame more slowly than the mean.
        let rate = rate * (1.0 - self.params.risk * self.bursts.shortfall()).max(MIN_RISK_FACTOR);
        if self.law.draining {
            rate * (1.0 - self.own_queue(now) / self.interval).max(self.params.drain_floor)
        } else {
            rate
        }
    }
}
