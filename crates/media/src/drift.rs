//! Measures how much faster the receiver's clock runs than the sender's, by the fastest frames of long times.
//!
//! Two crystals differ by up to 200 parts in a million, 12 ms a minute. Queues come and go, but the transit of a
//! frame that finds no queue changes only with the clocks. The least transit of every [`BLOCK_TIME`] is therefore
//! kept. The drift is the median of the slopes between two blocks that are at least [`MIN_SLOPE_TIME`] apart, so a
//! route that becomes longer once changes few of the slopes. The drift is zero while a quarter of the slopes rise
//! and a quarter fall, because the slopes then reflect the queue.

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;

/// The drift between the clocks of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drift {
    /// The fastest frames of the last blocks, the oldest first.
    fastest: VecDeque<Fastest>,
    ppb: i64,
}

#[derive(Clone, Copy, Debug)]
struct Fastest {
    block: u64,
    at: Instant,
    transit: i64,
}

impl Drift {
    /// Records a frame that arrived, with its transit in nanoseconds from any origin. Returns true if
    /// [`ppb`](Self::ppb) changed.
    pub(crate) fn frame_arrived(&mut self, at: Instant, transit: i64) -> bool {
        let block = at.as_nanos() / BLOCK_TIME.as_nanos() as u64;
        let sample = Fastest { block, at, transit };
        match self.fastest.back_mut() {
            Some(last) if block <= last.block => {
                if transit < last.transit {
                    *last = Fastest {
                        block: last.block,
                        ..sample
                    };
                }
                return false;
            }
            _ => {}
        }
        // The last block is complete.
        let before = self.ppb;
        self.ppb = self.slope();
        if self.fastest.len() == MAX_BLOCKS {
            self.fastest.pop_front();
        }
        self.fastest.push_back(sample);
        self.ppb != before
    }

    /// Returns the gain of the receiver's clock in nanoseconds a second, within ±[`MAX_DRIFT_PPB`].
    pub(crate) const fn ppb(&self) -> i64 {
        self.ppb
    }

    /// Returns the median of the slopes, if they agree on a sign.
    fn slope(&self) -> i64 {
        let mut slopes: Vec<i64> = (self.fastest.iter())
            .filter_map(|later| {
                let far =
                    |earlier: &&Fastest| later.at.saturating_since(earlier.at) >= MIN_SLOPE_TIME;
                let earlier = self.fastest.iter().rev().find(far)?;
                let gained = i128::from(later.transit) - i128::from(earlier.transit);
                let nanos = later.at.saturating_since(earlier.at).as_nanos() as i128;
                let ppb = gained * 1_000_000_000 / nanos;
                Some(ppb.clamp(-i128::from(MAX_DRIFT_PPB), MAX_DRIFT_PPB.into()) as i64)
            })
            .collect();
        if slopes.len() < MIN_SLOPES {
            return 0;
        }
        slopes.sort_unstable();
        let [low, middle, high] = [1, 2, 3].map(|quarter| slopes[slopes.len() * quarter / 4]);
        if low.signum() == high.signum() {
            middle
        } else {
            0
        }
    }
}

/// The time of which the fastest frame is kept: losses usually make TFRC's queue run empty within it.
const BLOCK_TIME: Duration = Duration::from_secs(10);

/// The number of blocks that are kept, ten minutes, since the rate of a crystal follows its temperature.
const MAX_BLOCKS: usize = 60;

/// The least time between the two frames of a slope. A frame that is delayed by a millisecond changes it by 17 ppm.
const MIN_SLOPE_TIME: Duration = Duration::from_secs(60);

/// The least number of slopes that are evidence. They take five minutes of frames, and a queue may grow for minutes
/// as flows join (two minutes showed a false drift in `rmcat-5-5` and `rmcat-6-3`).
const MIN_SLOPES: usize = 25;

/// The bound on the drift between two clocks, in parts per billion. The crystals of cheap cameras are off by about
/// a fifth of this.
const MAX_DRIFT_PPB: i64 = 500_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the drift after `seconds` of five frames a second, with the transit of each in microseconds.
    fn after(seconds: u64, transit: impl Fn(u64, u64) -> i64) -> i64 {
        let mut drift = Drift::default();
        for n in 0..seconds * 5 {
            let at = Instant::from_millis(n * 200);
            drift.frame_arrived(at, transit(n / 5, n) * 1_000);
        }
        drift.ppb()
    }

    /// Returns a delay from 0 up to 30 ms, as in a queue that fills and empties.
    fn jitter(n: u64) -> i64 {
        (n.wrapping_mul(2_654_435_761) >> 7) as i64 % 30_000
    }

    #[test]
    fn fastest_frames_show_the_drift() {
        for ppm in [-200, -20, 20, 200] {
            let found = after(600, |second, n| ppm * second as i64 + jitter(n));
            // The queue is empty as often as before, and each time it fills it is a little longer.
            let queue = |second, n| jitter(n) * jitter(n) / 30_000 * (300 + second as i64) / 300;
            let beside = after(600, |second, n| ppm * second as i64 + queue(second, n));
            for found in [found, beside] {
                assert!(
                    (found - ppm * 1_000).abs() <= 10_000,
                    "{ppm} ppm: {found} ppb"
                );
            }
        }
    }

    #[test]
    fn five_minutes_tell_nothing_yet() {
        assert_eq!(after(300, |second, _| 200 * second as i64), 0);
    }

    #[test]
    fn jitter_is_no_drift() {
        assert_eq!(after(600, |_, n| jitter(n)), 0);
    }

    /// The transit is 40 ms longer from the middle on.
    #[test]
    fn a_longer_route_is_no_drift() {
        let route = |second| if second < 300 { 0 } else { 40_000 };
        let found = after(600, |second, n| route(second) + jitter(n));
        assert!(found.abs() <= 5_000, "{found} ppb");
        let found = after(600, |second, n| {
            route(second) + 100 * second as i64 + jitter(n)
        });
        assert!((found - 100_000).abs() <= 10_000, "{found} ppb");
    }

    fn assert_bounded(frames: impl IntoIterator<Item = (Instant, i64)>) {
        let mut drift = Drift::default();
        for (at, transit) in frames {
            drift.frame_arrived(at, transit);
            assert!(drift.ppb().abs() <= MAX_DRIFT_PPB);
            assert!(drift.fastest.len() <= MAX_BLOCKS);
        }
    }

    proptest! {
        #[test]
        fn drift_stays_bounded_for_any_frames(
            frames in proptest::collection::vec((any::<u64>(), any::<i64>()), 0..200),
            waits in proptest::collection::vec((0..100_000_u64, any::<i64>()), 0..200),
        ) {
            assert_bounded(frames.into_iter().map(|(at, transit)| (Instant::from_nanos(at), transit)));
            let mut at = Instant::ZERO;
            assert_bounded(waits.into_iter().map(|(wait, transit)| {
                at += Duration::from_millis(wait);
                (at, transit)
            }));
        }
    }
}
