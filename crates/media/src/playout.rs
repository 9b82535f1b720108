//! Decides when a frame is shown: at its timestamp plus a delay that follows the jitter of whole frames.
//!
//! A frame's *transit* is the arrival of its last packet less its timestamp. It includes everything that varies
//! from frame to frame: encoding, the sending buffer, the frame's own length on a paced link, and the network. Its
//! origin is arbitrary, because nothing relates the two clocks; only its changes matter. Frames are shown one delay
//! after their timestamps. The delay is the transit that all but a few of the recent frames kept.
//!
//! A longer delay for a queue that has drained ends after a second of frames that did not need it, since a
//! conversation waits for each frame. A second without frames is no evidence about a queue.
//!
//! The delay does not exceed the deadline: a frame that arrived in time is shown in time, and a later one as soon
//! as it is complete. A delay for the slowest frames would make all frames late for the sake of a few (at 150 ms
//! and 400 kb/s 38 %, of which 12 arrived late). If most frames arrive too late, the deadline is lost, and the
//! delay follows them for an even motion. Sender reports and the round-trip time give the age of frames (`age.rs`).
//! What the display itself takes, above all decoding, is measured and counts against the deadline.
//!
//! Timestamps are converted to the receiver's clock by the measured drift (`drift.rs`). While frames arrive the
//! window would follow the drift by itself, because two clocks differ by a millisecond while it passes. But a
//! camera that was off for five minutes would return 60 ms late, or too early by as much.

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
    /// The longest time from capture to display.
    deadline: Duration,
    age: Age,
    drift: Drift,
    /// The start of the present drift, in nanoseconds of the timestamp's time line, and of the receiver's.
    anchor: (i64, i64),
    /// The last [`WINDOW`] of frames.
    recent: VecDeque<Sample>,
    /// What the last [`MAX_DISPLAYS`] frames took from their display time to their display.
    displays: VecDeque<Duration>,
    /// The nanoseconds from a timestamp, on its own time line, to its display.
    delay: Option<i64>,
    /// The time at which `delay` was last set.
    adjusted: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    transit: i64,
}

impl Playout {
    /// Creates a schedule for timestamps of `clock_rate` ticks a second, without measurements of the path. Frames
    /// are to be shown within `deadline` of their capture.
    pub fn new(clock_rate: u32, deadline: Duration) -> Self {
        Self {
            clock_rate: clock_rate.max(1),
            deadline,
            age: Age::default(),
            drift: Drift::default(),
            anchor: (0, 0),
            recent: VecDeque::with_capacity(MAX_SAMPLES),
            displays: VecDeque::new(),
            delay: None,
            adjusted: Instant::ZERO,
        }
    }

    /// Records the arrival of a frame's packet, with the sender's round-trip time.
    pub fn packet_arrived(&mut self, timestamp: i64, arrival: Instant, rtt: Option<Duration>) {
        self.age.observe(arrival, self.transit(timestamp, arrival));
        if let Some(rtt) = rtt {
            self.age.observe_round_trip(arrival, rtt);
        }
    }

    /// Records the arrival of a sender report, with the timestamp of its departure.
    pub fn report_arrived(&mut self, timestamp: i64, arrival: Instant) {
        self.age.observe(arrival, self.transit(timestamp, arrival));
    }

    /// Records the arrival of a frame's last packet. Returns true if the display time had passed.
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

    /// Records what a frame took from its display time to its display: a late wake-up, other frames, the decoder.
    pub fn frame_displayed(&mut self, took: Duration) {
        if self.displays.len() == MAX_DISPLAYS {
            self.displays.pop_front();
        }
        self.displays.push_back(took);
    }

    /// Returns when the frame of this timestamp is to be shown; `None` before any frame arrived.
    pub fn display_at(&self, timestamp: i64) -> Option<Instant> {
        let at = self.local_nanos(timestamp).saturating_add(self.delay?);
        Some(Instant::from_nanos(u64::try_from(at).unwrap_or(0)))
    }

    /// Returns how long a frame of the least transit in the window waits for its display. This is the delay that
    /// playout itself adds.
    pub fn allowance(&self) -> Duration {
        match (self.delay, self.least()) {
            (Some(delay), Some(least)) => {
                Duration::from_nanos(u64::try_from(delay.saturating_sub(least)).unwrap_or(0))
            }
            _ => Duration::ZERO,
        }
    }

    /// Returns true if a packet with this timestamp that arrived now belongs to another time line: the peer's clock
    /// jumped, or the packet is forged.
    pub fn is_discontinuous(&self, timestamp: i64, arrival: Instant) -> bool {
        let transit = self.transit(timestamp, arrival);
        self.delay
            .is_some_and(|delay| transit.abs_diff(delay) > MIN_DISCONTINUITY.as_nanos() as u64)
    }

    /// Forgets all measurements of the path.
    pub fn reset(&mut self) {
        let displays = std::mem::take(&mut self.displays);
        *self = Self {
            displays,
            ..Self::new(self.clock_rate, self.deadline)
        };
    }

