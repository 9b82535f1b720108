//! The state of the path and the law of the rate.

use tfrc::report::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::Params;
use crate::base::BaseDelay;
use crate::bursts::Bursts;
use crate::cross::CrossTraffic;
use crate::sent::SentPackets;
use crate::signal::QueueSignal;
use crate::window::Window;

/// What the rate follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Queueing delay: the rate keeps it below the target.
    Delay,
    /// TFRC's X alone, beside cross traffic that keeps a queue standing.
    Compete,
}

/// What the path carries, and what is to be sent into it.
#[derive(Clone, Debug)]
pub struct PathModel {
    params: Params,
    /// Between two frames, in seconds.
    interval: f64,
    /// What the application can use, bytes per second.
    most: f64,
    /// TFRC's X.
    bound: f64,
    sent: SentPackets,
    base: BaseDelay,
    /// The least round trip, and the mean time between reports.
    round_trip: BaseDelay,
    report_interval: f64,
    /// What the shortest packet takes at the bottleneck that set the base delay.
    base_serialisation: f64,
    signal: QueueSignal,
    window: Window,
    bursts: Bursts,
    cross: CrossTraffic,
    mode: Mode,
    /// The available rate of this flow, bytes per second.
    rate: f64,
    /// The flow's share of the rate at which its bursts are served.
    share: f64,
    /// Queueing delay of the packet of the last report that had least, when it left, and bytes sent before it.
    queue: f64,
    queue_sent: f64,
    queue_before: f64,
    /// The newest burst of which a packet arrived.
    burst: u64,
    delivery_rate: f64,
    /// What the last frame was allowed, what it has sent, and the share that frames use of what they are allowed.
    budget: f64,
    frame_sent: f64,
    usage: f64,
    draining: bool,
    starting: bool,
    backed_off: f64,
    reported: f64,
    /// Since when the queue has stood above its target within narrow bounds, and those bounds.
    standing: Standing,
    /// While competing: until when, and for how long the queue has been small.
    compete_until: f64,
    quiet: f64,
}

#[derive(Clone, Copy, Debug)]
struct Standing {
    time: f64,
    flat: f64,
    drained: f64,
    reference: f64,
    least: f64,
    most: f64,
}

impl Standing {
    const NONE: Self = Self { time: 0.0, flat: 0.0, drained: 0.0, reference: 0.0, least: f64::MAX, most: 0.0 };
}

/// Where the target of the queueing delay is the parameter's, bytes per second: 3 Mb/s.
const REFERENCE_RATE: f64 = 375e3;
/// The target stops growing below this rate, bytes per second.
const LEAST_TARGET_RATE: f64 = 25e3;
/// The least rate, bytes per second: a packet of an IP header, RTP's and little else in every frame.
const LEAST_RATE: f64 = 6e3;

fn seconds(secs: f64) -> Duration {
    Duration::from_nanos((secs.clamp(0.0, 1e3) * 1e9) as u64)
}

fn secs(at: Instant) -> f64 {
    at.as_nanos() as f64 * 1e-9
}

impl PathModel {
    /// A path of which nothing is known, for frames that are this far apart.
    pub fn new(params: Params, frame_interval: Duration, initial: Rate) -> Self {
        Self {
            params,
            interval: frame_interval.as_secs_f64(),
            most: f64::INFINITY,
            bound: f64::INFINITY,
            sent: SentPackets::default(),
            base: BaseDelay::default(),
            round_trip: BaseDelay::default(),
            report_interval: 0.0,
            base_serialisation: 1.0,
            signal: QueueSignal::default(),
            window: Window::default(),
            bursts: Bursts::default(),
            cross: CrossTraffic::default(),
            mode: Mode::Delay,
            rate: initial.bytes_per_sec(),
            share: 1.0,
            queue: 0.0,
            queue_sent: 0.0,
            queue_before: 0.0,
            burst: 0,
            delivery_rate: 0.0,
            budget: 0.0,
            frame_sent: 0.0,
            usage: 1.0,
            draining: false,
            starting: true,
            backed_off: f64::NEG_INFINITY,
            reported: f64::NEG_INFINITY,
            standing: Standing::NONE,
            compete_until: 0.0,
            quiet: 0.0,
        }
    }

