//! Computes when the next packet may leave (RFC 5348 §4.6).

use core::time::Duration;

use crate::time::{Instant, Nanos};
use crate::units::{Bytes, Rate};

/// Turns the rate into departure times.
///
/// The pacer keeps the nominal time of the last packet and computes the next from the *present* rate, so a change
/// of rate moves a departure that is already scheduled. Unused time is credit: a sender that woke late catches up,
/// and a sender that had nothing to send may burst. Both are bounded.
///
/// Two bounds apply. `burst` limits a burst to less than the round trip that RFC 5348 §4.6 permits (MUST). The full
/// round trip of credit is kept as well, because a sender is data-limited as long as it does not use up the
/// *permission* of the standard, whatever its own limit. The sender can no longer use the credit that `burst` took
/// away. That credit is therefore forgotten after a round trip in which every packet left when it was due;
/// otherwise one pause would leave a busy sender data-limited for ever.
///
/// Divisions occur where the rate or the packet size changes, not for each packet.
#[derive(Clone, Debug)]
pub struct Pacer {
    burst: Nanos,
    rate: Rate,
    round_trip: Nanos,
    /// The kept part of unused time: the smaller of `burst` and a round trip.
    credit: Nanos,
    /// The size of the last packet; `None` before the first.
    size: Option<Bytes>,
    /// The time that a packet of that size takes at the present rate.
    spacing: Nanos,
    /// The nominal departure of the last packet with at most `credit`, then the next packet's.
    nominal: Instant,
    due: Instant,
    /// The nominal departure of the last packet with a round trip of credit, then the next packet's.
    entitled: Instant,
    entitled_due: Instant,
    /// The time at which `burst` last took credit away, then the time a round trip later.
    forfeited: Instant,
    forgotten: Instant,
}

/// The credit before any round-trip time is known. It lets a sender catch up, and adds no packet: one packet a
/// second would otherwise drift past the nofeedback timer.
const CREDIT_BEFORE_ANY: Duration = Duration::from_millis(10);

impl Pacer {
    /// Creates a pacer that has sent nothing. `burst` bounds the credit below one round trip, and below 10 ms while
    /// the round-trip time is unknown.
    pub fn new(burst: Duration, rate: Rate, rtt: Option<Duration>) -> Self {
        let mut pacer = Self {
            burst: burst.into(),
            rate,
            round_trip: Nanos::ZERO,
            credit: Nanos::ZERO,
            size: None,
            spacing: Nanos::ZERO,
            nominal: Instant::ZERO,
            due: Instant::ZERO,
            entitled: Instant::ZERO,
            entitled_due: Instant::ZERO,
            forfeited: Instant::ZERO,
            forgotten: Instant::ZERO,
        };
        pacer.set_rate(rate, rtt);
        pacer
    }

    /// Sets the rate and the round-trip time that apply from now on.
    pub fn set_rate(&mut self, rate: Rate, rtt: Option<Duration>) {
        self.set_pace(rate, rtt.map(Nanos::from));
    }

    /// Does the same as [`Pacer::set_rate`], without the conversion.
    pub(crate) fn set_pace(&mut self, rate: Rate, rtt: Option<Nanos>) {
        self.rate = rate;
        self.round_trip = rtt.unwrap_or(Nanos::ZERO);
        self.credit = self.burst.min(rtt.unwrap_or(CREDIT_BEFORE_ANY.into()));
        if let Some(size) = self.size {
            self.spacing = size.time_at(rate);
            self.due = self.nominal + self.spacing;
            self.entitled_due = self.entitled + self.spacing;
            self.forgotten = self.forfeited + self.round_trip;
        }
    }

    /// Returns the rate of departures.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the earliest departure of the next packet; a time up to `now` means at once.
    #[inline]
    pub fn next_departure(&self, now: Instant) -> Instant {
        if self.size.is_some() { self.due } else { now }
    }

