//! The state of the path, and the size and pace of the next frame.

use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::Params;
use crate::bursts::Bursts;
use crate::clock::ReceiverClock;
use crate::coarse::CoarseReports;
use crate::cross::CrossEvidence;
use crate::law_state::{Mode, QueueReport, RateLaw};
use crate::number::{larger, seconds};
use crate::random_loss::RandomLoss;
use crate::sent::SentPackets;
use crate::signal::QueueSignal;
use crate::standing::StandingQueue;
use crate::window::DeliveryWindow;
use crate::windowed_min::WindowedMin;

/// The measurements that reports carry. Each format has transit times between clocks of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    Deliveries,
    TransitBounds,
    RoundTrip,
}

/// The packet of the last report that had the least queueing delay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LeastDelayed {
    /// The queueing delay and the time of departure, in seconds.
    pub(crate) queue: f64,
    pub(crate) sent: f64,
    /// Bytes that had left before it.
    pub(crate) sent_before: f64,
}

/// The path model estimates the rate of a path and sizes the frames that use the path.
///
/// Record each packet that leaves and each report. Ask for [`frame_budget`](Self::frame_budget) when a picture is
/// captured and for [`pacing_rate`](Self::pacing_rate) when a packet may leave. Call [`set_bound`](Self::set_bound)
/// with TFRC's X before each.
#[derive(Clone, Debug)]
pub struct PathModel {
    pub(crate) params: Params,
    /// Time between two frames, in seconds.
    pub(crate) interval: f64,
    pub(crate) sent: SentPackets,
    format: Option<ReportFormat>,
    pub(crate) clock: ReceiverClock,
    pub(crate) coarse: CoarseReports,
    /// The least transit time. Its zero is arbitrary, since a transit time is between two clocks.
    pub(crate) base: WindowedMin,
    /// Time that the bottleneck takes for the shortest packet since the base delay fell, in seconds.
    pub(crate) base_serialisation: f64,
    pub(crate) round_trip: WindowedMin,
    pub(crate) last_round_trip: f64,
    /// TFRC's X of a round, negated, so that the least is the highest X.
    negated_bounds: WindowedMin,
    /// Time since which the highest X counts.
    bounds_since: Instant,
    /// The mean time between reports, and the time of the last report, in seconds.
    pub(crate) report_interval: f64,
    pub(crate) reported: f64,
    pub(crate) signal: QueueSignal,
    pub(crate) window: DeliveryWindow,
    pub(crate) bursts: Bursts,
    pub(crate) cross: CrossEvidence,
    pub(crate) standing: Option<StandingQueue>,
    pub(crate) least: LeastDelayed,
    /// The newest burst of which a packet arrived.
    pub(crate) burst: u64,
    /// The rate at which packets arrive, bytes per second.
    pub(crate) delivery_rate: f64,
    /// The budget of the last frame, in bytes.
    pub(crate) budget: f64,
    /// The bytes that the last frame has sent.
    pub(crate) frame_sent: f64,
    /// The mean share of their budgets that frames use.
    pub(crate) usage: f64,
    pub(crate) law: RateLaw,
    pub(crate) random_loss: RandomLoss,
    /// Packets found lost that belong to the next report.
    pub(crate) lost: f64,
}

/// The mean report interval is over this many reports.
const REPORT_INTERVAL_SAMPLES: f64 = 8.0;
/// TFRC's nofeedback timer in round trips (RFC 5348 §4.3 step 3).
const NOFEEDBACK_ROUND_TRIPS: f64 = 4.0;
/// A report counts for this time at most, in seconds, since nothing was measured after the report before.
const MAX_REPORT_ELAPSED: f64 = 0.1;

impl PathModel {
    /// Creates the model of a path without measurements, for frames of this interval. The interval is held between a
    /// millisecond and ten seconds.
    pub fn new(params: Params, frame_interval: Duration, initial: Rate) -> Self {
        Self {
            params,
            interval: frame_interval.as_secs_f64().clamp(0.001, 10.0),
            sent: SentPackets::default(),
            format: None,
            clock: ReceiverClock::default(),
            coarse: CoarseReports::default(),
            base: WindowedMin::default(),
            base_serialisation: f64::INFINITY,
            round_trip: WindowedMin::default(),
            last_round_trip: 0.0,
            negated_bounds: WindowedMin::default(),
            bounds_since: Instant::ZERO,
            report_interval: 0.0,
            reported: f64::NEG_INFINITY,
            signal: QueueSignal::default(),
            window: DeliveryWindow::default(),
            bursts: Bursts::default(),
            cross: CrossEvidence::default(),
            standing: None,
            least: LeastDelayed::default(),
            burst: 0,
            delivery_rate: 0.0,
            budget: 0.0,
            frame_sent: 0.0,
            usage: 1.0,
            law: RateLaw::new(initial.bytes_per_sec()),
            random_loss: RandomLoss::default(),
            lost: 0.0,
        }
    }

    /// Seeks losses that no lower rate would avoid ([`random_loss`](Self::random_loss)), by trials of a lower rate.
    #[must_use]
    pub fn seeking_random_loss(mut self) -> Self {
        self.random_loss.seek();
        self
    }

    /// Sets the bound of the rate: TFRC's X. Where X decays between two frames the highest X of a round takes its place while no
    /// packet is under way.
    pub fn set_bound(&mut self, now: Instant, bound: Rate) {
        let bound = bound.bytes_per_sec();
        if self.x_decays_between_frames() {
            self.set_decaying_bound(now, bound);
        } else {
            (self.law.bound, self.law.highest_bound) = (bound, bound);
            self.bounds_since = now;
        }
    }

