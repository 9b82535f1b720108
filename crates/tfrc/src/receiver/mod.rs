//! The data receiver (RFC 5348 §6): takes arrivals and makes reports.

mod config;
mod rate_meter;
mod schedule;

#[cfg(feature = "cache-layout")]
use core::mem::offset_of;
#[cfg(feature = "cache-layout")]
use core::ops::Range;
use core::time::Duration;

use crate::Ecn;
use crate::Standard;
use crate::equation;
use crate::loss::{Arrived, LossEstimator, MAX_RATIO, Past};
use crate::time::Instant;
use crate::units::{Bytes, LossEventRate, Rate};
pub use config::ReceiverConfig;
pub(crate) use rate_meter::RateMeter;
use schedule::Schedule;

/// A data packet as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its sequence number, extended (see [`crate::seq::Extender`]).
    pub seq: u64,
    /// The time of arrival: the kernel's receive time where there is one.
    pub at: Instant,
    /// The sender's timestamp, in a unit of the sender's choice; the report echoes it.
    pub timestamp: u32,
    /// R_i, the sender's estimate of the round-trip time; `None` while it has none.
    pub rtt: Option<Duration>,
    /// The size, as the sender counts it.
    pub size: Bytes,
    /// The ECN field on arrival.
    pub ecn: Ecn,
}

/// A run of plain packets with consecutive numbers. None is marked, and all have one round-trip time and the
/// timestamp of the packet before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    /// The number of packets, at least 1.
    pub(crate) count: u64,
    pub(crate) last_seq: u64,
    pub(crate) last_at: Instant,
    pub(crate) rtt: Duration,
    /// The sum of the sizes, then the largest size.
    pub(crate) bytes: Bytes,
    pub(crate) largest: Bytes,
}

/// The content of a feedback packet (RFC 5348 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackPacket {
    /// t_recvdata: the timestamp of the last packet received, in the sender's unit.
    pub timestamp: u32,
    /// t_delay: the time from that packet's arrival to this report.
    pub delay: Duration,
    /// X_recv: the rate at which data arrived; zero in the first report.
    pub receive_rate: Rate,
    /// p: loss events per packet, weighted towards the newest (RFC 5348 §5).
    pub loss_event_rate: LossEventRate,
}

/// The packet counts of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets received, without duplicates.
    pub received: u64,
    /// Packets that count as lost and have not arrived since.
    pub lost: u64,
    /// Packets that arrived again, or too late to decide.
    pub duplicate: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Loss events that began, including those that were undone later.
    pub loss_events: u64,
}

/// The data receiver, which has a constant amount of state and no clock.
// With `cache-layout` this order puts the fields that a packet in sequence touches into four cache lines. They
// reach from the meter's end to the estimator's beginning.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cache-layout", repr(C))]
pub struct Receiver {
    meter: RateMeter,
    schedule: Schedule,
    counters: Counters,
    /// p_prev, the last p that was computed for a report or a new loss event. A report leaves early when p exceeds
    /// it (RFC 5348 §6.1).
    computed: LossEventRate,
    /// The timestamp of the last packet.
    timestamp: u32,
    /// No packet has arrived since p was computed.
    is_computed: bool,
    standard: Standard,
    report_quarters: u32,
    estimator: LossEstimator,
}

impl Receiver {
    /// The bytes that a packet in sequence touches. The simulator of this workspace prefetches them.
    #[cfg(feature = "cache-layout")]
    #[doc(hidden)]
    pub const CACHED: Range<usize> =
        RateMeter::CACHED..offset_of!(Self, estimator) + LossEstimator::CACHED;

    /// The highest ratio that [`Receiver::tolerate_losses`] follows, in losses per packet.
    pub const MAX_TOLERATED_LOSS: f64 = MAX_RATIO;

