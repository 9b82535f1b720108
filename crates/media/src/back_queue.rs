//! The queue on the way back, as the peer's own media show it.
//!
//! A round-trip time holds the queues of both ways. Where media come back, each packet says when it left: its
//! transit time less the least of late is the queue that it met, and a report that arrives right behind it
//! met the same. Without media reports are all that comes back, and they are few and small.
//!
//! The two clocks are not related, and may part by 100 ppm: 6 ms in the minute that the least is kept for at most.
//! A peer that writes false times hides a queue from its sender, whom that leaves with TFRC's rate.

use std::time::Duration;

use tfrc::time::Instant;

use crate::rtt_track::Least;

/// What is known of the way back.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackQueue {
    /// The transit of the first packet, from an origin that is not known: microseconds modulo 2^32.
    first: Option<u32>,
    least: Least<i32>,
    /// When the last packet arrived, and its transit less that of the first.
    last: Option<(Instant, i32)>,
}

impl BackQueue {
    /// A packet arrived that left at `send_time`, in microseconds modulo 2^32 of the peer's clock.
    pub(crate) fn observe(&mut self, arrival: Instant, send_time: u32) {
        let micros = (arrival.as_nanos() / 1_000) as u32;
        let transit = micros.wrapping_sub(send_time);
        let first = *self.first.get_or_insert(transit);
        let transit = transit.wrapping_sub(first).cast_signed();
        self.least.observe(arrival, transit);
        self.last = Some((arrival, transit));
    }

    /// The queue that a report met which arrives now: that of the packet before it, less what has drained since.
    pub(crate) fn met(&self, now: Instant) -> Duration {
        let Some(((arrival, transit), least)) = self.last.zip(self.least.get()) else {
            return Duration::ZERO;
        };
        let queue = Duration::from_micros(u64::from(transit.abs_diff(least)));
        queue.saturating_sub(now.saturating_since(arrival))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer's clock at `ms` of ours: it wraps 50 ms after our zero.
    fn clock(ms: u64) -> u32 {
        (u32::MAX - 50_000).wrapping_add(ms as u32 * 1_000)
    }

    fn met(packets: &[(u64, u64)], now: u64) -> u128 {
        let mut back = BackQueue::default();
        for &(left, arrived) in packets {
            back.observe(Instant::from_millis(arrived), clock(left));
        }
        back.met(Instant::from_millis(now)).as_millis()
    }

    #[test]
    fn a_report_meets_the_queue_of_the_packet_before_it() {
        assert_eq!(met(&[(0, 30), (40, 85), (60, 110)], 110), 20);
    }

    #[test]
    fn a_queue_drains_while_nothing_comes() {
        assert_eq!(met(&[(0, 30), (60, 110)], 115), 15);
        assert_eq!(met(&[(0, 30), (60, 110)], 200), 0);
    }

    #[test]
    fn where_no_media_come_back_there_is_none() {
        assert_eq!(met(&[], 100), 0);
    }
}