    #[cold]
    fn set_decaying_bound(&mut self, now: Instant, bound: f64) {
        let (now, since) = (seconds(now), seconds(self.bounds_since));
        self.negated_bounds.observe(now, -bound);
        let oldest = larger(now - self.params.round, since);
        self.negated_bounds.expire(oldest);
        self.law.highest_bound = -self.negated_bounds.get();
        let is_idle = self.sent.unreported_since().is_none();
        self.law.bound = if is_idle {
            self.law.highest_bound
        } else {
            bound
        };
    }

    /// Returns true if TFRC's nofeedback timer of four round trips may expire between two frames (RFC 5348 §4.4).
    ///
    /// X then falls as for an idle sender and returns within a frame. The rate therefore ignores the fall for a
    /// round, unless a queue or a loss event explains it. While no packet is under way, the highest X of the round
    /// bounds the next frame.
    fn x_decays_between_frames(&self) -> bool {
        NOFEEDBACK_ROUND_TRIPS * self.round_trip.get() < self.interval
            && self.signal.least() <= self.target()
    }

    /// Records that the next report includes a loss event.
    pub fn handle_loss_event(&mut self, now: Instant) {
        self.bounds_since = now;
        if self.law.mode == Mode::Delay {
            self.cross.observe_loss(seconds(now), &self.params);
        }
    }

    /// Records the packets that the next report shows to be lost.
    pub fn handle_losses(&mut self, lost: u64) {
        self.lost += lost as f64;
    }

    /// Gives the share of packets that the path loses at any rate, as trials have shown; zero while a queue stands, and
    /// without [`seeking_random_loss`](Self::seeking_random_loss).
    pub fn random_loss(&self) -> f64 {
        self.random_loss.ratio()
    }

    /// Gives the time since the last report, in seconds, as far as it counts.
    pub(crate) fn elapsed(&self, now: f64) -> f64 {
        (now - self.reported).clamp(0.0, MAX_REPORT_ELAPSED)
    }

    /// Follows the format of a report: another format has other clocks.
    pub(crate) fn follow_format(&mut self, format: ReportFormat) {
        let before = self.format.replace(format);
        if before.is_some_and(|before| before != format) {
            self.clock.change();
            self.coarse = CoarseReports::default();
            self.random_loss.stop_trial();
        }
    }

    /// Forgets arrival times when the receiver's clock was set. `base` is the base delay by the new clock, from a packet that
    /// left at `at`, so that the queue is taken to be unchanged.
    pub(crate) fn set_clock(&mut self, at: f64, base: f64) {
        self.base.replace(at, base);
        self.window = DeliveryWindow::default();
        self.bursts.forget_arrivals();
        self.standing = None;
    }

    /// Records the transit time of a packet that left at `at`. Returns true if the base delay fell.
    #[inline]
    pub(crate) fn observe_transit(&mut self, at: f64, transit: f64) -> bool {
        let has_fallen = transit < self.base.get();
        self.base.observe(at, transit);
        self.base.expire(at - self.base_memory());
        has_fallen
    }

    /// Returns the time for which a base delay is remembered, in seconds.
    fn base_memory(&self) -> f64 {
        match self.law.mode {
            Mode::Delay => 2.0 * self.params.hold,
            // While cross traffic keeps a queue standing no packet shows the base delay.
            Mode::Compete => f64::INFINITY,
        }
    }

    /// Updates the rate from a report that was recorded, and returns the queueing delay without noise.
    pub(crate) fn settle(&mut self, now: f64, round_trip: f64) -> f64 {
        let elapsed = self.elapsed(now);
        self.report_interval += (elapsed - self.report_interval) / REPORT_INTERVAL_SAMPLES;
        self.reported = now;
        self.last_round_trip = round_trip;
        self.round_trip.observe(now, round_trip);
        self.round_trip.expire(now - 2.0 * self.params.hold);
        let frame = (self.least.sent, self.least.queue);
        let target = self.target();
        let queue = self
            .signal
            .observe(now, self.burst, frame, target, &self.params);
        self.judge_standing_queue(elapsed, round_trip, target);
        self.cross
            .observe(elapsed, queue, target, &self.bursts, &self.window);
        self.follow(&QueueReport {
            now,
            elapsed,
            round_trip,
            queue,
            target,
        });
        queue
    }

    /// Returns the growth of the queue over the last frames, in seconds per second.
    pub(crate) fn queue_gradient(&self) -> f64 {
        self.signal.gradient()
    }

    /// Gives the rate that this flow may use: at most TFRC's X, and less in a trial of random loss.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.usable_rate())
    }

    /// Gives the signal that sets the rate.
    pub fn mode(&self) -> Mode {
        self.law.mode
    }

    /// Gives the queueing delay of the last report.
    pub fn queueing_delay(&self) -> Duration {
        duration(self.least.queue)
    }

    /// Gives the queueing delay that the flow aims at.
    pub fn target_delay(&self) -> Duration {
        duration(self.target())
    }

    /// Gives the least round trip of the last minute; `None` before the first report.
    pub fn base_round_trip(&self) -> Option<Duration> {
        let least = self.round_trip.get();
        least.is_finite().then(|| duration(least))
    }
}

/// Converts seconds to a duration, and limits the result of arithmetic on false times.
fn duration(seconds: f64) -> Duration {
    Duration::from_nanos((seconds.clamp(0.0, 1e3) * 1e9) as u64)
}
