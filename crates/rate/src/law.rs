//! The law of the rate.

use tfrc::float::sqrt;

use crate::model::{Mode, PathModel};
use crate::number::{larger, smaller};
use crate::random_loss::TRIAL_RATE;

/// What the law has decided. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub(crate) struct RateLaw {
    pub(crate) mode: Mode,
    /// The available rate of this flow.
    pub(crate) rate: f64,
    /// TFRC's X.
    pub(crate) bound: f64,
    /// The rate as a share of the rate at which bursts are served.
    share: f64,
    /// Frames are shortened until the flow's own queue has gone.
    pub(crate) draining: bool,
    /// No queue has been met yet.
    starting: bool,
    /// When the rate was cut last, in seconds.
    backed_off: f64,
    /// The mean evenness of bursts while the queue is at its target.
    evenness: f64,
    overload: Option<Overload>,
    /// While competing: since when, the longest queue, and for how long the queue has been short, in seconds.
    competes_since: f64,
    longest_queue: f64,
    quiet: f64,
}

/// A queue went beyond its target.
#[derive(Clone, Copy, Debug)]
struct Overload {
    /// The rate and the usual evenness then.
    rate: f64,
    evenness: f64,
    /// The least evenness since.
    worst: f64,
}

/// One report. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueReport {
    pub(crate) now: f64,
    /// Since the report before.
    pub(crate) elapsed: f64,
    pub(crate) round_trip: f64,
    /// The queueing delay to act upon, and its target at the present rate.
    pub(crate) queue: f64,
    pub(crate) target: f64,
}

/// Where the target of the queueing delay is the parameter's: 3 Mb/s, in bytes per second.
const REFERENCE_RATE: f64 = 375e3;
/// The target grows no more below this rate, which has a packet of Ethernet's size in 60 ms.
const LEAST_TARGET_RATE: f64 = 25e3;
/// The least rate: two packets of mostly headers in a frame interval of 40 ms.
const LEAST_RATE: f64 = 6e3;
/// No rate is higher, 100 Gb/s, so that arithmetic on rates stays finite.
pub(crate) const HIGHEST_RATE: f64 = 12.5e9;
/// A rate up to so many times the least is as good as the least.
const LEAST_RATE_TOLERANCE: f64 = 1.25;
/// ln 4: a rate that grows so in a round doubles in half of one.
const LN_4: f64 = 1.386_294_361_119_890_6;
/// The rate rises by no more than this share at a time towards what a burst shows.
const MAX_RISE_FRACTION: f64 = 0.3;
/// Growth that no arrival has proved yet goes up to this multiple of the delivery rate.
const MAX_UNPROVEN_GROWTH: f64 = 2.0;
/// Beyond this share of the target, and without sight of the bottleneck, growth is additive.
const ADDITIVE_GROWTH_FRACTION: f64 = 0.5;
/// A queue of more than so many targets gives no deeper cut.
const MAX_BACKOFF_EXCESS: f64 = 4.0;
/// A cut follows what the queue grew to this share at most, and the share of what bursts are served to that one.
const MIN_CUT_FACTOR: f64 = 0.25;
const MIN_SHARE_CUT_FACTOR: f64 = 0.9;
/// Frames while a queue drains are no smaller than this share of the others.
const MIN_DRAINING_FRACTION: f64 = 0.4;
/// A queue below this share of the target has drained.
const DRAINED_FRACTION: f64 = 0.25;
/// Where frames use less than this share of what they are allowed the application limits the rate, and growth would be
/// unproven (RFC 7661 §4.4.2).
const APPLICATION_LIMITED_USAGE: f64 = 0.8;
/// One report counts as much in the mean evenness.
const EVENNESS_GAIN: f64 = 0.1;
/// A queue has passed its peak when less than this share of it is left.
const PAST_PEAK_FRACTION: f64 = 0.85;
/// Competing ends where the queue is shorter than half of its target for this long, in seconds.
const QUIET_TIME: f64 = 0.5;
/// The rate grows to this multiple of the delivery rate or the mean service rate, whichever is higher: no flow gets more than
/// the rate at which its bursts are served.
const SHARE_CEILING: f64 = 1.05;
/// What a bound holds back is made up for by no more than this.
const CATCH_UP_FACTOR: f64 = 1.05;
/// A frame leaves no more than this share unused for what it risks.
const MIN_RISK_FACTOR: f64 = 0.5;

impl RateLaw {
    pub(crate) fn new(initial: f64) -> Self {
        Self {
            mode: Mode::Delay,
            rate: initial.clamp(LEAST_RATE, HIGHEST_RATE),
            bound: f64::INFINITY,
            share: 1.0,
            draining: false,
            starting: true,
            backed_off: f64::NEG_INFINITY,
            evenness: 1.0,
            overload: None,
            competes_since: 0.0,
            longest_queue: 0.0,
            quiet: 0.0,
        }
    }

