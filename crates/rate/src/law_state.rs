//! The state of the law that sets the rate.

use crate::number::HIGHEST_RATE;

/// The signal that sets the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Queueing delay: the rate keeps it at the target.
    Delay,
    /// TFRC's X alone, beside cross traffic that keeps a queue standing.
    Compete,
}

/// The state of the law. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub(crate) struct RateLaw {
    pub(crate) mode: Mode,
    /// The available rate of this flow.
    pub(crate) rate: f64,
    /// TFRC's X.
    pub(crate) bound: f64,
    /// The highest X of a round without a queue or a loss event.
    pub(crate) highest_bound: f64,
    /// The rate as a share of the rate at which bursts are served.
    pub(crate) share: f64,
    /// True while frames are shortened so that the flow's own queue drains.
    pub(crate) draining: bool,
    /// True until the first queue or stretched burst: slow start.
    pub(crate) starting: bool,
    /// Time of the last back-off, in seconds.
    pub(crate) backed_off: f64,
    /// The mean evenness of bursts while the queue is at its target.
    pub(crate) evenness: f64,
    pub(crate) overload: Option<Overload>,
    /// While competing: the start, the longest queue, and the time for which the queue has been short, in seconds.
    pub(crate) competes_since: f64,
    pub(crate) longest_queue: f64,
    pub(crate) quiet: f64,
}

/// The state of bursts since a queue exceeded its target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overload {
    /// The rate and the usual evenness at that time.
    pub(crate) rate: f64,
    pub(crate) evenness: f64,
    /// The least evenness since.
    pub(crate) worst: f64,
}

/// The queueing delay that one report shows. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueReport {
    pub(crate) now: f64,
    /// Time since the report before.
    pub(crate) elapsed: f64,
    pub(crate) round_trip: f64,
    /// The queueing delay to act upon, and its target at the present rate.
    pub(crate) queue: f64,
    pub(crate) target: f64,
}

/// The least rate, in bytes per second: two packets of mostly headers at a usual frame rate.
pub(crate) const LEAST_RATE: f64 = 6e3;
/// A rate up to this multiple of the least rate counts as the least.
const LEAST_RATE_TOLERANCE: f64 = 1.25;

impl RateLaw {
    pub(crate) fn new(initial: f64) -> Self {
        Self {
            mode: Mode::Delay,
            rate: initial.clamp(LEAST_RATE, HIGHEST_RATE),
            bound: f64::INFINITY,
            highest_bound: f64::INFINITY,
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

    /// True if the rate is the least or close to the least.
    pub(crate) fn is_least(&self) -> bool {
        self.rate <= LEAST_RATE_TOLERANCE * LEAST_RATE
    }
}