    /// The application can use no more than this.
    pub fn set_most(&mut self, most: Rate) {
        self.most = most.bytes_per_sec();
    }

    /// TFRC allows this from now on.
    pub fn set_bound(&mut self, bound: Rate) {
        self.bound = bound.bytes_per_sec();
    }

    /// A packet of `size` bytes leaves under this number.
    pub fn handle_sent(&mut self, now: Instant, number: u64, size: Bytes, ends_burst: bool) {
        self.sent.push(number, secs(now), size.as_f64(), ends_burst);
        self.frame_sent += size.as_f64();
        if ends_burst {
            let used = if self.budget > 0.0 { (self.frame_sent / self.budget).min(1.0) } else { 1.0 };
            self.usage += (used - self.usage) * USAGE_GAIN;
            self.frame_sent = 0.0;
        }
    }

    /// A report of arrivals came.
    pub fn handle_report(&mut self, now: Instant, deliveries: impl IntoIterator<Item = Delivery>) {
        let now = secs(now);
        if let Some(newest) = self.ingest(deliveries) {
            self.delivery_rate = self.window.delivery_rate(self.interval);
            self.conclude(now, now - newest);
        }
    }

    /// A report came that tells no arrivals: a round trip without the time that the receiver waited, and the rate at which
    /// it received. The way back counts as the way there.
    pub fn handle_round_trip(&mut self, now: Instant, sent_at: Instant, round_trip: Duration, received: Rate) {
        let (at, sent) = (secs(now), secs(sent_at));
        let round_trip = round_trip.as_secs_f64();
        self.base.observe(at, round_trip);
        if self.mode == Mode::Delay {
            self.base.expire(at - 2.0 * self.params.hold);
        }
        self.queue = round_trip - self.base.get();
        (self.queue_sent, self.queue_before) = (sent, self.sent.sent_until(sent));
        self.burst += 1;
        self.delivery_rate = received.bytes_per_sec();
        self.conclude(at, round_trip);
    }

    /// What the last report says is known.
    fn conclude(&mut self, now: f64, rtt: f64) {
        let elapsed = (now - self.reported).clamp(0.0, 0.1);
        self.report_interval += (elapsed - self.report_interval) / REPORTS;
        self.reported = now;
        self.round_trip.observe(now, rtt);
        self.round_trip.expire(now - 2.0 * self.params.hold);
        let tolerated = self.target() * env("TOL", 0.5);
        let queue = self.signal.observe(self.queue_sent, now, self.burst, self.queue, cr(), tolerated);
        self.detect_longer_path(elapsed, rtt);
        self.cross.observe(elapsed, queue, self.params.queue_target, &self.bursts, &self.window);
        match self.mode {
            Mode::Delay => self.follow_delay(now, elapsed, rtt, queue),
            Mode::Compete => self.compete(now, elapsed, queue),
        }
        self.hold_to_bounds();
    }

    /// Takes in deliveries; when the newest of them left, if there was one.
    fn ingest(&mut self, deliveries: impl IntoIterator<Item = Delivery>) -> Option<f64> {
        let (mut newest, mut least) = (None::<f64>, f64::INFINITY);
        for delivery in deliveries {
            let Some(packet) = self.sent.deliver(delivery.number) else {
                continue;
            };
            let arrived = secs(delivery.arrived_at);
            let transit = arrived - packet.at;
            self.observe_transit(arrived, transit, packet.size);
            let extra = self.bursts.serialisation(packet.size) - self.base_serialisation;
            let transit = transit - extra.max(0.0);
            self.burst = self.burst.max(packet.burst);
            if transit < least {
                least = transit;
                self.queue_sent = packet.at;
                self.queue_before = packet.sent_before;
            }
            self.bursts.observe(&packet, arrived, &self.params, self.signal.noise());
            self.window.observe(arrived, packet.at, packet.size);
            newest = Some(newest.map_or(packet.at, |newest| newest.max(packet.at)));
        }
        newest?;
        self.window.expire(self.interval);
        self.bursts.expire(self.window.arrived, self.interval);
        self.queue = (least - self.base.get()).max(0.0);
        newest
    }