    /// Creates a receiver without arrivals.
    ///
    /// # Panics
    ///
    /// Panics if [`ReceiverConfig::validate`] refuses `config`.
    #[track_caller]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a configuration is handed over"
    )]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            estimator: LossEstimator::new(&config),
            meter: RateMeter::new(),
            schedule: Schedule::new(),
            counters: Counters::default(),
            timestamp: 0,
            computed: LossEventRate::ZERO,
            report_quarters: config.report_quarters,
            standard: config.standard,
            is_computed: false,
        }
    }

    /// Takes a data packet (RFC 5348 §6.1), after which a report may be due at once.
    #[inline]
    pub fn handle_data(&mut self, arrival: &Arrival) -> Arrived {
        self.is_computed = false;
        if self.estimator.handle_next(arrival) {
            self.record_arrival(arrival, false);
            Arrived::default()
        } else {
            self.handle_news(arrival)
        }
    }

    /// Returns the time before which a run that begins with `first` must end to be taken in one call; zero if no
    /// run can.
    #[inline]
    pub(crate) fn takes_run_until(&self, first: u64) -> Instant {
        if self.estimator.is_next(first) {
            self.schedule.settled()
        } else {
            Instant::ZERO
        }
    }

    /// Takes a run that [`Receiver::takes_run_until`] permits, as [`Receiver::handle_data`] would take its packets
    /// one by one.
    #[inline]
    pub(crate) fn handle_run(&mut self, run: &Run) {
        self.is_computed = false;
        self.estimator
            .handle_run(run.last_seq, run.last_at, run.rtt);
        self.counters.received += run.count;
        self.meter.handle_run(run.last_at, run.bytes, run.largest);
    }

    /// Takes a packet that may reveal a loss, a mark or reordering.
    fn handle_news(&mut self, arrival: &Arrival) -> Arrived {
        let (meter, standard) = (&self.meter, self.standard);
        let rtt = arrival.rtt.or(self.estimator.round_trip_time());
        let arrived = self
            .estimator
            .handle_arrival(arrival, || first_interval(meter, rtt, standard));
        if arrived.duplicate {
            self.counters.duplicate += 1;
            return arrived;
        }
        self.count(arrival, arrived);
        let p_rose = arrived.new_events > 0 && self.p_rises();
        let rtt_unknown = self.estimator.round_trip_time().is_none();
        self.record_arrival(arrival, p_rose || arrived.merged || rtt_unknown);
        arrived
    }

    /// Records the part that all packets share, and whether their report is `urgent`.
    #[inline]
    fn record_arrival(&mut self, arrival: &Arrival, urgent: bool) {
        self.counters.received += 1;
        self.meter.handle_data(arrival.at, arrival.size);
        self.timestamp = arrival.timestamp;
        if !self.schedule.is_settled(arrival.at, urgent) {
            self.settle(arrival, urgent);
        }
    }

    /// Updates the report schedule, at least with the first packet after each report.
    #[inline(never)]
    fn settle(&mut self, arrival: &Arrival, urgent: bool) {
        self.meter.handle_first(arrival.at);
        if self.standard.silence_keeps_timer() {
            let rtt = arrival.rtt.or(self.estimator.round_trip_time());
            self.schedule
                .keep_phase(arrival.at, rtt.unwrap_or(Duration::ZERO));
        }
        self.schedule.handle_data(arrival.at, urgent);
    }

    /// Replaces R, which was wrong, by `rtt`, and ends the time between two reports at `at`.
    pub fn correct_round_trip(&mut self, at: Instant, rtt: Duration) {
        self.estimator.set_round_trip(rtt);
        self.schedule.expedite(at);
    }

    /// Returns when to call [`Receiver::poll_report`]: an instant that has passed means at once.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.due()
    }

    /// Returns the report that is due, if one is (RFC 5348 §6.2), and restarts the feedback timer.
    #[inline]
    pub fn poll_report(&mut self, now: Instant) -> Option<FeedbackPacket> {
        self.schedule.is_due(now).then(|| self.report(now))
    }

    /// Returns a report if data came since the last one, due or not, for a caller with a timer of its own.
    pub fn take_report(&mut self, now: Instant) -> Option<FeedbackPacket> {
        self.schedule.due().map(|_| self.report(now))
    }

    /// Returns a report, due or not.
    pub(crate) fn report(&mut self, now: Instant) -> FeedbackPacket {
        let rtt = self.estimator.round_trip_time();
        self.schedule.restart(
            now,
            rtt.map(|rtt| rtt.saturating_mul(self.report_quarters) / 4),
        );
        self.compute();
        FeedbackPacket {
            timestamp: self.timestamp,
            delay: now.saturating_since(self.estimator.latest_arrival()),
            receive_rate: self.meter.report(rtt),
            loss_event_rate: self.computed,
        }
    }

    /// Returns the report that is due, or else its content without an expiry of the feedback timer.
    ///
    /// A sender that computes p calls this for every report, including those that leave because they are full.
    /// X_recv is measured back to expiries of the feedback timer, four of which are remembered. If every report
    /// were an expiry, more than four in a round trip would shorten the measurement. A report up to a quarter of a
    /// round trip early counts as due, because formats round times to their own units.
    pub(crate) fn report_or_predict(&mut self, now: Instant) -> FeedbackPacket {
        let rtt = self.estimator.round_trip_time();
        if self.schedule.is_due(now + rtt.unwrap_or_default() / 4) {
            return self.report(now);
        }
        self.compute();
        FeedbackPacket {
            timestamp: self.timestamp,
            delay: now.saturating_since(self.estimator.latest_arrival()),
            receive_rate: self.meter.present(rtt.unwrap_or(Duration::ZERO)),
            loss_event_rate: self.computed,
        }
    }

    /// Returns p, the loss event rate, as of the last arrival; zero before the first loss event.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.estimator.loss_event_rate()
    }

    /// Returns R, the round-trip time that the sender stated in its highest packet; `None` before it did.
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.estimator.round_trip_time()
    }

    /// Returns X_recv, the receive rate, of the last report; zero before the second.
    pub const fn receive_rate(&self) -> Rate {
        self.meter.last()
    }

    /// Returns the loss intervals for a receiver that replaces this one. The departure ends the last interval.
    pub fn past(&self) -> Past {
        let rtt = self.estimator.round_trip_time();
        self.estimator
            .past(|| first_interval(&self.meter, rtt, self.standard))
    }

    /// Excludes up to `ratio` losses per packet from loss events from now on, at most
    /// [`Receiver::MAX_TOLERATED_LOSS`]. The caller may know that the path loses these packets at any rate. Zero,
    /// the initial value, counts every loss.
    ///
    /// This departs from RFC 5348 §5.2, where every loss is congestion: beside TCP the rate is no longer fair if
    /// the caller is wrong.
    pub fn tolerate_losses(&mut self, ratio: f64) {
        self.estimator.tolerate_losses(ratio);
    }

    /// Returns the packet counts since the start.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Computes p, unless no packet has arrived since the last computation.
    fn compute(&mut self) {
        if !self.is_computed {
            self.computed = self.estimator.loss_event_rate();
            self.is_computed = true;
        }
    }

    /// Computes p and returns true if it rose (RFC 5348 §6.1 steps 3 and 4).
    fn p_rises(&mut self) -> bool {
        let previous = self.computed;
        self.compute();
        self.computed > previous
    }

    fn count(&mut self, arrival: &Arrival, arrived: Arrived) {
        self.counters.marked += u64::from(arrival.ecn.is_marked());
        self.counters.lost = self
            .counters
            .lost
            .saturating_add(arrived.lost)
            .saturating_sub(u64::from(arrived.recovered));
        self.counters.loss_events += arrived.new_events;
    }
}

