//! Loss intervals that outlive the receiver that closed them, for the receiver that replaces it.

use super::average::Now;
use super::interval::{Intervals, Rules};
use crate::receiver::ReceiverConfig;
use crate::time::{Duration, Instant};
use crate::units::LossEventRate;

/// The most loss intervals that outlive a receiver: RFC 5348 §5.4 uses as many.
pub const MAX_PAST: usize = 8;

/// The newest loss intervals of a receiver that is gone, for the receiver that replaces it
/// ([`ReceiverConfig::past`]). The departure of the old receiver counts as a loss event, because nobody reports the
/// losses that it had not yet reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// Packets and DF_i of each interval, the newest first.
    intervals: [(f64, f64); MAX_PAST],
    len: usize,
}

impl Past {
    /// The past of an unknown path.
    pub const NONE: Self = Self {
        intervals: [(0.0, 0.0); MAX_PAST],
        len: 0,
    };

    /// Returns the past of a receiver that closed `count` intervals of 1/p packets, at most [`MAX_PAST`]. The past
    /// is empty where p is zero.
    pub fn of(p: LossEventRate, count: usize) -> Self {
        if p.is_zero() {
            return Self::NONE;
        }
        Self::new((0..count).map(|_| (1.0 / p.get(), 1.0)))
    }

    /// Keeps the newest of these intervals, which come newest first.
    pub(super) fn new(intervals: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut past = Self::NONE;
        for (place, interval) in past.intervals.iter_mut().zip(intervals) {
            *place = interval;
            past.len += 1;
        }
        past
    }

    /// Returns true if nothing is known of the path.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns p after this many further packets, none of them known to be lost; zero if nothing is known.
    pub fn loss_event_rate(&self, packets: u64) -> LossEventRate {
        self.present().loss_event_rate(now(packets))
    }

    /// Returns the past after this many further packets and another loss event; an empty past stays empty.
    #[must_use]
    pub fn and(&self, packets: u64) -> Self {
        if self.is_empty() {
            return *self;
        }
        self.present().past(now(packets), || 0.0)
    }

    pub(super) fn intervals(&self) -> &[(f64, f64)] {
        &self.intervals[..self.len]
    }

    fn present(&self) -> Intervals {
        Intervals::after(Rules::new(&ReceiverConfig::default()), self)
    }
}

/// Returns the position after this many packets. RFC 5348 does not use the time of these packets.
fn now(packets: u64) -> Now {
    Now {
        highest: packets.saturating_sub(1),
        at: Instant::ZERO,
        rtt: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use crate::{Arrival, Ecn, Receiver};

    fn close(p: LossEventRate, expected: f64) {
        assert!(
            (p.get() / expected - 1.0).abs() < 1e-12,
            "{} is not {expected}",
            p.get()
        );
    }

    #[test]
    fn of_nothing_nothing_follows() {
        let none = Past::of(LossEventRate::ZERO, MAX_PAST);
        assert!(none.is_empty() && none.and(100).is_empty());
        assert!(none.loss_event_rate(100).is_zero());
    }

    #[test]
    fn p_stays_until_the_present_interval_lowers_it() {
        let past = Past::of(LossEventRate::new(0.01), MAX_PAST);
        close(past.loss_event_rate(1), 0.01);
        close(past.loss_event_rate(100), 0.01);
        // The sum is 160 + 3·100 + 0.8·100 + … = 660, and the weights sum to 6.
        close(past.loss_event_rate(160), 6.0 / 660.0);
    }

    #[test]
    fn another_event_closes_an_interval_and_eight_are_kept() {
        let past = Past::of(LossEventRate::new(0.01), MAX_PAST).and(40);
        close(past.loss_event_rate(1), 6.0 / 540.0);
        let past = (0..8).fold(past, |past, _| past.and(50));
        close(past.loss_event_rate(1), 1.0 / 50.0);
        assert_eq!(past.intervals().len(), MAX_PAST);
    }

    fn packet(seq: u64) -> Arrival {
        Arrival {
            seq,
            at: Instant::from_millis(seq * 10),
            timestamp: 0,
            rtt: Some(Duration::from_millis(100)),
            size: Bytes::new(1_000),
            ecn: Ecn::NotEct,
        }
    }

    /// Returns the past of a receiver that missed every hundredth packet up to 1,030.
    fn left() -> Past {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        for seq in (1..=1_030).filter(|seq| seq % 100 != 0) {
            receiver.handle_data(&packet(seq));
        }
        receiver.past()
    }

    #[test]
    fn a_receiver_goes_on_where_the_one_before_it_stopped() {
        let past = left();
        // The current interval has 31 packets since the last loss, and seven closed intervals have a hundred each.
        close(past.loss_event_rate(1), 6.0 / (31.0 + 500.0));
        let mut receiver = Receiver::new(ReceiverConfig {
            past,
            ..ReceiverConfig::default()
        });
        for seq in 5_000..5_170 {
            receiver.handle_data(&packet(seq));
            let p = past.loss_event_rate(seq - 4_999);
            close(receiver.loss_event_rate(), p.get());
        }
        for seq in 5_171..5_175 {
            receiver.handle_data(&packet(seq));
        }
        assert_eq!(receiver.counters().loss_events, 1);
        close(
            receiver.loss_event_rate(),
            past.and(170).loss_event_rate(1).get(),
        );
    }

    #[test]
    fn losses_in_the_first_round_trip_belong_to_the_event_that_began_it() {
        let mut receiver = Receiver::new(ReceiverConfig {
            past: left(),
            ..ReceiverConfig::default()
        });
        for seq in (5_000..5_020).filter(|seq| *seq != 5_005) {
            receiver.handle_data(&packet(seq));
        }
        assert_eq!(
            (receiver.counters().lost, receiver.counters().loss_events),
            (1, 0)
        );
        // A late packet undoes none of the past.
        receiver.handle_data(&packet(5_005));
        close(receiver.loss_event_rate(), left().loss_event_rate(20).get());
    }

    #[test]
    fn one_interval_counts_for_one() {
        let past = Past::of(LossEventRate::new(0.02), 1).and(80);
        close(past.loss_event_rate(1), 2.0 / 130.0);
    }
}