    fn observe_transit(&mut self, arrived: f64, transit: f64, size: f64) {
        let before = self.base.get();
        self.base.observe(arrived, transit);
        // While a queue of others stands there is no other base to be had.
        if self.mode == Mode::Delay {
            self.base.expire(arrived - 2.0 * self.params.hold);
        }
        if self.base.get() < before {
            self.base_serialisation = 1.0;
        }
        self.base_serialisation = self.base_serialisation.min(self.bursts.serialisation(size));
    }

    /// A queue of others breathes; what stays as it is while the rate falls is the path's own delay.
    fn detect_longer_path(&mut self, elapsed: f64, rtt: f64) {
        if self.mode != Mode::Delay || self.queue <= self.target() / 2.0 && self.signal.least() <= self.target() / 2.0 {
            self.standing = Standing::NONE;
            return;
        }
        let least = self.signal.least();
        if self.standing.reference <= 0.0 {
            self.standing.reference = self.delivery_rate.max(1.0);
        }
        let sending = self.window.sending_rate(self.interval);
        let standing = &mut self.standing;
        standing.time += elapsed;
        standing.drained += elapsed * (1.0 - sending / standing.reference);
        standing.least = standing.least.min(self.queue);
        standing.most = standing.most.max(self.queue);
        let is_flat = standing.most - standing.least < self.params.queue_target / 6.0;
        if !is_flat {
            standing.least = self.queue;
            standing.most = self.queue;
            standing.flat = 0.0;
        }
        standing.flat += elapsed;
        let is_flat = standing.flat > (3.0 * rtt).max(0.8);
        let is_unexplained = standing.time > 2.0 * cr() + rtt && standing.drained > env("DRAINS", 2.0) * least && self.cross.share() > env("ALONE", 0.7);
        if is_flat || is_unexplained {
            let least = if is_flat { standing.least } else { least };
            let base = self.base.get() + least;
            self.base.replace(self.base.latest(), base);
            self.round_trip.replace(self.reported, rtt);
            self.signal.shift(least);
            self.standing = Standing::NONE;
            self.draining = false;
            self.cross.reset(0.0);
        }
    }

    fn compete(&mut self, now: f64, elapsed: f64, queue: f64) {
        self.rate = self.bound;
        self.quiet = if queue < self.target() / 2.0 { self.quiet + elapsed } else { 0.0 };
        if now > self.compete_until || self.quiet > 0.5 {
            self.mode = Mode::Delay;
            self.cross.reset(self.params.alarm * 0.5);
            self.backed_off = f64::NEG_INFINITY;
            self.quiet = 0.0;
        }
    }

    fn follow_delay(&mut self, now: f64, elapsed: f64, rtt: f64, queue: f64) {
        let target = self.target();
        if self.cross.evidence() > self.params.alarm {
            self.mode = Mode::Compete;
            self.compete_until = now + self.params.hold;
            self.draining = false;
            self.cross.reset(0.0);
        }
        let is_drained = queue < target / 4.0 && self.queue_sent > self.backed_off;
        if self.draining && (is_drained || self.own_queue(now) <= 0.0) {
            self.draining = false;
        }
        let served = if self.bursts.has_measured() { self.bursts.service_rate().max(self.delivery_rate) } else { self.delivery_rate };
        let is_stretched = self.bursts.evenness() < 1.0 - self.params.stretch;
        if (queue > target || self.draining) && is_stretched {
            self.rate = self.rate.min(self.share * served);
        }
        if queue > target {
            self.back_off(now, rtt, served);
        } else if !self.draining && self.usage > USED {
            self.grow(elapsed, rtt, queue / target, is_stretched, served);
        }
    }

