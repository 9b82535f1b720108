//! The queue on the way back, as the peer's own media show it.
//!
//! A round-trip time holds the queues of both ways. Where media come back, each packet says when it left: its
//! transit time less the least of late is the queue that it met, and a report that left right behind it
//! met the same. Without media reports are all that comes back, and they are few and small.
//!
//! When a report left is not known, so what is taken off may be too much: a report that left late found the queue
//! drained. Nor are the two clocks related. They may part by 100 ppm, 6 ms in the minute that the least is kept for
//! at most; a peer's clock that stands still while it sleeps, a step of it, or false times look like a queue of any
//! length for as long. None of that takes a round-trip time below the least of late, as it was measured: at worst a
//! queue on the way there is not seen for a minute, frames behind it are late, and X is TFRC's alone. Where too little
//! is taken off, one on the way back seems to stand on the way there, and X is taken back for it (`drain.rs`). In a call
//! one way nothing is known of the way back, and nothing is taken off: `rmcat-5-3` has two such calls.

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
    /// The least round-trip time as it was measured, with whatever queues it met.
    least_round_trip: Least<Duration>,
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

    /// A round-trip time that a report gave which arrives now, without the queue that the report met.
    pub(crate) fn take_off(&mut self, now: Instant, round_trip: Duration) -> Duration {
        self.least_round_trip.observe(now, round_trip);
        let least = self.least_round_trip.get().unwrap_or_default();
        round_trip.saturating_sub(self.met(now)).max(least)
    }

    /// The queue that a report met which arrives now: that of the packet before it, less what has drained since.
    fn met(&self, now: Instant) -> Duration {
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
    fn a_report_that_left_late_behind_a_queue_takes_nothing_off_the_paths_own_time() {
        let mut back = BackQueue::default();
        let mut sample = |left, arrived, report, round_trip| {
            back.observe(Instant::from_millis(arrived), clock(left));
            let sample = back.take_off(
                Instant::from_millis(report),
                Duration::from_millis(round_trip),
            );
            sample.as_millis()
        };
        assert_eq!(sample(0, 30, 30, 60), 60);
        // The packet met 40 ms. One report left with it, another 40 ms later, when the queue was empty.
        assert_eq!(sample(100, 170, 170, 100), 60);
        assert_eq!(sample(200, 270, 270, 60), 60);
    }

    #[test]
    fn a_step_of_the_peers_clock_takes_no_sample_below_the_least() {
        for step in [-10_000_i64, 10_000] {
            let mut back = BackQueue::default();
            for n in 0..200 {
                let now = 20_000 + n * 100;
                let stepped = if n == 10 { step } else { 0 };
                let left = (now as i64 - 30 + stepped) as u64;
                back.observe(Instant::from_millis(now), clock(left));
                let round_trip = Duration::from_millis(60 + n % 3);
                let sample = back.take_off(Instant::from_millis(now), round_trip);
                assert!(sample >= Duration::from_millis(60), "{n}: {sample:?}");
                assert!(sample <= round_trip);
            }
        }
    }

    #[test]
    fn where_no_media_come_back_there_is_none() {
        assert_eq!(met(&[], 100), 0);
    }
}
