//! What a path bore before: loss intervals that outlive the receiver that closed them.

use super::average::Now;
use super::interval::{Intervals, Rules};
use crate::receiver::ReceiverConfig;
use crate::time::{Duration, Instant};
use crate::units::LossEventRate;

/// Loss intervals that outlive a receiver: as many as RFC 5348 §5.4 looks back at.
pub const MAX_PAST: usize = 8;

/// The newest loss intervals of a receiver that is gone, for one that takes its place
/// ([`ReceiverConfig::past`]). That it went is a loss event: what it did not tell of any more, nobody tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Past {
    /// Packets, and DF_i; the newest first.
    intervals: [(f64, f64); MAX_PAST],
    len: usize,
}

impl Past {
    /// Of a path that nothing is known of.
    pub const NONE: Self = Self {
        intervals: [(0.0, 0.0); MAX_PAST],
        len: 0,
    };

    /// As if it had told of so many intervals, [`MAX_PAST`] at most, of 1/p packets; none where p is zero.
    pub fn of(p: LossEventRate, count: usize) -> Self {
        if p.is_zero() {
            return Self::NONE;
        }
        Self::new((0..count).map(|_| (1.0 / p.get(), 1.0)))
    }

    /// Intervals, the newest first; the others are forgotten.
    pub(super) fn new(intervals: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut past = Self::NONE;
        for (place, interval) in past.intervals.iter_mut().zip(intervals) {
            *place = interval;
            past.len += 1;
        }
        past
    }

    /// True if nothing is known.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// p once so many packets have left after it, none of them known to be lost; zero if nothing is known.
    pub fn loss_event_rate(&self, packets: u64) -> LossEventRate {
        self.present().loss_event_rate(now(packets))
    }

    /// The same after so many packets and another loss event, if anything is known.
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

/// After so many packets; no rule of RFC 5348 asks when.
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
        // 160 + 3·100 + 0.8·100 + … = 660 of weight 6.
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

    /// Of a receiver that missed every hundredth packet up to 1,030.
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
        // 31 packets from the last loss on, then seven intervals of a hundred.
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
        // One that comes late takes back none of the past.
        receiver.handle_data(&packet(5_005));
        close(receiver.loss_event_rate(), left().loss_event_rate(20).get());
    }

    #[test]
    fn one_interval_counts_for_one() {
        let past = Past::of(LossEventRate::new(0.02), 1).and(80);
        close(past.loss_event_rate(1), 2.0 / 130.0);
    }
}
