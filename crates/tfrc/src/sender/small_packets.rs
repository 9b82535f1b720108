//! TFRC-SP at the sender: the share of headers in X, and the least time between packets (RFC 4828 §3).

use core::time::Duration;

use crate::time::Instant;
use crate::units::{Bytes, LossEventRate};

/// H: the bytes of network and transport headers.
const HEADERS: f64 = 40.0;
/// The Min Interval: the least time between two packets.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The most packets that the mean size covers where losses are rare: 40 s at the Min Interval.
const LONGEST_MEAN: f64 = 4_096.0;

/// The state of TFRC-SP: s_true and the departure of the last packet.
#[derive(Clone, Debug, Default)]
pub(super) struct SmallPackets {
    mean: f64,
    packets: f64,
    last: Option<Instant>,
}

impl SmallPackets {
    /// Records a packet in the mean size over the last four loss intervals, 4/p packets (RFC 5348 §4.1). An empty
    /// packet counts as one byte, because headers would otherwise leave nothing of X.
    pub(super) fn handle_sent(&mut self, now: Instant, size: Bytes, p: LossEventRate) {
        self.packets = (self.packets + 1.0).min(LONGEST_MEAN);
        let weight = (p.get() / 4.0).max(1.0 / self.packets);
        self.mean += weight * (size.as_f64().max(1.0) - self.mean);
        self.last = Some(now);
    }

    /// Returns s_true / (s_true + H), or 1 before the first packet.
    pub(super) fn payload_share(&self) -> f64 {
        if self.mean > 0.0 {
            self.mean / (self.mean + HEADERS)
        } else {
            1.0
        }
    }

    /// Returns the earliest departure of the next packet.
    pub(super) fn next_departure(&self) -> Instant {
        self.last.map_or(Instant::ZERO, |last| last + MIN_INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(packets: &mut SmallPackets, sizes: &[u64], p: f64) {
        for size in sizes {
            packets.handle_sent(Instant::ZERO, Bytes::new(*size), LossEventRate::new(p));
        }
    }

    /// RFC 4828 §4.2: packets of 120 bytes keep 120/160 of the rate, and packets of 40 bytes half.
    #[test]
    fn headers_take_their_share() {
        let mut packets = SmallPackets::default();
        assert_eq!(packets.payload_share(), 1.0);
        send(&mut packets, &[120; 10], 0.0);
        assert!((packets.payload_share() - 0.75).abs() < 1e-12);
        let mut packets = SmallPackets::default();
        send(&mut packets, &[20, 60], 0.0);
        assert!((packets.payload_share() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn packets_without_a_byte_leave_a_part_of_the_rate() {
        let mut packets = SmallPackets::default();
        send(&mut packets, &[1_000], 1.0);
        send(&mut packets, &[0; 1_000], 1.0);
        assert!((packets.payload_share() - 1.0 / 41.0).abs() < 1e-12);
    }

    #[test]
    fn the_mean_forgets_what_is_older_than_four_loss_intervals() {
        let mut packets = SmallPackets::default();
        send(&mut packets, &[1_000; 2_000], 0.1);
        // At this p, 40 packets are four intervals.
        send(&mut packets, &[40; 40], 0.1);
        let mean = packets.mean;
        assert!(
            (40.0 + 960.0 / 2.8..40.0 + 960.0 / 2.6).contains(&mean),
            "{mean}"
        );
    }

    #[test]
    fn ten_milliseconds_pass_from_packet_to_packet() {
        let mut packets = SmallPackets::default();
        assert_eq!(packets.next_departure(), Instant::ZERO);
        let now = Instant::from_millis(7);
        packets.handle_sent(now, Bytes::new(40), LossEventRate::ZERO);
        assert_eq!(packets.next_departure(), Instant::from_millis(17));
    }
}
