//! Holds X where more would be of no use.
//!
//! On a long interval between frames the deadline, not the rate, says how large a frame may be. Media
//! then stays below the path's capacity, nothing is lost, and RFC 5348 §4.3 lets X rise to twice what
//! arrives, far above the link. But a frame that leaves faster than the path carries only queues on
//! it. So X is TFRC's own until frames make a queue, or a packet is lost; then it is held where it is, and raised in steps,
//! each watched for as long as it takes to see the queue of its frames: a step that makes none is kept, one that does is
//! taken back. (From the first report on, steps of a second took ten to reach 8 Mb/s over 200 ms.)
//!
//! A queue may be that of others, though, who want a part of the path and with whom TFRC must be free to
//! compete; or jitter may look like one. So if the queue stays when the step is taken back, X is lowered
//! for a moment to a rate that can make none. If it goes, it was ours; if it stays, X is TFRC's alone.
//!
//! Where TFRC itself takes X far below what is proven, the search begins again: steps that became small
//! beside the old limit would hold X down for long where the path is back.

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

use crate::policy::FRAME;

/// What a report says of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// X after it.
    pub(crate) allowed: Rate,
    /// X_recv.
    pub(crate) received: Rate,
    /// What the path was seen to carry of late.
    pub(crate) carried: Rate,
    /// R.
    pub(crate) rtt: Duration,
    /// p.
    pub(crate) p: LossEventRate,
    /// p rose: a loss event began sooner than those before.
    pub(crate) lost: bool,
    /// The queue that frames met, and the time over which it was read.
    pub(crate) queue: Duration,
    pub(crate) span: Duration,
    /// The queue that the last report met.
    pub(crate) latest: Duration,
    /// What the deadline leaves for a frame to leave in, without a queue.
    pub(crate) left: Duration,
    /// That is hardly more than a frame interval, or less.
    pub(crate) held_by_deadline: bool,
}

/// The bound on X, while there is one.
#[derive(Clone, Debug)]
pub(crate) struct Ceiling {
    frame_interval: Duration,
    /// The queue that frames may make.
    harmless: Duration,
    step: Option<Step>,
    /// Until when X is free, because the queue is not ours.
    free_until: Instant,
}

/// A rate that is being watched.
#[derive(Clone, Copy, Debug)]
struct Step {
    phase: Phase,
    since: Instant,
    rate: Rate,
    /// The last that made no queue, as far as frames of it arrived; at first, what arrived, or the half of X if that is more.
    proven: Rate,
    /// By how much the next step is larger.
    growth: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Above what is proven.
    Raised,
    /// Back at it.
    Proven,
    /// Below it, to see whether the queue is ours.
    Lowered,
}

impl Ceiling {
    /// No bound yet, on frames that come at this interval.
    pub(crate) fn new(frame_interval: Duration) -> Self {
        Self {
            frame_interval,
            harmless: harmless(frame_interval),
            step: None,
            free_until: Instant::ZERO,
        }
    }

    /// The bound.
    pub(crate) fn rate(&self) -> Rate {
        self.step.map_or(Rate::INFINITY, |step| step.rate)
    }

    /// What frames are to be made for: while a rate is tried, what is proven. A frame that leaves faster than the path
    /// carries then makes a queue that is gone before the next one.
    pub(crate) fn proven(&self) -> Rate {
        self.step
            .map_or(Rate::INFINITY, |step| step.rate.min(step.proven))
    }

    /// The queue is that of others.
    pub(crate) fn yields(&self, now: Instant) -> bool {
        now < self.free_until
    }

    /// A queue has gone that had taken all of the deadline: what arrived behind it is what the path carries, and X is up to
    /// twice that (RFC 5348 §4.3).
    pub(crate) fn resume(&mut self, now: Instant, allowed: Rate, received: Rate) {
        if self.yields(now) {
            return;
        }
        let rate = arrived(allowed, received) * DISPROVED;
        self.step = Some(Step {
            phase: Phase::Proven,
            since: now,
            rate,
            proven: rate,
            growth: FIRST,
        });
    }

