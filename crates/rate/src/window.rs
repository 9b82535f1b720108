//! Measures the rates at which packets left and arrived.

use crate::queue::SliceQueue;
use crate::sent::MAX_PACKETS;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
struct ArrivedPacket {
    /// Departure and arrival, in seconds.
    sent: f64,
    arrived: f64,
    /// Bytes of all packets that were reported before it.
    bytes_before: f64,
}

/// Deliveries of the last frame intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryWindow {
    packets: SliceQueue<ArrivedPacket>,
    /// The number of packets up to the newest that left or arrived before an earlier packet.
    jumbled: usize,
    /// Bytes of all packets that were reported.
    bytes: f64,
    /// The latest arrival and the latest departure, in seconds.
    arrived: f64,
    sent: f64,
}

/// Rates are means over this many frame intervals, so that a frame more or less at an end matters little.
pub(crate) const RATE_INTERVALS: f64 = 3.0;
/// Deliveries are kept for this many frame intervals, which is longer than any rate is measured over.
const KEPT_INTERVALS: f64 = 2.0 * RATE_INTERVALS;
/// Bound on the deliveries, beyond which rates are underestimated.
const MAX_DELIVERIES: usize = MAX_PACKETS;

impl DeliveryWindow {
    pub(crate) fn observe(&mut self, arrived: f64, sent: f64, size: f64) {
        if arrived >= self.arrived && sent >= self.sent {
            (self.arrived, self.sent) = (arrived, sent);
        } else {
            self.observe_overtaken(arrived, sent);
        }
        self.packets.push(ArrivedPacket {
            sent,
            arrived,
            bytes_before: self.bytes,
        });
        self.bytes += size;
    }

    /// Records a packet that left or arrived before an earlier packet.
    #[cold]
    fn observe_overtaken(&mut self, arrived: f64, sent: f64) {
        self.jumbled = self.packets.len() + 1;
        self.arrived = self.arrived.max(arrived);
        self.sent = self.sent.max(sent);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the time of the last arrival.
    pub(crate) fn latest_arrival(&self) -> f64 {
        self.arrived
    }

    /// Forgets deliveries that are too old to count.
    pub(crate) fn expire(&mut self, interval: f64) {
        let kept = KEPT_INTERVALS * interval;
        let (arrived, sent) = (self.arrived - kept, self.sent - kept);
        let is_old = |p: &&ArrivedPacket| p.arrived <= arrived && p.sent <= sent;
        let old = self.packets.iter().take_while(is_old).count();
        let excess = self.packets.len().saturating_sub(MAX_DELIVERIES);
        let forgotten = old.max(excess);
        self.packets.pop_oldest(forgotten);
        self.jumbled = self.jumbled.saturating_sub(forgotten);
    }

    /// Returns the rate at which packets arrived, bytes per second.
    pub(crate) fn delivery_rate(&self, interval: f64) -> f64 {
        let span = RATE_INTERVALS * interval;
        self.bytes_since(self.arrived - span, |p| p.arrived) / span
    }

    /// Returns the rate at which the latest packets that arrived had left, bytes per second.
    pub(crate) fn sending_rate(&self, interval: f64) -> f64 {
        let span = RATE_INTERVALS * interval;
        self.bytes_since(self.sent - span, |p| p.sent) / span
    }

    /// Returns the rate of arrivals between two instants, the second included, bytes per second.
    pub(crate) fn rate_between(&self, [from, to]: [f64; 2]) -> f64 {
        let bytes = |after| self.bytes_since(after, |p| p.arrived);
        (bytes(from) - bytes(to)).max(0.0) / (to - from).max(0.001)
    }

    /// Returns the bytes of the packets whose time is after this instant. Sizes are whole numbers, so that sums are
    /// exact.
    fn bytes_since(&self, after: f64, time: impl Fn(&ArrivedPacket) -> f64) -> f64 {
        let bytes_before = |index: usize| {
            let packet = self.packets.get(index);
            packet.map_or(self.bytes, |packet| packet.bytes_before)
        };
        let (jumbled, in_order) = self.packets.split_at(self.jumbled);
        let old = in_order.partition_point(|p| time(p) <= after);
        let mut bytes = self.bytes - bytes_before(jumbled.len() + old);
        if old == 0 {
            let late = jumbled.iter().enumerate().filter(|(_, p)| time(p) > after);
            bytes += late
                .map(|(index, packet)| bytes_before(index + 1) - packet.bytes_before)
                .sum::<f64>();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use proptest::prelude::*;

    use super::{DeliveryWindow, KEPT_INTERVALS, RATE_INTERVALS};

    const INTERVAL: f64 = 0.04;
    const SPAN: f64 = RATE_INTERVALS * INTERVAL;

    /// Returns the bytes of the packets whose times these bounds include.
    fn bytes(packets: &[[f64; 3]], time: usize, from: f64, to: f64) -> f64 {
        let counted = packets.iter().filter(|p| p[time] > from && p[time] <= to);
        counted.map(|p| p[2]).sum()
    }

    proptest! {
        #[test]
        fn rates_equal_a_scan_of_all_packets(
            packets in prop::collection::vec((0..9_000u32, 0..30u32, 0..40u32, 0..1_500u32), 1..300),
        ) {
            let (mut window, mut all) = (DeliveryWindow::default(), Vec::new());
            let mut now = 1.0;
            for (wait, late, overtaken, size) in packets {
                now += f64::from(wait) * 1e-6;
                // Most packets are in order.
                let sent = now - 1e-3 * f64::from(overtaken.saturating_sub(30));
                let arrived = now + 0.02 - 1e-3 * f64::from(late.saturating_sub(25));
                window.observe(arrived, sent, f64::from(size));
                all.push([arrived, sent, f64::from(size)]);
                if size % 5 == 0 {
                    window.expire(INTERVAL);
                }
                let latest = |time: usize| all.iter().map(|p| p[time]).fold(0.0, f64::max);
                let (arrived, sent) = (latest(0), latest(1));
                prop_assert_eq!(window.latest_arrival(), arrived);
                let delivery = bytes(&all, 0, arrived - SPAN, arrived) / SPAN;
                prop_assert_eq!(window.delivery_rate(INTERVAL), delivery);
                let sending = bytes(&all, 1, sent - SPAN, sent) / SPAN;
                prop_assert_eq!(window.sending_rate(INTERVAL), sending);
                let (from, to) = (arrived - 0.1, arrived - 0.03);
                let between = bytes(&all, 0, from, to) / (to - from);
                prop_assert_eq!(window.rate_between([from, to]), between);
            }
        }
    }

    #[test]
    fn packets_are_forgotten_after_their_intervals() {
        let mut window = DeliveryWindow::default();
        for n in 1..1_000 {
            let at = 0.01 * f64::from(n);
            window.observe(at + 0.02, at, 1_200.0);
            window.expire(INTERVAL);
        }
        let kept = KEPT_INTERVALS * INTERVAL / 0.01;
        assert!(
            (window.len() as f64 - kept).abs() <= 1.0,
            "{}",
            window.len()
        );
    }
}
