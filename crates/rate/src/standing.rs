//! Explains a queue that stands at any rate of the flow.

/// The history of a queue since it exceeded half of its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingQueue {
    /// Age of the queue, and the shortest and the longest delay, in seconds.
    time: f64,
    shortest: f64,
    longest: f64,
    /// The delivery rate when the queue began to stand, bytes per second.
    reference: f64,
    /// Queue that should have drained, in seconds, because the sending rate was below the reference.
    drained: f64,
    /// The time for which the delay has stayed between these bounds, in seconds.
    flat_time: f64,
    least: f64,
    most: f64,
}

/// The explanation of a standing queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StandingVerdict {
    /// The queue may yet drain.
    Open,
    /// The path's own delay has grown by this much, in seconds.
    LongerPath(f64),
    /// The queue did not drain although it should have, or although the flow hardly sends.
    Unexplained,
}

/// One report on a queue that stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingReport {
    /// Seconds since the report before.
    pub(crate) elapsed: f64,
    pub(crate) round_trip: f64,
    /// The frame's queueing delay and the least of a round, in seconds.
    pub(crate) queue: f64,
    pub(crate) least: f64,
    /// Bytes per second.
    pub(crate) sending_rate: f64,
    pub(crate) delivery_rate: f64,
}

/// A delay that varies by less than this share of the target while the rate falls is the path's own.
const FLAT_FRACTION: f64 = 1.0 / 6.0;
/// A delay is flat after this time, in seconds, and this many round trips.
const FLAT_TIME: f64 = 0.8;
const FLAT_ROUND_TRIPS: f64 = 3.0;
/// A queue is unexplained after this many rounds and a round trip.
const UNEXPLAINED_ROUNDS: f64 = 2.0;
/// A queue is unexplained if this multiple of its length should have drained.
const EXPECTED_DRAIN_FACTOR: f64 = 2.0;
/// A flow at its least rate waits for this many rounds: other flows may be about to drain the queue.
const LEAST_RATE_ROUNDS: f64 = 10.0;
/// A queue that changes by less than this share of the time does not come from an outage.
const STEADY_FRACTION: f64 = 0.25;

impl StandingQueue {
    /// Begins the history of a queue of this many seconds, with the delivery rate at that time.
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

    /// Handles a report. `is_least` is true if the flow has its least rate.
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
        // A queue behind an outage grows with time, and goes when the outage ends.
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
