//! Measures how late datagrams arrive.

use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;

use crate::CLOCK_RATE;

/// From due to arrival, but for how far the clocks are apart: seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transit {
    count: u64,
    sum: f64,
    max: f64,
}

impl Transit {
    pub(crate) fn record(&mut self, arrival: Instant, timestamp: i64) {
        let transit = arrival.as_secs_f64() - timestamp as f64 / f64::from(CLOCK_RATE);
        self.max = if self.count == 0 {
            transit
        } else {
            self.max.max(transit)
        };
        self.count += 1;
        self.sum += transit;
    }

    pub(crate) fn mean(&self, offset: f64) -> Option<Duration> {
        (self.count > 0).then(|| duration_from_secs(self.sum / self.count as f64 - offset))
    }

    pub(crate) fn max(&self, offset: f64) -> Option<Duration> {
        (self.count > 0).then(|| duration_from_secs(self.max - offset))
    }
}