    /// A report came.
    pub(crate) fn observe(&mut self, now: Instant, report: &Report) {
        // What left before the step is seen for a round trip, and read for as long as the queue is.
        let seen = report.span.saturating_add(report.rtt);
        let watched = |step: Step| now.saturating_since(step.since) >= seen;
        // A queue of half a frame, met by what left since, is not waited for.
        let left_since = report.rtt.saturating_add(self.frame_interval);
        let grows = |step: Step| {
            report.latest > self.frame_interval.min(FRAME) / 2
                && now.saturating_since(step.since) >= left_since
        };
        self.step = match self.step {
            _ if !report.held_by_deadline || now < self.free_until => None,
            None if !report.lost && report.queue <= self.harmless => None,
            None => Some(self.first_step(now, report)),
            Some(step) if report.allowed < step.proven / 2.0 => Some(self.first_step(now, report)),
            Some(step) if report.lost && step.phase == Phase::Raised => Some(step.taken_back(now)),
            Some(step) if grows(step) && step.phase == Phase::Raised => {
                Some(step.disproved(now, report.carried))
            }
            Some(step) if grows(step) && step.phase == Phase::Proven => {
                self.lowered(now, step, report)
            }
            Some(step) if watched(step) && report.queue > self.harmless => {
                self.lowered(now, step, report)
            }
            Some(step) if watched(step) => Some(step.raised(now, self.untried(report), report)),
            step => step,
        };
    }

    fn first_step(&self, now: Instant, report: &Report) -> Step {
        Step {
            phase: Phase::Raised,
            since: now,
            rate: report.allowed,
            proven: arrived(report.allowed, report.received),
            growth: if report.p.is_zero() { MOST } else { FIRST },
        }
    }

    /// The rate made a queue, or seems to have.
    fn lowered(&mut self, now: Instant, step: Step, report: &Report) -> Option<Step> {
        match step.phase {
            Phase::Raised => Some(step.disproved(now, report.carried)),
            Phase::Proven => Some(Step {
                phase: Phase::Lowered,
                since: now,
                rate: step.proven * (1.0 - self.share(report.queue)),
                ..step
            }),
            Phase::Lowered if step.rate > step.proven * LOWERED => Some(Step {
                since: now,
                rate: step.proven * LOWERED,
                ..step
            }),
            Phase::Lowered => {
                self.free_until = now + FREE;
                None
            }
        }
    }

    /// What frames are made for beyond what was seen to arrive. If that is more than the path carries, a queue grows until it is
    /// seen, two round trips later: by no more than the deadline has room for. Where it holds frames to less than an interval the
    /// path makes up for as much (decision 6), and the rest is to be harmless.
    fn untried(&self, report: &Report) -> f64 {
        let until_seen = (2.0 * report.rtt.as_secs_f64()).max(1e-3);
        let untried = match report.left.checked_sub(self.frame_interval) {
            Some(room) => 1.0 + room.as_secs_f64() / until_seen,
            None => {
                let held = report.left.as_secs_f64().max(1e-3) / self.frame_interval.as_secs_f64();
                (1.0 + self.harmless.as_secs_f64() / until_seen) / held
            }
        };
        untried.clamp(UNTRIED_LEAST, UNTRIED_MOST)
    }

    /// By which share of X a queue drains in four frames, a tenth at least.
    fn share(&self, queue: Duration) -> f64 {
        let frames = (self.frame_interval * 4).as_secs_f64();
        (queue.as_secs_f64() / frames).clamp(0.1, 1.0 - LOWERED)
    }
}

/// What X is worth when it begins to be watched. Where frames were small of late, or in the first report, little arrived. Yet
/// X is no more than twice what has arrived, or was this half a round trip ago (RFC 5348 §4.3).
fn arrived(allowed: Rate, received: Rate) -> Rate {
    received.max(allowed / 2.0).min(allowed)
}

/// The queue that frames of this interval may make: one may leave so much faster than it arrives.
pub(crate) fn harmless(frame_interval: Duration) -> Duration {
    (frame_interval.min(FRAME) / HARMLESS).max(frame_interval / HARMLESS_SELDOM)
}

