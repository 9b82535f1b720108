//! When a frame is shown: its timestamp plus a delay that follows the jitter of whole frames.
//!
//! A frame's *transit* is the arrival of its last packet less its timestamp. It holds everything
//! that varies from frame to frame: encoding, the sending buffer, the frame's own length on a paced
//! link, and the network. Its origin is arbitrary, for nothing relates the two clocks; only its
//! changes count. Frames are shown one delay after their timestamps, where the delay is the transit
//! that all but a few of the recent frames kept.
//!
//! A delay that was needed once, for a queue that has drained, ends after a second of frames that did not need it, since a
//! conversation waits for each frame. A second without frames is no evidence about a queue.
//!
//! Nor does it go beyond the deadline: a frame that arrived in time is shown in time, and one that did not, when it is
//! there. Held for the slowest of them, all would be late for a few (at 150 ms and 400 kb/s 38 %, of which 12 arrived
//! late). Where most arrive too late the deadline is lost, and what they need is kept for an even motion. How old
//! frames are is known from sender reports and the round-trip time (`age.rs`).
//!
//! Timestamps are read on the receiver's clock, as far as its drift against the sender's is known (`drift.rs`).
//! While frames come the window would follow that without: two clocks part by a millisecond while it passes. A camera
//! that was off for five minutes would come back 60 ms late, or as much too early.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;

use crate::age::Age;
use crate::drift::Drift;

/// The schedule of one stream.
#[derive(Clone, Debug)]
pub struct Playout {
    clock_rate: u32,
    /// From capture to display, at the latest.
    deadline: Duration,
    age: Age,
    drift: Drift,
    /// Since when timestamps have been read with this drift, in nanoseconds on their own time line, and where that lies
    /// on the receiver's.
    anchor: (i64, i64),
    /// The last [`WINDOW`] frames.
    recent: VecDeque<Sample>,
    /// Nanoseconds from a timestamp, on its own time line, to its display.
    delay: Option<i64>,
    /// When `delay` was set last.
    adjusted: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    transit: i64,
}

impl Playout {
    /// A schedule for timestamps of `clock_rate` ticks a second, that knows nothing of the path yet. Frames are to be
    /// shown within `deadline` of their capture.
    pub fn new(clock_rate: u32, deadline: Duration) -> Self {
        Self {
            clock_rate: clock_rate.max(1),
            deadline,
            age: Age::default(),
            drift: Drift::default(),
            anchor: (0, 0),
            recent: VecDeque::with_capacity(MAX_SAMPLES),
            delay: None,
            adjusted: Instant::ZERO,
        }
    }

    /// A packet of a frame arrived; its sender knew this round-trip time.
    pub fn packet_arrived(&mut self, timestamp: i64, arrival: Instant, rtt: Option<Duration>) {
        self.age.observe(arrival, self.transit(timestamp, arrival));
        if let Some(rtt) = rtt {
            self.age.observe_round_trip(arrival, rtt);
        }
    }

    /// A sender report arrived, with the timestamp that the moment had in which it left.
    pub fn report_arrived(&mut self, timestamp: i64, arrival: Instant) {
        self.age.observe(arrival, self.transit(timestamp, arrival));
    }

    /// The last packet of a frame arrived at `arrival`. Gives true if its display time had passed.
    ///
    /// `timestamp` is the RTP timestamp, extended so that it does not wrap.
    pub fn frame_arrived(&mut self, timestamp: i64, arrival: Instant) -> bool {
        self.follow_drift(timestamp, arrival);
        let transit = self.transit(timestamp, arrival);
        let late = self.delay.is_some_and(|delay| transit > delay);
        if self.recent.len() == MAX_SAMPLES {
            self.recent.pop_front();
        }
        self.recent.push_back(Sample {
            at: arrival,
            transit,
        });
        let old = |sample: &Sample| arrival.saturating_since(sample.at) > WINDOW;
        while self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
        self.adapt(arrival);
        late
    }

    /// When the frame of this timestamp is to be shown; `None` before any frame arrived.
    pub fn display_at(&self, timestamp: i64) -> Option<Instant> {
        let at = self.local_nanos(timestamp).saturating_add(self.delay?);
        Some(Instant::from_nanos(u64::try_from(at).unwrap_or(0)))
    }

    /// How long a frame of the least transit in the window waits for its display: the part of the
    /// delay that is playout's own doing.
    pub fn allowance(&self) -> Duration {
        match (self.delay, self.least()) {
            (Some(delay), Some(least)) => {
                Duration::from_nanos(u64::try_from(delay.saturating_sub(least)).unwrap_or(0))
            }
            _ => Duration::ZERO,
        }
    }

    /// True if a packet with this timestamp that arrived now belongs to another time line: the
    /// peer's clock jumped, or a forger wrote it.
    pub fn is_discontinuous(&self, timestamp: i64, arrival: Instant) -> bool {
        let transit = self.transit(timestamp, arrival);
        self.delay
            .is_some_and(|delay| transit.abs_diff(delay) > MIN_DISCONTINUITY.as_nanos() as u64)
    }

    /// Forgets everything about the path.
    pub fn reset(&mut self) {
        *self = Self::new(self.clock_rate, self.deadline);
    }

    /// What is due now stays due now, whatever is learned of the clocks.
    fn follow_drift(&mut self, timestamp: i64, arrival: Instant) {
        let (media, local) = (self.media_nanos(timestamp), self.local_nanos(timestamp));
        if self.drift.frame_arrived(arrival, since(arrival, media)) {
            self.anchor = (media, local);
        }
    }

