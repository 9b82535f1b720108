//! The size and the pace of the next frame, and the share of its size that a frame uses.

use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::law_state::Mode;
use crate::model::PathModel;
use crate::number::seconds;

/// A packet is overdue after this many report intervals, so that two reports may be lost.
const OVERDUE_REPORTS: f64 = 3.0;
/// Weight of one frame in the mean usage.
const USAGE_GAIN: f64 = 0.25;
/// A frame of this share of its budget counts as full use, since encoders miss their targets by the rest.
const FULL_USAGE_FRACTION: f64 = 0.9;
/// Frame interval up to which a burst's lead over the rate grows, in seconds.
const MAX_BURST_INTERVAL: f64 = 0.04;
/// A frame of less than this share of its interval of the rate is not worth its headers.
const MIN_FRAME_FRACTION: f64 = 0.25;

impl PathModel {
    /// Records a packet of media that leaves under a number higher than those before. The last packet of a frame ends the
    /// frame's burst.
    pub fn handle_sent(&mut self, now: Instant, number: u64, size: Bytes, ends_burst: bool) {
        self.sent
            .push(number, seconds(now), size.as_f64(), ends_burst);
        self.frame_sent += size.as_f64();
        if ends_burst {
            let used = if self.budget > 0.0 {
                self.frame_sent / (FULL_USAGE_FRACTION * self.budget)
            } else {
                1.0
            };
            self.usage += (used.min(1.0) - self.usage) * USAGE_GAIN;
            self.frame_sent = 0.0;
        }
    }

    /// Records a repair packet or a dummy that leaves. The packet counts in the budget of the frame before, and belongs to no
    /// burst.
    pub fn handle_filler_sent(&mut self, now: Instant, number: u64, size: Bytes) {
        self.sent.push(number, seconds(now), size.as_f64(), true);
        self.frame_sent += size.as_f64();
    }

    /// Predicts the queue that a packet would find if it left now, in seconds. The prediction adds what was sent since the last
    /// measurement and subtracts what was served. An overdue packet has waited for at least the time by which it is overdue.
    pub(crate) fn own_queue(&self, now: f64) -> f64 {
        let served = self.delivery_rate.max(self.law.rate);
        let sent = self.sent.total() - self.least.sent_before;
        let queue = self.least.queue + sent / served - (now - self.least.sent);
        let interval = self.interval.max(self.report_interval);
        let due = self.last_round_trip + OVERDUE_REPORTS * interval;
        let unreported = self.sent.unreported_since();
        let overdue = unreported.map_or(0.0, |sent| now - sent - due);
        queue.max(overdue).max(0.0)
    }

    /// Gives the largest frame, headers included, that arrives whole within `time` of its departure and leaves no queue behind.
    /// The budget is never so small that the frame would not be worth its headers.
    pub fn frame_budget(&mut self, now: Instant, time: Duration) -> Bytes {
        let now = seconds(now);
        let rate = self.frame_rate(now);
        let budget = rate * self.interval;
        self.budget = match self.law.mode {
            Mode::Compete => budget,
            Mode::Delay => {
                let in_time = rate * (time.as_secs_f64() - self.own_queue(now));
                in_time.clamp(budget * MIN_FRAME_FRACTION, budget)
            }
        };
        Bytes::new(self.budget as u64)
    }

    /// Gives the pace of a frame's packets.
    pub fn pacing_rate(&self) -> Rate {
        self.useful_rate()
            .min(Rate::from_bytes_per_sec(self.law.bound))
    }

    /// Gives the pace that a frame's packets would have without TFRC's bound: a higher X is of no use.
    pub fn useful_rate(&self) -> Rate {
        match self.law.mode {
            Mode::Delay => Rate::from_bytes_per_sec(self.burst_gain() * self.law.rate),
            Mode::Compete => Rate::INFINITY,
        }
    }

    /// The ratio of a burst's pace to the rate. The ratio falls with the frame interval, since a long frame makes a long queue.
    pub(crate) fn burst_gain(&self) -> f64 {
        let ahead = self.interval.min(MAX_BURST_INTERVAL) * self.params.burst_excess
            / (1.0 + self.params.burst_excess);
        self.interval / (self.interval - ahead)
    }
}