impl Step {
    /// The rate made no queue.
    fn raised(self, now: Instant, untried: f64, report: &Report) -> Self {
        if self.phase == Phase::Lowered {
            // The queue was ours: what seemed proven is not.
            let proven = self.proven * DISPROVED;
            return Self {
                phase: Phase::Proven,
                since: now,
                rate: proven,
                proven,
                ..self
            };
        }
        Self {
            phase: Phase::Raised,
            since: now,
            rate: report.allowed * (1.0 + self.growth),
            proven: report
                .allowed
                .min(report.carried * untried)
                .max(self.proven),
            growth: (self.growth * 1.25).min(MOST),
        }
    }

    /// The same where frames of it made a queue: what arrived then is what the path carries.
    fn disproved(self, now: Instant, carried: Rate) -> Self {
        let seen = (carried * DISPROVED).max(self.proven * FAR);
        let proven = self.proven.min(seen);
        Self { proven, ..self }.taken_back(now)
    }

    /// Back at what is proven; the next step will be smaller.
    fn taken_back(self, now: Instant) -> Self {
        Self {
            phase: Phase::Proven,
            since: now,
            rate: self.proven,
            growth: (self.growth / 4.0).max(LEAST),
            ..self
        }
    }
}

/// A queue up to this part of a frame interval is harmless, up to [`FRAME`] and beyond it: a frame may leave so much faster
/// than it arrives.
const HARMLESS: u32 = 5;
const HARMLESS_SELDOM: u32 = 10;

/// The first step doubles X, as slow start does, and no step does more; but where packets have been
/// lost, the limit is nearer.
const MOST: f64 = 1.0;
const FIRST: f64 = 0.1;

/// Steps that failed make the next ones smaller, down to this.
const LEAST: f64 = 0.02;

/// Frames are made for no more than this times what was seen to arrive, and for no less where X allows it: a queue that a rate
/// makes is seen in what frames of it meet, not in that of smaller ones.
const UNTRIED_MOST: f64 = 1.2;
const UNTRIED_LEAST: f64 = 1.05;

/// X is lowered to this share of what is proven to see whether a queue goes.
const LOWERED: f64 = 0.75;

/// What a rate is worth that made a queue after all.
const DISPROVED: f64 = 0.95;

/// It is taken back no further than to this part at once: what arrived may be less than the path carries, of frames that were
/// made smaller.
const FAR: f64 = 0.85;