    /// Records a departure. Returns true if it used up all that the standard permits: the sender is then not
    /// data-limited at this instant (RFC 5348 §8.2.1).
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes) -> bool {
        if self.size != Some(size) {
            self.prepare(now, size);
        }
        let earliest = now - self.credit;
        self.nominal = self.due;
        if earliest > self.due {
            self.nominal = earliest;
            self.forfeited = now;
            self.forgotten = now + self.round_trip;
        }
        self.due = self.nominal + self.spacing;
        (self.entitled, self.entitled_due) = if now > self.forgotten {
            (self.nominal, self.due)
        } else {
            let entitled = self.entitled_due.max(now - self.round_trip);
            (entitled, entitled + self.spacing)
        };
        self.entitled_due > now
    }

    /// Prepares for the first packet, or for a packet whose size differs from the last.
    #[inline]
    fn prepare(&mut self, now: Instant, size: Bytes) {
        if self.size.is_none() {
            self.due = now;
            self.entitled_due = now;
            self.forfeited = now;
            self.forgotten = now + self.round_trip;
        }
        self.size = Some(size);
        self.spacing = size.time_at(self.rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const RTT: Duration = Duration::from_millis(100);
    const SIZE: Bytes = Bytes::new(1_000);
    /// A packet every 10 ms.
    const RATE: Rate = Rate::from_bytes_per_sec(1e5);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn paced(burst: Duration) -> Pacer {
        Pacer::new(burst, RATE, Some(RTT))
    }

    /// Sends all packets that may leave at `now`, and returns their number.
    fn drain(pacer: &mut Pacer, now: Instant) -> u32 {
        let mut sent = 0;
        while pacer.next_departure(now) <= now {
            pacer.handle_sent(now, SIZE);
            sent += 1;
        }
        sent
    }

    #[test]
    fn packets_leave_at_the_rate() {
        let mut pacer = paced(RTT);
        let sent: Vec<u32> = (0..40).map(|i| drain(&mut pacer, at(i * 5))).collect();
        assert!(sent.chunks(2).all(|pair| pair == [1, 0]), "{sent:?}");
    }

    #[test]
    fn a_late_wake_up_is_caught_up_with() {
        let mut pacer = paced(Duration::from_millis(20));
        assert_eq!(drain(&mut pacer, at(0)), 1);
        assert_eq!(drain(&mut pacer, at(14)), 1);
        // The second was due at 10 ms, not 14, so the third is due at 20.
        assert_eq!(pacer.next_departure(at(14)), at(20));
    }

    #[test]
    fn before_any_round_trip_time_lateness_does_not_add_up() {
        let slow = Rate::from_bytes_per_sec(1_000.0);
        let mut pacer = Pacer::new(RTT, slow, None);
        pacer.handle_sent(at(0), SIZE);
        pacer.handle_sent(at(1_003), SIZE);
        assert_eq!(pacer.next_departure(at(1_003)), at(2_000));
        // A minute of silence adds no packet.
        pacer.handle_sent(at(60_000), SIZE);
        assert_eq!(pacer.next_departure(at(60_000)), at(60_990));
    }

    #[test]
    fn an_idle_sender_bursts_no_more_than_its_credit() {
        let mut pacer = paced(RTT);
        drain(&mut pacer, at(0));
        // The count is a round trip of credit and the packet that is due now.
        assert_eq!(drain(&mut pacer, at(60_000)), 11);
        let mut pacer = paced(Duration::from_millis(20));
        drain(&mut pacer, at(0));
        assert_eq!(drain(&mut pacer, at(60_000)), 3);
    }

    #[test]
    fn no_credit_exceeds_a_round_trip() {
        let mut pacer = paced(Duration::from_secs(10));
        drain(&mut pacer, at(0));
        assert_eq!(drain(&mut pacer, at(60_000)), 11);
    }

    #[test]
    fn a_new_rate_moves_a_departure_that_is_waited_for() {
        let slow = Rate::from_bytes_per_sec(1_000.0 / 64.0);
        let mut pacer = Pacer::new(RTT, slow, Some(RTT));
        pacer.handle_sent(at(0), SIZE);
        assert_eq!(pacer.next_departure(at(1)), at(64_000));
        pacer.set_rate(RATE, Some(RTT));
        assert_eq!(pacer.next_departure(at(1)), at(10));
    }

    #[test]
    fn permission_is_used_up_by_a_paced_sender_and_not_by_one_with_credit_left() {
        let mut pacer = paced(Duration::from_millis(10));
        assert!(pacer.handle_sent(at(0), SIZE));
        assert!(pacer.handle_sent(at(10), SIZE));
        // After 70 ms of idle time the burst bound lets two packets leave; the standard would let eight.
        assert!(!pacer.handle_sent(at(90), SIZE));
        assert!(!pacer.handle_sent(at(90), SIZE));
        assert!(pacer.next_departure(at(90)) > at(90));
    }

    #[test]
    fn a_round_trip_without_a_pause_uses_up_the_permission_that_a_pause_left() {
        let mut pacer = paced(Duration::from_millis(10));
        pacer.handle_sent(at(0), SIZE);
        let used_up = (500..700).filter(|ms| {
            pacer.next_departure(at(*ms)) <= at(*ms) && pacer.handle_sent(at(*ms), SIZE)
        });
        assert_eq!(used_up.min(), Some(610));
    }

    #[test]
    fn a_packet_of_another_size_waits_for_the_one_before_and_no_longer() {
        let mut pacer = paced(RTT);
        pacer.handle_sent(at(0), SIZE);
        pacer.handle_sent(at(10), Bytes::new(500));
        assert_eq!(pacer.next_departure(at(10)), at(15));
        pacer.handle_sent(at(15), SIZE);
        assert_eq!(pacer.next_departure(at(15)), at(25));
    }

    proptest! {
        /// Over any time the departures stay within the rate plus one round trip of credit.
        #[test]
        fn the_rate_is_never_exceeded_by_more_than_the_credit(steps in prop::collection::vec(0u64..300_000, 1..300)) {
            let mut pacer = paced(RTT);
            let (mut now, mut sent) = (Instant::ZERO, 0);
            for step in steps {
                now += Duration::from_micros(step);
                sent += drain(&mut pacer, now);
                prop_assert!(f64::from(sent) <= now.as_secs_f64() * 100.0 + 11.0 + 1e-6);
            }
        }
    }
}