    fn adapt(&mut self, now: Instant) {
        let (Some(wanted), Some(longest)) = (self.wanted(), self.longest()) else {
            return;
        };
        // Time without frames shows nothing that could be given up.
        let elapsed = now
            .saturating_since(self.adjusted)
            .min(DELAY_MEMORY / MIN_MEMORY_FRAMES);
        self.adjusted = self.adjusted.max(now);
        let delay = match self.delay {
            Some(delay) if wanted < delay => {
                let step = (elapsed / SHRINKING_DIVISOR).as_nanos() as i64;
                // However high the delay was, no frame waits longer than the bound: a first frame
                // that took a second must not hold up all that follow it.
                wanted.max(delay.saturating_sub(step).min(longest))
            }
            _ => wanted,
        };
        self.delay = Some(self.in_time().map_or(delay, |due| delay.min(due)));
    }

    /// The delay that meets the deadline, unless fewer than half of the last frames arrived by then.
    fn in_time(&self) -> Option<i64> {
        let guarded = self.deadline.saturating_sub(TIMER_GUARD);
        let due = self.age.transit_of(guarded)?;
        let (early, all) = self
            .of_late(DEADLINE_MEMORY)
            .fold((0, 0), |(early, all), transit| {
                (early + usize::from(transit <= due), all + 1)
            });
        (2 * early >= all).then_some(due)
    }

    /// The delay that [`IN_TIME_PERCENT`] of the window's frames would have kept, by nearest rank, as far as
    /// [`MAX_SPREAD`] lets it.
    fn wanted(&self) -> Option<i64> {
        let mut transits: Vec<i64> = self.recent.iter().map(|sample| sample.transit).collect();
        let longest = self.longest()?;
        let rank = (transits.len() * IN_TIME_PERCENT).div_ceil(100).max(1) - 1;
        let (_, &mut kept, _) = transits.select_nth_unstable(rank);
        let kept = kept
            .min(self.longest_of_late().unwrap_or(kept))
            .saturating_add(TIMER_GUARD.as_nanos() as i64);
        Some(kept.min(longest))
    }

    /// The longest transit of the last [`DELAY_MEMORY`], if [`MIN_MEMORY_FRAMES`] frames came in it.
    fn longest_of_late(&self) -> Option<i64> {
        let enough = self.of_late(DELAY_MEMORY).count() >= MIN_MEMORY_FRAMES as usize;
        self.of_late(DELAY_MEMORY).max().filter(|_| enough)
    }

    /// The transits of the frames of this time.
    fn of_late(&self, time: Duration) -> impl Iterator<Item = i64> {
        let latest = self.recent.back().map(|sample| sample.at);
        let is_recent =
            move |sample: &&Sample| latest.is_some_and(|at| at.saturating_since(sample.at) <= time);
        let last = self.recent.iter().rev().take_while(is_recent);
        last.map(|sample| sample.transit)
    }

    /// The delay that [`MAX_SPREAD`] allows.
    fn longest(&self) -> Option<i64> {
        Some(self.least()?.saturating_add(MAX_SPREAD.as_nanos() as i64))
    }

    fn least(&self) -> Option<i64> {
        self.recent.iter().map(|sample| sample.transit).min()
    }

    fn transit(&self, timestamp: i64, arrival: Instant) -> i64 {
        since(arrival, self.local_nanos(timestamp))
    }

    /// A timestamp in nanoseconds of the receiver's clock, with an origin of its own.
    fn local_nanos(&self, timestamp: i64) -> i64 {
        let (media, local) = self.anchor;
        let passed = i128::from(self.media_nanos(timestamp)) - i128::from(media);
        let gained = passed * i128::from(self.drift.ppb()) / 1_000_000_000;
        clamped(i128::from(local) + passed + gained)
    }

    fn media_nanos(&self, timestamp: i64) -> i64 {
        clamped(i128::from(timestamp) * 1_000_000_000 / i128::from(self.clock_rate))
    }
}

fn since(arrival: Instant, nanos: i64) -> i64 {
    let arrival = i64::try_from(arrival.as_nanos()).unwrap_or(i64::MAX);
    arrival.saturating_sub(nanos)
}

fn clamped(nanos: i128) -> i64 {
    nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// How far back playout looks for the least transit and for the few frames that need not be in time; at fewer than
/// [`MIN_MEMORY_FRAMES`] frames in [`DELAY_MEMORY`] also for how long a delay is kept.
const WINDOW: Duration = Duration::from_secs(4);

/// A delay ends after this time without a frame that needed it. Otherwise five frames that waited in a queue once would delay
/// all others of the window, at 25 frames a second.
const DELAY_MEMORY: Duration = Duration::from_secs(1);

/// The deadline is met again if most frames of this time met it.
const DEADLINE_MEMORY: Duration = Duration::from_millis(250);

/// Fewer frames in [`DELAY_MEMORY`] are no evidence that a queue has drained: the first after a pause finds every queue empty.
const MIN_MEMORY_FRAMES: u32 = 5;

/// The window at 60 frames a second.
const MAX_SAMPLES: usize = 240;

/// The share of the window's frames that must be in time.
const IN_TIME_PERCENT: usize = 95;

/// The delay includes this guard against the error of a timer and of a busy host's wake-up.
const TIMER_GUARD: Duration = Duration::from_millis(2);

/// The most that playout adds to the least transit. Beyond it a frame is shown when it is whole:
/// waiting for the worst would break every frame's deadline for the sake of a few.
const MAX_SPREAD: Duration = Duration::from_millis(80);

/// The delay shrinks by real time over this divisor at most, since motion that is 5 % too fast is not noticed.
const SHRINKING_DIVISOR: u32 = 20;

/// A transit this far from the delay is no jitter. A process may be stopped for less than half of this.
const MIN_DISCONTINUITY: Duration = Duration::from_secs(5);
