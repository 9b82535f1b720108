//! Queueing delay apart from noise.
//!
//! Jitter, radio grants and aggregation delay single frames for reasons of their own, and mostly not all frames of a
//! round. A standing queue delays all of them. So the least delay of a round is a queue's for certain, and a single
//! frame's delay as far as it exceeds that by more than frames do in the mean.

use alloc::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct QueueSignal {
    /// When a frame became known and its least delay, each less than those after it.
    least: VecDeque<(f64, f64)>,
    /// How far frames deviate from the mean of their neighbours, in the mean.
    noise: f64,
    allowance: f64,
    /// The delays of the last three frames, newest last.
    last: [f64; 3],
    /// When those of the last four frames left, and their delays, newest last.
    frames: [(f64, f64); 4],
    /// The newest of them.
    burst: Option<u64>,
}

/// A frame counts from so many means of the noise on: of an exponential distribution 2 % are beyond four.
fn noises() -> f64 { crate::model::env("NOISES", 3.0) }
/// The noise is a mean over so many frames.
fn frames() -> f64 { crate::model::env("NFRAMES", 50.0) }

impl QueueSignal {
    /// Takes in the least delay of a frame, as far as it is known; the queueing delay to act upon. Times are in seconds.
    pub(crate) fn observe(&mut self, sent: f64, now: f64, burst: u64, delay: f64, round: f64, tolerated: f64) -> f64 {
        let mut delay = delay;
        if self.burst == Some(burst) {
            delay = delay.min(self.last[2]);
            self.last[2] = delay;
            self.frames[3] = (sent, delay);
        } else {
            let [before, middle, after] = self.last;
            let deviation = middle - f64::midpoint(before, after);
            self.noise += (deviation.abs() - self.noise) / frames();
            self.last = [middle, after, delay];
            self.burst = Some(burst);
            self.frames.rotate_left(1);
            self.frames[3] = (sent, delay);
        }
        while self.least.back().is_some_and(|last| last.1 >= delay) {
            self.least.pop_back();
        }
        self.least.push_back((now, delay));
        while self.least[0].0 < now - round {
            self.least.pop_front();
        }
        self.allowance = (noises() * self.noise - tolerated).max(0.0);
        self.least[0].1.max(delay - self.allowance)
    }

    /// Seconds of queue that grow in a second, over the last frames and beyond the noise; zero where it shrinks.
    pub(crate) fn gradient(&self) -> f64 {
        let [(from, before), .., (to, after)] = self.frames;
        let growth = after - before - self.allowance;
        if to > from { (growth / (to - from)).max(0.0) } else { 0.0 }
    }

    /// The base delay rose by this much.
    pub(crate) fn shift(&mut self, by: f64) {
        for (_, delay) in &mut self.least {
            *delay = (*delay - by).max(0.0);
        }
        for delay in self.last.iter_mut().chain(self.frames.iter_mut().map(|frame| &mut frame.1)) {
            *delay = (*delay - by).max(0.0);
        }
    }

    /// The least delay of a round, and the mean deviation of frames.
    pub(crate) fn least(&self) -> f64 {
        self.least.front().map_or(0.0, |first| first.1)
    }

    pub(crate) fn noise(&self) -> f64 {
        self.noise
    }
}