    fn back_off(&mut self, now: f64, rtt: f64, served: f64) {
        let carried = if env("GRAD", 1.0) > 0.0 { 1.0 / (1.0 + self.signal.gradient()) } else { self.delivery_rate / self.window.sending_rate(self.interval).max(1.0) };
        // One that shrinks already needs no further cut.
        if now - self.backed_off <= (rtt + self.interval).max(cr()) || carried >= 1.02 {
            return;
        }
        let keep = 1.0 - self.params.backoff;
        self.rate *= carried.clamp(0.25, 1.0) * keep;
        if self.bursts.has_measured() {
            self.share = (self.share * carried.clamp(0.9, 1.0) * keep).max(LEAST_SHARE);
            self.rate = self.rate.min(self.share * served);
        }
        (self.backed_off, self.draining, self.starting) = (now, true, false);
    }

    fn grow(&mut self, elapsed: f64, rtt: f64, fullness: f64, is_stretched: bool, served: f64) {
        let before = self.rate;
        if is_stretched {
            self.starting = false;
            self.share += self.params.increase * elapsed * (1.0 - fullness);
            let change = self.share * served - self.rate;
            self.rate += change.clamp(-0.5 * self.rate, 0.3 * self.rate);
        } else if fullness < 0.5 {
            let gain = 1.0 / (rtt + self.interval);
            let gain = if self.starting { gain } else { gain.min(self.params.growth) };
            self.rate *= 1.0 + elapsed * gain;
            self.share = self.rate / served.max(self.rate / 1.2);
        } else {
            self.rate *= 1.0 + self.params.increase * elapsed;
        }
        // Growth that nothing proved yet is bounded by what arrived.
        self.rate = self.rate.min(before.max(2.0 * self.delivery_rate.max(LEAST_RATE / 2.0)));
    }

    fn hold_to_bounds(&mut self) {
        let most = self.bound.min(self.most / self.margin());
        self.rate = self.rate.min(most).max(LEAST_RATE);
        // What a bound holds back is not made up for later.
        if self.rate >= 0.999 * most && self.bursts.has_measured() {
            let served = self.bursts.service_rate();
            self.share = self.share.min(1.05 * self.rate / served.max(1.0)).max(LEAST_SHARE);
        }
    }

    /// The queueing delay that the flow aims at. It depends on the flow's rate alone, and falls with it: flows that share
    /// a queue are pulled to one rate, whatever their round trips (as Swift's flow scaling does, SIGCOMM 2020 §3.5).
    fn target(&self) -> f64 {
        let scale = REFERENCE_RATE / self.rate.max(LEAST_TARGET_RATE);
        self.params.queue_target * sqrt(scale)
    }

    /// The queue that a packet would find that leaves now: the one measured, and what was sent since, less what was served.
    /// A packet that no report tells of has waited for as long as it is overdue.
    fn own_queue(&self, now: f64) -> f64 {
        let served = self.delivery_rate.max(self.rate * env("OWNX", 1.0)).max(1e3);
        let sent = self.sent.total - self.queue_before;
        let queue = self.queue + sent / served - (now - self.queue_sent);
        let due = self.round_trip.get() + 2.0 * self.interval.max(self.report_interval);
        let overdue = self.sent.unreported_since().map_or(0.0, |sent| now - sent - due);
        queue.max(overdue).max(0.0)
    }

    /// What a frame leaves unused, since the path may serve it more slowly than in the mean.
    fn margin(&self) -> f64 {
        (1.0 - self.params.risk * self.bursts.shortfall()).max(0.5)
    }

    /// The rate of the next frame, bytes per second.
    fn frame_rate(&self, now: f64) -> f64 {
        let rate = self.rate.min(self.bound);
        match self.mode {
            Mode::Compete => rate.min(self.most),
            Mode::Delay => {
                let rate = (rate * self.margin()).min(self.most);
                if self.draining {
                    rate * (1.0 - self.own_queue(now) / self.interval).max(LEAST_WHILE_DRAINING)
                } else {
                    rate
                }
            }
        }
    }

