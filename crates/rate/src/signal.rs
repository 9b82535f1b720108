//! Separates the queueing delay from noise.
//!
//! Jitter, radio grants and aggregation delay single frames, and rarely all frames of a round. A standing queue
//! delays all of them, so the least delay of a round certainly comes from a queue. A single frame's delay counts by
//! its excess over the usual deviation of frames from their neighbours. A steady ramp has no such deviation, so a
//! growing queue is no noise.

use crate::Params;
use crate::number::larger;
use crate::windowed_min::WindowedMin;

/// The least delay of a frame's packets.
#[derive(Clone, Copy, Debug, Default)]
struct FrameDelay {
    /// Departure of the packet, in seconds.
    sent: f64,
    /// Delay beyond the base delay, in seconds.
    delay: f64,
}

/// The delays of frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueSignal {
    /// The least delay of the frames that were reported in a round.
    least: WindowedMin,
    /// The last frames, newest last, and the number of the newest.
    recent: [FrameDelay; 4],
    newest: Option<u64>,
    /// The mean deviation of frames from the mean of their neighbours.
    noise: f64,
    /// The delay of a single frame that is taken for noise.
    allowance: f64,
}

/// The mean noise is over this many frames: about two seconds.
const NOISE_FRAMES: f64 = 50.0;
/// The target has room for noise of this share of the target.
const TOLERATED_NOISE_FRACTION: f64 = 0.5;

impl QueueSignal {
    /// Records the least known delay of a frame, from a packet that left at `sent`. Returns the queueing delay to
    /// act upon, with the noise for which `target` leaves room. Times are in seconds.
    pub(crate) fn observe(
        &mut self,
        now: f64,
        number: u64,
        (sent, delay): (f64, f64),
        target: f64,
        params: &Params,
    ) -> f64 {
        if self.newest == Some(number) {
            let newest = &mut self.recent[3];
            if delay < newest.delay {
                *newest = FrameDelay { sent, delay };
            }
        } else {
            let [_, before, middle, after] = self.recent;
            let deviation = middle.delay - f64::midpoint(before.delay, after.delay);
            self.noise += (deviation.abs() - self.noise) / NOISE_FRAMES;
            self.recent.rotate_left(1);
            self.recent[3] = FrameDelay { sent, delay };
            self.newest = Some(number);
        }
        let delay = self.recent[3].delay;
        self.least.observe(now, delay);
        self.least.expire(now - params.round);
        self.allowance = (params.noise * self.noise - TOLERATED_NOISE_FRACTION * target).max(0.0);
        larger(self.least(), delay - self.allowance)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.least.len()
    }

    /// Returns the least delay of a round.
    pub(crate) fn least(&self) -> f64 {
        Some(self.least.get())
            .filter(|least| least.is_finite())
            .unwrap_or(0.0)
    }

    /// Returns the growth of the queue over the last frames, beyond the noise, in seconds per second. A queue that
    /// shrinks gives zero.
    pub(crate) fn gradient(&self) -> f64 {
        let [from, .., to] = self.recent;
        let growth = to.delay - from.delay - self.allowance;
        if to.sent > from.sent {
            (growth / (to.sent - from.sent)).max(0.0)
        } else {
            0.0
        }
    }

    /// Subtracts a rise of the base delay.
    pub(crate) fn shift(&mut self, by: f64) {
        self.least.shift(by);
        for frame in &mut self.recent {
            frame.delay = (frame.delay - by).max(0.0);
        }
    }
}