    /// Updates the drift, and leaves the display time of the present frame unchanged.
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
        // A time without frames is no evidence for a shorter delay.
        let elapsed = now
            .saturating_since(self.adjusted)
            .min(DELAY_MEMORY / MIN_MEMORY_FRAMES);
        self.adjusted = self.adjusted.max(now);
        let delay = match self.delay {
            Some(delay) if wanted < delay => {
                let step = (elapsed / SHRINKING_DIVISOR).as_nanos() as i64;
                // No frame waits longer than the bound, however high the delay was: a first frame that took a
                // second must not delay all later ones.
                wanted.max(delay.saturating_sub(step).min(longest))
            }
            _ => wanted,
        };
        self.delay = Some(self.in_time().map_or(delay, |due| delay.min(due)));
    }

    /// Returns the delay that keeps the deadline, unless fewer than half of the last frames arrived by then.
    fn in_time(&self) -> Option<i64> {
        let display = of_most(self.displays.iter().copied().collect()).unwrap_or_default();
        let guarded = self.deadline.saturating_sub(display.max(TIMER_GUARD));
        let due = self.age.transit_of(guarded)?;
        let (early, all) = self
            .of_late(DEADLINE_MEMORY)
            .fold((0, 0), |(early, all), transit| {
                (early + usize::from(transit <= due), all + 1)
            });
        (2 * early >= all).then_some(due)
    }

    /// Returns the delay that most of the window's frames would have kept, within [`MAX_SPREAD`].
    fn wanted(&self) -> Option<i64> {
        let longest = self.longest()?;
        let kept = of_most(self.recent.iter().map(|sample| sample.transit).collect())?;
        let kept = kept
            .min(self.longest_of_late().unwrap_or(kept))
            .saturating_add(TIMER_GUARD.as_nanos() as i64);
        Some(kept.min(longest))
    }

    /// Returns the longest transit of the last [`DELAY_MEMORY`], if [`MIN_MEMORY_FRAMES`] frames arrived in it.
    fn longest_of_late(&self) -> Option<i64> {
        let enough = self.of_late(DELAY_MEMORY).count() >= MIN_MEMORY_FRAMES as usize;
        self.of_late(DELAY_MEMORY).max().filter(|_| enough)
    }

    /// Returns the transits of the frames of the last `time`.
    fn of_late(&self, time: Duration) -> impl Iterator<Item = i64> {
        let latest = self.recent.back().map(|sample| sample.at);
        let is_recent =
            move |sample: &&Sample| latest.is_some_and(|at| at.saturating_since(sample.at) <= time);
        let last = self.recent.iter().rev().take_while(is_recent);
        last.map(|sample| sample.transit)
    }

    /// Returns the longest delay that [`MAX_SPREAD`] permits.
    fn longest(&self) -> Option<i64> {
        Some(self.least()?.saturating_add(MAX_SPREAD.as_nanos() as i64))
    }

    fn least(&self) -> Option<i64> {
        self.recent.iter().map(|sample| sample.transit).min()
    }

    fn transit(&self, timestamp: i64, arrival: Instant) -> i64 {
        since(arrival, self.local_nanos(timestamp))
    }

    /// Converts a timestamp to nanoseconds of the receiver's clock, with an origin of its own.
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

/// Returns the time that [`IN_TIME_PERCENT`] of these do not exceed, by nearest rank; `None` if there are none.
fn of_most<T: Copy + Ord>(mut times: Vec<T>) -> Option<T> {
    let rank = (times.len() * IN_TIME_PERCENT).div_ceil(100);
    let (_, &mut longest, _) = times.select_nth_unstable(rank.checked_sub(1)?);
    Some(longest)
}

fn since(arrival: Instant, nanos: i64) -> i64 {
    let arrival = i64::try_from(arrival.as_nanos()).unwrap_or(i64::MAX);
    arrival.saturating_sub(nanos)
}

fn clamped(nanos: i128) -> i64 {
    nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The time over which playout measures the least transit and chooses the few frames that may be late. It is also
/// the memory of the delay if [`DELAY_MEMORY`] has fewer than [`MIN_MEMORY_FRAMES`] frames.
const WINDOW: Duration = Duration::from_secs(4);

/// The time without a frame that needed the delay, after which the delay ends. Otherwise five frames that once
/// waited in a queue would delay all others of the window, at 25 frames a second.
const DELAY_MEMORY: Duration = Duration::from_secs(1);

/// The time over which most frames must keep the deadline, for the deadline to apply again.
const DEADLINE_MEMORY: Duration = Duration::from_millis(250);

/// The least number of frames in [`DELAY_MEMORY`] that is evidence of a drained queue: the first frame after a
/// pause finds every queue empty.
const MIN_MEMORY_FRAMES: u32 = 5;

/// The most frames in the window: 60 a second.
const MAX_SAMPLES: usize = 240;

/// The most displays that are remembered. [`IN_TIME_PERCENT`] lets two of them be late, so a decoder that has become
/// slower counts from its third frame on.
const MAX_DISPLAYS: usize = 40;

/// The share of the window's frames that must be in time.
const IN_TIME_PERCENT: usize = 95;

/// The guard in the delay against the error of a timer and of a busy host's wake-up, where no longer display was measured.
const TIMER_GUARD: Duration = Duration::from_millis(2);

/// The most that playout adds to the least transit. A later frame is shown when it is complete: a wait for the
/// worst would break every frame's deadline for the sake of a few.
const MAX_SPREAD: Duration = Duration::from_millis(80);

/// The divisor of real time that bounds the shrinking of the delay, since motion that is 5 % too fast is not
/// noticed.
const SHRINKING_DIVISOR: u32 = 20;

/// A transit this far from the delay is no jitter. A process may be suspended for less than half of this.
const MIN_DISCONTINUITY: Duration = Duration::from_secs(5);