    /// The largest frame, with its headers, that leaves no queue behind and arrives whole within `time`, and no less than is
    /// worth its headers.
    pub fn frame_budget(&mut self, now: Instant, time: Duration) -> Bytes {
        let now = secs(now);
        let rate = self.frame_rate(now);
        let budget = rate * self.interval;
        self.budget = match self.mode {
            Mode::Compete => budget,
            Mode::Delay => {
                let in_time = rate * (time.as_secs_f64() - self.own_queue(now));
                in_time.clamp(budget * WORTH_SENDING, budget)
            }
        };
        Bytes::new(self.budget as u64)
    }

    /// The pace that a frame's packets may have, whatever TFRC allows: no higher rate is of use.
    pub fn useful_rate(&self) -> Rate {
        match self.mode {
            Mode::Delay => Rate::from_bytes_per_sec(self.params.burst_gain * self.rate),
            Mode::Compete => Rate::INFINITY,
        }
    }

    /// The pace of a frame's packets.
    pub fn pacing_rate(&self) -> Rate {
        let gain = match self.mode {
            Mode::Delay => self.params.burst_gain,
            Mode::Compete => 1.0,
        };
        Rate::from_bytes_per_sec((gain * self.rate).min(self.bound.max(self.rate)).max(LEAST_RATE))
    }

    /// The available rate of this flow.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.rate)
    }

    /// A line of its state.
    pub fn describe(&self, now: Instant) -> alloc::string::String {
        let ms = |s: f64| s * 1e3;
        let kb = |r: f64| r / 125.0;
        alloc::format!("q {:.1}/{:.1} own {:.1} e {:.2} B {:.0} R {:.0} S {:.0} x {:.0} X {:.0} share {:.2} {:?}{} cross {:.2} ev {:.1} short {:.2} noise {:.1}", ms(self.queue), ms(self.target()), ms(self.own_queue(secs(now))), self.bursts.evenness(), if self.bursts.has_measured() {kb(self.bursts.service_rate())} else {0.0}, kb(self.delivery_rate), kb(self.window.sending_rate(self.interval)), kb(self.rate), kb(self.bound), self.share, self.mode, if self.draining {" drain"} else {""}, self.cross.share(), ms(self.cross.evidence()), self.bursts.shortfall(), ms(self.signal.noise()))
    }

    /// The queueing delay of the last report.
    pub fn queueing_delay(&self) -> Duration {
        seconds(self.queue)
    }

    /// What the flow aims at.
    pub fn target_delay(&self) -> Duration {
        seconds(self.target())
    }

    /// The least round trip of late; `None` before the first report.
    pub fn base_round_trip(&self) -> Option<Duration> {
        let least = self.round_trip.get();
        least.is_finite().then(|| seconds(least))
    }

    /// What the rate follows.
    pub fn mode(&self) -> Mode {
        self.mode
    }
}

/// One frame counts as much in the share that is used; below this share the application limits the rate, and no growth
/// is proved (RFC 7661 §4.4.2).
const USAGE_GAIN: f64 = 0.25;
const USED: f64 = 0.8;
/// A frame of less than this share of what the rate gives is not worth its headers.
const WORTH_SENDING: f64 = 0.25;
/// The time between reports is a mean over so many.
const REPORTS: f64 = 8.0;
/// A share of what bursts are served, below which the flow never goes.
const LEAST_SHARE: f64 = 0.1;
/// Frames while a queue drains are no smaller than this share of the others.
const LEAST_WHILE_DRAINING: f64 = 0.4;

fn sqrt(x: f64) -> f64 {
    let mut y = if x > 1.0 { x / 2.0 } else { 1.0 };
    for _ in 0..40 { y = 0.5 * (y + x / y); }
    y
}
extern crate std;
fn cr() -> f64 { env("CR", 0.3) }
pub(crate) fn env(n: &str, d: f64) -> f64 { std::env::var(n).map_or(d, |v| v.parse().unwrap()) }
