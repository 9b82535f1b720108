//! Rates at which packets left and arrived.

use crate::queue::SliceQueue;

/// Deliveries of the last frame intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    /// When a packet arrived, when it had left, its bytes.
    packets: SliceQueue<(f64, f64, f64)>,
    /// The latest of each.
    arrived: f64,
    sent: f64,
}

/// Rates are means over so many frame intervals, so that a frame more or less at an end matters little.
const RATE_INTERVALS: f64 = 3.0;
/// Deliveries are kept for so many.
const KEPT_INTERVALS: f64 = 6.0;
/// As many as can be under way ([`SentPackets`](crate::sent::SentPackets)); beyond them a rate is taken for lower.
pub(crate) const MAX_DELIVERIES: usize = 8_192;

impl Window {
    pub(crate) fn observe(&mut self, arrived: f64, sent: f64, size: f64) {
        if self.packets.len() == MAX_DELIVERIES {
            self.packets.pop_oldest(1);
        }
        self.packets.push((arrived, sent, size));
        self.arrived = self.arrived.max(arrived);
        self.sent = self.sent.max(sent);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// When the last packet arrived.
    pub(crate) fn latest_arrival(&self) -> f64 {
        self.arrived
    }

    /// Forgets what is too old to count.
    pub(crate) fn expire(&mut self, interval: f64) {
        let kept = KEPT_INTERVALS * interval;
        let (arrived, sent) = (self.arrived - kept, self.sent - kept);
        while self
            .packets
            .first()
            .is_some_and(|p| p.0 <= arrived && p.1 <= sent)
        {
            self.packets.pop_oldest(1);
        }
    }

    /// The rate at which packets arrived, bytes per second.
    pub(crate) fn delivery_rate(&self, interval: f64) -> f64 {
        let span = RATE_INTERVALS * interval;
        self.bytes(|p| p.0 > self.arrived - span) / span
    }

    /// The rate at which the packets left of which the latest arrived.
    pub(crate) fn sending_rate(&self, interval: f64) -> f64 {
        let span = RATE_INTERVALS * interval;
        self.bytes(|p| p.1 > self.sent - span) / span
    }

    /// The rate of arrivals after the first of these instants and up to the second.
    pub(crate) fn rate_between(&self, [from, to]: [f64; 2]) -> f64 {
        self.bytes(|p| p.0 > from && p.0 <= to) / (to - from).max(0.001)
    }

    fn bytes(&self, counts: impl Fn(&(f64, f64, f64)) -> bool) -> f64 {
        self.packets.iter().filter(|p| counts(p)).map(|p| p.2).sum()
    }
}
