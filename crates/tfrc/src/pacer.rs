//! When the next packet may leave (RFC 5348 §4.6).

use core::time::Duration;

use crate::time::Instant;
use crate::units::{Bytes, Rate};

/// Turns the rate into departure times.
///
/// It keeps the nominal time of the last packet and computes the next from the *present* rate, so a
/// change of rate moves a departure that is already waited for. Time that was not used is credit: a
/// sender that woke late catches up, one that had nothing to send may burst, both within a bound.
///
/// Two bounds apply. `burst` is how far a burst may go, at most one round trip (RFC 5348 §4.6: MUST).
/// The full round trip is kept beside it, because a sender is data-limited as long as the *permission*
/// of the standard is not used up, whatever we restrict ourselves to. Yet what `burst` took away cannot
/// be used up any more: after a round trip in which every packet left when it was due it is forgotten,
/// or one pause would leave a busy sender data-limited for ever.
#[derive(Clone, Debug)]
pub struct Pacer {
    burst: Duration,
    last: Option<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    size: Bytes,
    /// Nominal departure with at most `burst` of credit.
    nominal: Instant,
    /// Nominal departure with a round trip of credit.
    entitled: Instant,
    /// When `burst` last took credit away.
    forfeited: Instant,
}

impl Pacer {
    /// A pacer that has sent nothing; `burst` bounds the credit below one round trip.
    pub const fn new(burst: Duration) -> Self {
        Self { burst, last: None }
    }

    /// The earliest departure of the next packet at this rate; not later than `now` means at once.
    pub fn next_departure(&self, now: Instant, rate: Rate) -> Instant {
        self.last
            .map_or(now, |last| last.nominal + last.size / rate)
    }

    /// Notes a departure. True if it used up all that the standard permits: the sender is then not
    /// data-limited at this instant (RFC 5348 §8.2.1).
    pub fn handle_sent(
        &mut self,
        now: Instant,
        size: Bytes,
        rate: Rate,
        rtt: Option<Duration>,
    ) -> bool {
        let round_trip = rtt.unwrap_or(Duration::ZERO);
        let (nominal, entitled, forfeited) = match self.last {
            None => (now, now, now),
            Some(last) => {
                let spacing = last.size / rate;
                let due = last.nominal + spacing;
                let nominal = due.max(now - self.burst.min(round_trip));
                let forfeited = if nominal > due { now } else { last.forfeited };
                let entitled = if now - forfeited > round_trip {
                    nominal
                } else {
                    (last.entitled + spacing).max(now - round_trip)
                };
                (nominal, entitled, forfeited)
            }
        };
        self.last = Some(Sent {
            size,
            nominal,
            entitled,
            forfeited,
        });
        entitled + size / rate > now
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

    /// Sends all that may leave at `now`, and counts it.
    fn drain(pacer: &mut Pacer, now: Instant) -> u32 {
        let mut sent = 0;
        while pacer.next_departure(now, RATE) <= now {
            pacer.handle_sent(now, SIZE, RATE, Some(RTT));
            sent += 1;
        }
        sent
    }

    #[test]
    fn packets_leave_at_the_rate() {
        let mut pacer = Pacer::new(RTT);
        let sent: Vec<u32> = (0..40).map(|i| drain(&mut pacer, at(i * 5))).collect();
        assert!(sent.chunks(2).all(|pair| pair == [1, 0]), "{sent:?}");
    }

    #[test]
    fn a_late_wake_up_is_caught_up_with() {
        let mut pacer = Pacer::new(Duration::from_millis(20));
        assert_eq!(drain(&mut pacer, at(0)), 1);
        assert_eq!(drain(&mut pacer, at(14)), 1);
        // Nominal is 10 ms, not 14: the third is due at 20.
        assert_eq!(pacer.next_departure(at(14), RATE), at(20));
    }

    #[test]
    fn an_idle_sender_bursts_no_more_than_its_credit() {
        let mut pacer = Pacer::new(RTT);
        drain(&mut pacer, at(0));
        // A round trip of credit and the packet that is due now.
        assert_eq!(drain(&mut pacer, at(60_000)), 11);
        let mut pacer = Pacer::new(Duration::from_millis(20));
        drain(&mut pacer, at(0));
        assert_eq!(drain(&mut pacer, at(60_000)), 3);
    }

    #[test]
    fn a_new_rate_moves_a_departure_that_is_waited_for() {
        let mut pacer = Pacer::new(RTT);
        let slow = Rate::from_bytes_per_sec(1_000.0 / 64.0);
        pacer.handle_sent(at(0), SIZE, slow, Some(RTT));
        assert_eq!(pacer.next_departure(at(1), slow), at(64_000));
        assert_eq!(pacer.next_departure(at(1), RATE), at(10));
    }

    #[test]
    fn permission_is_used_up_by_a_paced_sender_and_not_by_one_with_credit_left() {
        let mut pacer = Pacer::new(Duration::from_millis(10));
        assert!(pacer.handle_sent(at(0), SIZE, RATE, Some(RTT)));
        assert!(pacer.handle_sent(at(10), SIZE, RATE, Some(RTT)));
        // 70 ms idle: the burst bound lets two leave, the standard would let eight.
        assert!(!pacer.handle_sent(at(90), SIZE, RATE, Some(RTT)));
        assert!(!pacer.handle_sent(at(90), SIZE, RATE, Some(RTT)));
        assert!(pacer.next_departure(at(90), RATE) > at(90));
    }

    #[test]
    fn a_round_trip_without_a_pause_uses_up_the_permission_that_a_pause_left() {
        let mut pacer = Pacer::new(Duration::from_millis(10));
        pacer.handle_sent(at(0), SIZE, RATE, Some(RTT));
        let used_up = (500..700).filter(|ms| {
            pacer.next_departure(at(*ms), RATE) <= at(*ms)
                && pacer.handle_sent(at(*ms), SIZE, RATE, Some(RTT))
        });
        assert_eq!(used_up.min(), Some(610));
    }

    proptest! {
        /// Over any time, no more leaves than the rate allows and one round trip of credit.
        #[test]
        fn the_rate_is_never_exceeded_by_more_than_the_credit(steps in prop::collection::vec(0u64..300_000, 1..300)) {
            let mut pacer = Pacer::new(RTT);
            let (mut now, mut sent) = (Instant::ZERO, 0);
            for step in steps {
                now += Duration::from_micros(step);
                sent += drain(&mut pacer, now);
                prop_assert!(f64::from(sent) <= now.as_secs_f64() * 100.0 + 11.0 + 1e-6);
            }
        }
    }
}