    /// True if the rate could hardly be lower.
    pub(crate) fn is_least(&self) -> bool {
        self.rate <= LEAST_RATE_TOLERANCE * LEAST_RATE
    }
}

impl PathModel {
    /// The queueing delay that the flow aims at, in seconds. It depends on the flow's rate alone and falls as that rises, so
    /// that flows which share a queue are pulled to one rate (Swift's flow scaling, SIGCOMM 2020 §3.5).
    pub(crate) fn target(&self) -> f64 {
        let scale = REFERENCE_RATE / self.law.rate.max(LEAST_TARGET_RATE);
        self.params.queue_target * sqrt(scale)
    }

    /// Lets the rate follow a report.
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

    /// Cross traffic that reacts to loss fills the queue and takes its rate back when it overflows. That moment is common to
    /// all flows of a queue: where they compete with each other alone, all test the path then and find it empty.
    fn compete(&mut self, report: &QueueReport) {
        let (now, queue) = (report.now, report.queue);
        self.law.rate = self.law.bound.min(HIGHEST_RATE);
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
            // A queue that went for a moment may be TCP's, which comes back.
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
        // A drain ends with its round: flows that drain together could otherwise hold a constant queue and never grow again.
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

    /// The rate at which the bottleneck serves this flow's bursts: no less than what arrives.
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

    /// The rate to which an overload may reduce this flow at once. A burst beside other traffic is served the more slowly the
    /// slower it is sent, so that a small flow which followed its service rate would yield the whole excess alone. Where all
    /// flows go by the ratio in which their bursts are stretched more than before, they yield alike.
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

    /// How long the law waits after a cut, in seconds: reports show its effect by then.
    fn round_after(&self, round_trip: f64) -> f64 {
        larger(round_trip + self.interval, self.params.round)
    }

    /// Cuts the rate, once a round, by what the queue grows and by a share that grows with the queue.
    fn back_off(&mut self, now: f64, round_trip: f64, excess: f64, floor: f64) {
        if now - self.law.backed_off <= self.round_after(round_trip) {
            return;
        }
        let carried = 1.0 / (1.0 + self.queue_gradient());
        let kept = 1.0 - self.params.backoff * excess.min(MAX_BACKOFF_EXCESS);
        // What the application did not use is given up first.
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
            // The target of N equal flows is √N times that of one, and together they grow √N times as fast. So the frequency at
            // which the queue oscillates, the root of growth over target, does not depend on N.
            let capacity = self.delivery_rate / self.cross.usual_share();
            let scale = (sqrt(capacity * before) / served).max(1.0);
            let proven = self.bursts.mean_service_rate().max(self.delivery_rate);
            let most = SHARE_CEILING * proven / served;
            let share = self.law.share + self.params.increase * scale * elapsed * (1.0 - fullness);
            self.law.share = share.min(most.max(self.law.share));
            // Without a queue the rate does not fall, since a slow burst may have met a burst of others. Only slow start falls
            // back to what its first stretched burst shows.
            let least = if self.law.starting {
                before / MAX_UNPROVEN_GROWTH
            } else {
                before
            };
            self.law.rate =
                (self.law.share * served).clamp(least, before * (1.0 + MAX_RISE_FRACTION));
            self.law.starting = false;
        } else if fullness < ADDITIVE_GROWTH_FRACTION {
            // Slow start grows by what a round trip proves; later no faster than flows of any round trip do.
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
        let bound = self.law.bound;
        self.law.rate = smaller(self.law.rate, bound).clamp(LEAST_RATE, HIGHEST_RATE);
        if self.law.rate >= bound
            && let Some(served) = self.bursts.service_rate()
        {
            let share = CATCH_UP_FACTOR * self.law.rate / served.max(1.0);
            self.law.share = self.law.share.min(share).max(self.least_share());
        }
    }

    /// The rate that the next frame is made for.
    pub(crate) fn frame_rate(&self, now: f64) -> f64 {
        let rate = self.law.rate.min(self.law.bound);
        if self.law.mode == Mode::Compete {
            return rate;
        }
        // The path may serve a frame more slowly than in the mean.
        let rate = rate * (1.0 - self.params.risk * self.bursts.shortfall()).max(MIN_RISK_FACTOR);
        let rate = if self.random_loss.is_on_trial() {
            rate * TRIAL_RATE
        } else {
            rate
        };
        if self.law.draining {
            rate * (1.0 - self.own_queue(now) / self.interval).max(MIN_DRAINING_FRACTION)
        } else {
            rate
        }
    }
}