/// Returns the interval before the first loss event: the equation would allow the largest receive rate at it.
///
/// The receive rate is the largest so far, at least half a packet a round trip (RFC 5348 §6.3.1). RFC 3448 takes
/// the rate of the last round trip.
///
/// The receiver knows R alone, so the equation has t_RTO = 4R here. A sender with a longer t_RTO therefore begins
/// below the intended rate (RFC 5348 §3.1).
fn first_interval(meter: &RateMeter, rtt: Option<Duration>, standard: Standard) -> f64 {
    let segment = meter.segment_size();
    let Some(rtt) = rtt else {
        // Without a round trip the equation has no inverse, so the rate is half a packet per round trip, as below.
        return 1.0
            / equation::loss_event_rate(
                Bytes::new(1),
                Duration::from_secs(1),
                Rate::from_bytes_per_sec(0.5),
            )
            .get();
    };
    let floor = Rate::from_bytes_per_sec(0.5 * segment.as_f64() / rtt.as_secs_f64());
    let rate = if standard.first_interval_is_of_largest_rate() {
        meter.largest(rtt)
    } else {
        meter.present(rtt)
    };
    let target = rate.max(floor);
    1.0 / equation::loss_event_rate(segment, rtt, target).get()
}

#[cfg(test)]
mod tests;