/// X is free for this long where the queue is not ours, so that the next look costs little.
pub(crate) const FREE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that carries 100,000 bytes a second: the queue is what leaves faster than that, and a
    /// report a round trip later covers the rate of the one before. The queue is the longest of the last
    /// four reports.
    struct Bench {
        ceiling: Ceiling,
        now: Instant,
        rtt: Duration,
        /// X as TFRC has it.
        tfrc: f64,
        jitter: Duration,
        p: f64,
        /// The one of the report before.
        told: f64,
        queues: Vec<f64>,
        rates: Vec<f64>,
    }

    impl Bench {
        fn new(tfrc: f64) -> Self {
            Self {
                ceiling: Ceiling::new(Duration::from_millis(100)),
                now: Instant::ZERO,
                rtt: Duration::from_millis(100),
                tfrc,
                jitter: Duration::ZERO,
                p: 0.0,
                told: 0.0,
                queues: Vec::new(),
                rates: Vec::new(),
            }
        }

        /// A report every round trip.
        fn run(&mut self, reports: u32) -> f64 {
            for _ in 0..reports {
                self.now += self.rtt;
                let x = self.ceiling.rate().bytes_per_sec().min(self.tfrc);
                self.queues.push(0.08 * (1.0 - 1e5 / x).max(0.0));
                let queues = self.queues.iter().rev().take(4);
                let queue = queues.copied().fold(0.0, f64::max);
                self.ceiling.observe(
                    self.now,
                    &Report {
                        allowed: Rate::from_bytes_per_sec(x),
                        received: Rate::from_bytes_per_sec((0.75 * x).min(7.5e4)),
                        carried: Rate::from_bytes_per_sec(x.min(1e5)),
                        rtt: self.rtt,
                        p: LossEventRate::new(self.p),
                        lost: self.p > self.told,
                        queue: Duration::from_secs_f64(queue) + self.jitter,
                        span: self.rtt * 4,
                        latest: Duration::ZERO,
                        left: FRAME,
                        held_by_deadline: true,
                    },
                );
                self.told = self.p;
                self.rates
                    .push(self.ceiling.rate().bytes_per_sec().min(self.tfrc));
            }
            self.rates[self.rates.len() - 1]
        }
    }

    /// X is twice what arrives over 60 ms, and frames met a queue of so many milliseconds.
    fn tried(queue: u64) -> Report {
        Report {
            allowed: Rate::from_bytes_per_sec(2e5),
            received: Rate::from_bytes_per_sec(1e5),
            carried: Rate::from_bytes_per_sec(1e5),
            rtt: Duration::from_millis(60),
            p: LossEventRate::ZERO,
            lost: false,
            queue: Duration::from_millis(queue),
            span: Duration::from_millis(240),
            latest: Duration::ZERO,
            left: FRAME,
            held_by_deadline: true,
        }
    }

    #[test]
    fn no_more_is_tried_than_leaves_a_queue_that_drains_or_that_the_deadline_has_room_for() {
        let ceiling = Ceiling::new(Duration::from_millis(40));
        // Frames come every 40 ms. A room of 8 over two round trips of 180 is 2 %, one of 20 over two of 100 is 10. Held to
        // nine tenths of an interval they may be 10/9 as large, with 8 ms of queue that are harmless.
        for (left, rtt, untried) in [
            (0, 180, UNTRIED_MOST),
            (32, 180, UNTRIED_MOST),
            (36, 200, 1.02 / 0.9),
            (39, 180, UNTRIED_LEAST),
            (48, 180, UNTRIED_LEAST),
            (60, 100, 1.1),
            (120, 0, UNTRIED_MOST),
        ] {
            let report = Report {
                left: Duration::from_millis(left),
                rtt: Duration::from_millis(rtt),
                ..tried(0)
            };
            let found = ceiling.untried(&report);
            assert!((found - untried).abs() < 1e-9, "{left} {rtt}: {found}");
        }
    }

    #[test]
    fn frames_are_made_for_what_may_be_tried_beyond_what_arrived() {
        for (left, most) in [(32, 1.2), (48, 1.05)] {
            let mut ceiling = Ceiling::new(Duration::from_millis(40));
            let report = |queue| Report {
                allowed: Rate::from_bytes_per_sec(3e5),
                left: Duration::from_millis(left),
                rtt: Duration::from_millis(180),
                ..tried(queue)
            };
            ceiling.observe(Instant::from_millis(0), &report(10));
            ceiling.observe(Instant::from_millis(600), &report(0));
            let proven = ceiling.proven().bytes_per_sec();
            assert!((proven / 1.5e5 - 1.0).abs() < 0.01, "{proven}");
            let carried = Rate::from_bytes_per_sec(2e5);
            let report = Report {
                carried,
                ..report(0)
            };
            ceiling.observe(Instant::from_millis(1_200), &report);
            let proven = ceiling.proven().bytes_per_sec();
            assert!((proven / 2e5 - most).abs() < 0.01, "{left}: {proven}");
        }
    }

    #[test]
    fn behind_a_queue_that_has_gone_x_begins_below_what_arrived_and_rises_in_small_steps() {
        let rate = Rate::from_bytes_per_sec;
        for (received, from) in [(1e5, 1.5e5), (2e5, 2e5), (4e5, 3e5)] {
            let mut ceiling = Ceiling::new(Duration::from_millis(40));
            ceiling.resume(Instant::ZERO, rate(3e5), rate(received));
            for bound in [ceiling.rate(), ceiling.proven()] {
                assert_eq!(bound, rate(from) * DISPROVED, "{received}");
            }
            let report = Report {
                allowed: ceiling.rate(),
                ..tried(0)
            };
            ceiling.observe(Instant::from_millis(600), &report);
            assert_eq!(ceiling.rate(), rate(from) * DISPROVED * (1.0 + FIRST));
        }
    }

    #[test]
    fn a_queue_of_others_that_has_gone_holds_nothing() {
        let mut bench = Bench::new(9e4);
        bench.jitter = Duration::from_millis(30);
        while !bench.ceiling.yields(bench.now) {
            bench.run(1);
        }
        bench
            .ceiling
            .resume(bench.now, Rate::from_bytes_per_sec(9e4), Rate::ZERO);
        assert_eq!(bench.ceiling.rate(), Rate::INFINITY);
    }

    #[test]
    fn x_stays_about_where_frames_begin_to_queue() {
        for (found, rtt) in [(2e4, 100), (1.6e5, 100), (1.6e5, 150), (1.6e5, 400)] {
            let mut bench = Bench::new(found);
            bench.rtt = Duration::from_millis(rtt);
            bench.run(1);
            bench.tfrc = 1.6e5;
            bench.run(300);
            assert!(
                bench.rates[200..]
                    .iter()
                    .all(|x| (0.85e5..1.2e5).contains(x)),
                "{:?}",
                bench.rates
            );
        }
    }

    #[test]
    fn a_queue_that_is_not_ours_leaves_x_to_tfrc() {
        let mut bench = Bench::new(9e4);
        bench.jitter = Duration::from_millis(30);
        bench.run(1_000);
        let free = bench.rates.iter().filter(|x| **x == 9e4).count();
        assert!(free > 900, "{free}");
    }

    #[test]
    fn a_loss_now_and_then_holds_x_where_it_was() {
        let mut bench = Bench::new(1.6e5);
        bench.run(100);
        for _ in 0..10 {
            bench.p += 0.001;
            bench.run(100);
        }
        let most = bench.rates[100..].iter().copied().fold(0.0, f64::max);
        assert!(most < 1.2e5, "{most}");
    }

    #[test]
    fn a_first_report_of_nothing_received_does_not_starve_the_flow() {
        let mut ceiling = Ceiling::new(Duration::from_millis(200));
        for i in 1..=100_u32 {
            let report = Report {
                allowed: Rate::from_bytes_per_sec(1e5).min(ceiling.rate()),
                received: Rate::ZERO,
                carried: Rate::ZERO,
                rtt: Duration::from_millis(60),
                p: LossEventRate::new(0.01 * f64::from(i)),
                lost: true,
                queue: Duration::ZERO,
                span: Duration::from_millis(800),
                latest: Duration::ZERO,
                left: FRAME,
                held_by_deadline: true,
            };
            ceiling.observe(Instant::from_millis(u64::from(i) * 60), &report);
            assert!(ceiling.rate() >= Rate::from_bytes_per_sec(5e4));
        }
    }

    #[test]
    fn after_an_outage_x_returns_by_large_steps() {
        let mut bench = Bench::new(1.6e5);
        bench.run(300);
        bench.tfrc = 1e3;
        bench.run(1);
        bench.tfrc = 1.6e5;
        assert!(bench.run(50) > 0.85e5, "{:?}", bench.rates);
    }

    /// A queue of 60 ms drains in four frames of 100 ms at 0.85 of what made it, one of 11 ms at 0.9 at the latest.
    #[test]
    fn x_is_lowered_by_what_drains_the_queue_and_then_by_more() {
        for (queue, share) in [(60, 0.85), (11, 0.9)] {
            let mut ceiling = Ceiling::new(Duration::from_millis(100));
            let mut report = Report {
                allowed: Rate::from_bytes_per_sec(1e5),
                ..tried(queue)
            };
            let rates: Vec<f64> = (1..=3)
                .map(|i| {
                    ceiling.observe(Instant::from_millis(i * 300), &report);
                    report.allowed = report.allowed.min(ceiling.rate());
                    ceiling.rate().bytes_per_sec()
                })
                .collect();
            // What arrived is a little less than the path carries.
            assert_eq!(rates[..2], [1e5, 0.95e5]);
            assert!((rates[2] - share * 0.95e5).abs() < 1.0, "{rates:?}");
            ceiling.observe(Instant::from_millis(1_200), &report);
            assert_eq!(ceiling.rate(), Rate::from_bytes_per_sec(0.712_5e5));
        }
    }

    #[test]
    fn frames_are_made_for_what_is_proven_while_more_is_tried() {
        let mut ceiling = Ceiling::new(Duration::from_millis(100));
        let mut report = tried(11);
        ceiling.observe(Instant::from_millis(300), &report);
        assert_eq!(ceiling.rate(), Rate::from_bytes_per_sec(2e5));
        assert_eq!(ceiling.proven(), Rate::from_bytes_per_sec(1e5));
        report.queue = Duration::ZERO;
        ceiling.observe(Instant::from_millis(600), &report);
        assert_eq!(ceiling.rate(), Rate::from_bytes_per_sec(4e5));
        // Frames of half as much made no queue: they are made for a little more.
        assert_eq!(
            ceiling.proven(),
            Rate::from_bytes_per_sec(1e5) * UNTRIED_MOST
        );
        report.carried = Rate::from_bytes_per_sec(2e5);
        ceiling.observe(Instant::from_millis(900), &report);
        assert_eq!(ceiling.proven(), Rate::from_bytes_per_sec(2e5));
    }

    /// Half a frame of 40 ms, a round trip and a frame after the step: what was met before does not count, and 20 ms may be.
    #[test]
    fn a_queue_that_grows_is_not_watched_to_its_end() {
        for (latest, ms, rate) in [(21, 99, 2e5), (21, 100, 0.95e5), (20, 100, 2e5)] {
            let mut ceiling = Ceiling::new(Duration::from_millis(40));
            let mut report = tried(21);
            ceiling.observe(Instant::ZERO, &report);
            report.latest = Duration::from_millis(latest);
            ceiling.observe(Instant::from_millis(ms), &report);
            assert_eq!(ceiling.rate(), Rate::from_bytes_per_sec(rate));
        }
    }

    #[test]
    fn x_is_tfrcs_alone_until_frames_make_a_queue_or_something_is_lost() {
        for (queue, p) in [(11, 0.0), (0, 0.01)] {
            let mut ceiling = Ceiling::new(Duration::from_millis(100));
            let mut report = Report {
                allowed: Rate::from_bytes_per_sec(2e5),
                received: Rate::from_bytes_per_sec(1.2e5),
                carried: Rate::from_bytes_per_sec(1.2e5),
                rtt: Duration::from_millis(60),
                p: LossEventRate::ZERO,
                lost: false,
                queue: Duration::from_millis(10),
                span: Duration::from_millis(240),
                latest: Duration::ZERO,
                left: FRAME,
                held_by_deadline: true,
            };
            for i in 0..10 {
                ceiling.observe(Instant::from_millis(300 * i), &report);
                assert_eq!(ceiling.rate(), Rate::INFINITY);
            }
            report.queue = Duration::from_millis(queue);
            report.p = LossEventRate::new(p);
            report.lost = p > 0.0;
            ceiling.observe(Instant::from_millis(3_000), &report);
            assert_eq!(ceiling.rate(), Rate::from_bytes_per_sec(2e5));
            assert_eq!(ceiling.proven(), Rate::from_bytes_per_sec(1.2e5));
        }
    }

    #[test]
    fn where_the_rate_holds_frames_x_is_free() {
        let mut ceiling = Ceiling::new(Duration::from_millis(40));
        let report = Report {
            allowed: Rate::from_bytes_per_sec(1e5),
            received: Rate::from_bytes_per_sec(1e5),
            carried: Rate::from_bytes_per_sec(1e5),
            rtt: Duration::from_millis(60),
            p: LossEventRate::ZERO,
            lost: false,
            queue: Duration::from_millis(50),
            span: Duration::from_millis(240),
            latest: Duration::ZERO,
            left: FRAME,
            held_by_deadline: false,
        };
        (1..100).for_each(|i| ceiling.observe(Instant::from_millis(i * 60), &report));
        assert_eq!(ceiling.rate(), Rate::INFINITY);
    }
}
