//! A queue that stands whatever the flow does.

/// What is known of a queue since it went beyond half of its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingQueue {
    /// For how long, and between which delays, in seconds.
    time: f64,
    shortest: f64,
    longest: f64,
    /// The delivery rate when it began, bytes per second.
    reference: f64,
    /// Seconds of queue that should have drained, as less was sent than that rate.
    drained: f64,
    /// For how long the delay has stayed between these.
    flat_time: f64,
    least: f64,
    most: f64,
}

/// What a standing queue turns out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StandingVerdict {
    /// It may yet drain.
    Open,
    /// The path's own delay has grown by this much, in seconds.
    LongerPath(f64),
    /// It did not drain although it should have, or the flow hardly sends.
    Unexplained,
}

/// One report on a queue that stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingReport {
    /// Seconds since the last one.
    pub(crate) elapsed: f64,
    pub(crate) round_trip: f64,
    /// The frame's delay and the least of a round, in seconds.
    pub(crate) queue: f64,
    pub(crate) least: f64,
    /// Bytes per second.
    pub(crate) sending_rate: f64,
    pub(crate) delivery_rate: f64,
}

/// A delay that varies by less than this share of the target while the rate falls is the path's own.
const FLAT_FRACTION: f64 = 1.0 / 6.0;
/// It must stay so for these, in seconds and round trips.
const FLAT_TIME: f64 = 0.8;
const FLAT_ROUND_TRIPS: f64 = 3.0;
/// A queue is unexplained after this many rounds and a round trip, if so many times its length should have drained.
const UNEXPLAINED_ROUNDS: f64 = 2.0;
const EXPECTED_DRAIN_FACTOR: f64 = 2.0;
/// A flow at its least rate waits so many rounds: others may be about to drain the queue.
const LEAST_RATE_ROUNDS: f64 = 10.0;
/// A queue that changes by less than this share of the time is no outage's.
const STEADY_FRACTION: f64 = 0.25;

impl StandingQueue {
    /// A queue of this many seconds begins to stand while packets arrive at this rate.
    pub(crate) fn begin(queue: f64, delivery_rate: f64) -> Self {
        Self {
            time: 0.0,
            shortest: queue,
            longest: queue,
            reference: delivery_rate.max(1.0),
            drained: 0.0,
            flat_time: 0.0,
            least: f64::INFINITY,
            most: 0.0,
        }
    }

    /// Takes in a report, of a flow whose rate is the least if `is_least` says so.
    pub(crate) fn observe(
        &mut self,
        report: &StandingReport,
        is_least: bool,
        target: f64,
        round: f64,
    ) -> StandingVerdict {
        self.time += report.elapsed;
        self.drained += report.elapsed * (1.0 - report.sending_rate / self.reference);
        self.least = self.least.min(report.queue);
        self.most = self.most.max(report.queue);
        if self.most - self.least >= FLAT_FRACTION * target {
            (self.least, self.most, self.flat_time) = (report.queue, report.queue, 0.0);
        }
        self.flat_time += report.elapsed;
        let is_over = self.time > UNEXPLAINED_ROUNDS * round + report.round_trip;
        // A queue behind an outage grows with time and goes with it.
        self.shortest = self.shortest.min(report.queue);
        self.longest = self.longest.max(report.queue);
        let is_steady = self.longest - self.shortest
            < STEADY_FRACTION * self.time.min(LEAST_RATE_ROUNDS * round);
        let is_others =
            is_least && is_steady && self.time > LEAST_RATE_ROUNDS * round + report.round_trip;
        let should_have_drained = is_others || self.drained > EXPECTED_DRAIN_FACTOR * report.least;
        if self.flat_time > (FLAT_ROUND_TRIPS * report.round_trip).max(FLAT_TIME) {
            StandingVerdict::LongerPath(self.least)
        } else if is_over && should_have_drained {
            StandingVerdict::Unexplained
        } else {
            StandingVerdict::Open
        }
    }
}
