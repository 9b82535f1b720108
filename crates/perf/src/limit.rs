//! A stated rate: kept in the mean by a host that is late, and without long bursts.

use tfrc::pacer::Pacer;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::terms::Terms;

/// How far a flow catches up: a host may be as late as the thesis measured (§4.1.2), and the rate is still what
/// was asked for.
const CREDIT: Duration = Duration::from_millis(10);
/// What was missed is sent at so many times the rate: at once would be a burst as long as the host was late.
const CATCH_UP: u32 = 2;

/// Holds a flow to a rate.
#[derive(Debug)]
pub(crate) struct Limit {
    mean: Pacer,
    /// Faster, and with credit for no more than a burst.
    bursts: Pacer,
}

impl Limit {
    /// At most so much, in bursts of at most [`Terms::burst`] of data, or one packet.
    pub(crate) fn new(rate: Rate, terms: &Terms) -> Self {
        let pacer = |credit, rate| Pacer::new(credit, rate, Some(credit));
        // Beside the packets that credit pays for, one is always due.
        let burst = terms.burst.saturating_sub(terms.spacing()) / CATCH_UP;
        Self {
            mean: pacer(CREDIT.max(terms.spacing()), rate),
            bursts: pacer(burst, rate * f64::from(CATCH_UP)),
        }
    }

    /// The earliest departure of the next packet; not later than `now` means at once.
    pub(crate) fn next_departure(&self, now: Instant) -> Instant {
        let mean = self.mean.next_departure(now);
        mean.max(self.bursts.next_departure(now))
    }

    /// Notes a departure.
    pub(crate) fn handle_sent(&mut self, now: Instant, size: Bytes) {
        self.mean.handle_sent(now, size);
        self.bursts.handle_sent(now, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::tests::terms;

    /// How many packets leave at most at once, and in all: from a host that sleeps for as long as it likes
    /// between two bursts, `pause` says how much longer at the burst of that number.
    fn sent(
        rate: Rate,
        length: u16,
        time: Duration,
        pause: impl Fn(u32) -> Duration,
    ) -> (u32, u32) {
        let terms = Terms {
            rate: Some(rate),
            length,
            ..terms()
        };
        let mut limit = Limit::new(rate, &terms);
        let (mut now, end) = (Instant::ZERO, Instant::ZERO + time);
        let (mut largest, mut all) = (0, 0);
        for burst in 0.. {
            let mut packets = 0;
            while limit.next_departure(now) <= now {
                limit.handle_sent(now, Bytes::new(length.into()));
                packets += 1;
            }
            (largest, all) = (largest.max(packets), all + packets);
            let gather = now + terms.gather();
            now = limit.next_departure(now).max(gather) + pause(burst);
            if now >= end {
                break;
            }
        }
        (largest, all)
    }

    #[test]
    fn a_host_that_was_late_keeps_the_rate_and_the_bound_of_a_burst() {
        let late = |burst| match burst % 1_000 {
            0 => Duration::from_millis(8),
            // As late as half a burst each time.
            _ => Duration::from_micros(90),
        };
        let second = Duration::from_secs(1);
        let high = Rate::from_bits_per_sec(885e6);
        let (largest, all) = sent(high, 1_448, second, late);
        // 250 us at 13.09 us a packet.
        assert_eq!(largest, 19);
        let asked = 885e6 / 8.0 / 1_448.0;
        assert!(
            (f64::from(all) / asked - 1.0).abs() < 1e-3,
            "{all} of {asked}"
        );
    }

    #[test]
    fn one_packet_may_always_leave() {
        let rate = Rate::from_bits_per_sec(1e6);
        let pause = |burst| Duration::from_millis(8) * u32::from(burst == 10);
        let (largest, all) = sent(rate, 1_400, Duration::from_secs(1), pause);
        assert_eq!((largest, all), (1, 90));
    }
}
