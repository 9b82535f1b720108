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

/// What a flow sent while its stated rate alone held it back: less than that rate if its host was late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateLimited {
    /// For how long.
    pub time: Duration,
    /// How much, with the headers of RTP.
    pub bytes: Bytes,
}

/// Holds a flow to a rate.
#[derive(Debug)]
pub(crate) struct Limit {
    mean: Pacer,
    /// Faster, and with credit for no more than a burst.
    bursts: Pacer,
    /// What the faster one takes to a burst.
    refill: Duration,
    held: RateLimited,
    /// When the last burst began, and how much it was.
    burst: Option<(Instant, Bytes)>,
    /// Since it, a departure was waited for: for this rate alone?
    waits_for_us: Option<bool>,
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
            refill: terms.burst / CATCH_UP,
            held: RateLimited::default(),
            burst: None,
            waits_for_us: None,
        }
    }

    /// The earliest departure of the next packet; not later than `now` means at once.
    pub(crate) fn next_departure(&self, now: Instant) -> Instant {
        let mean = self.mean.next_departure(now);
        mean.max(self.bursts.next_departure(now))
    }

    /// How long the next burst may be put off: no longer than until it can be a full one, where some of the rate was
    /// missed.
    pub(crate) fn patience(&self, now: Instant) -> Duration {
        if self.mean.next_departure(now) <= now {
            self.refill
        } else {
            Duration::MAX
        }
    }

    /// Notes that the next departure has to be waited for, for the sake of this rate or of something else: a wait
    /// that was once for something else is not ours.
    pub(crate) fn handle_wait(&mut self, for_us: bool) {
        self.waits_for_us = Some(for_us && self.waits_for_us.unwrap_or(true));
    }

    /// What left while this rate alone held the flow back, from burst to burst.
    pub(crate) fn held(&self) -> RateLimited {
        self.held
    }

    /// Notes a departure.
    pub(crate) fn handle_sent(&mut self, now: Instant, size: Bytes) {
        if let (Some(for_us), Some((began, bytes))) = (self.waits_for_us, self.burst)
            && for_us
        {
            self.held.time += now.saturating_since(began);
            self.held.bytes += bytes;
        }
        if self.waits_for_us.take().is_some() || self.burst.is_none() {
            self.burst = Some((now, Bytes::ZERO));
        }
        if let Some((_, bytes)) = &mut self.burst {
            *bytes += size;
        }
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
            let gather = now + terms.gather().min(limit.patience(now));
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
            // As late as a burst leaves room for each time.
            _ => Duration::from_micros(100),
        };
        // Between two of the long ones.
        let time = Duration::from_millis(1_200);
        let high = Rate::from_bits_per_sec(885e6);
        let (largest, all) = sent(high, 1_448, time, late);
        // 250 us at 13.09 us a packet.
        assert_eq!(largest, 19);
        let asked = 885e6 / 8.0 / 1_448.0 * time.as_secs_f64();
        assert!(
            (f64::from(all) / asked - 1.0).abs() < 1e-3,
            "{all} of {asked}"
        );
    }

    /// What is known to have left at 8 Mb/s in a second, of packets of 1,000 bytes, by a host that sleeps for so much
    /// longer than it should and is held back by something else in every burst that `others` names.
    fn held(late: Duration, others: impl Fn(u32) -> bool) -> (f64, f64) {
        let rate = Rate::from_bits_per_sec(8e6);
        let terms = Terms {
            rate: Some(rate),
            length: 1_000,
            ..terms()
        };
        let mut limit = Limit::new(rate, &terms);
        let mut now = Instant::ZERO;
        for burst in 0.. {
            while limit.next_departure(now) <= now {
                limit.handle_sent(now, Bytes::new(1_000));
            }
            limit.handle_wait(!others(burst));
            now = limit.next_departure(now) + late;
            if now >= Instant::from_secs(1) {
                break;
            }
        }
        let held = limit.held();
        let time = held.time.as_secs_f64();
        (time, held.bytes.as_f64() / time)
    }

    #[test]
    fn a_host_that_is_late_shows_in_what_left_while_the_rate_alone_held_it_back() {
        let never = |_| false;
        let (time, bytes) = held(Duration::ZERO, never);
        assert!(
            time > 0.99 && (bytes / 1e6 - 1.0).abs() < 1e-6,
            "{time} {bytes}"
        );
        // One packet for each half of a millisecond, at twice the rate, and two more.
        let (time, bytes) = held(Duration::from_millis(2), never);
        assert!(
            time > 0.99 && (bytes / 1e6 - 0.4).abs() < 0.01,
            "{time} {bytes}"
        );
        // Of half of the bursts nothing can be said.
        let (time, bytes) = held(Duration::ZERO, |burst| burst % 2 == 0);
        assert!((0.45..0.55).contains(&time), "{time}");
        assert!((bytes / 1e6 - 1.0).abs() < 1e-6, "{bytes}");
    }

    #[test]
    fn a_wait_that_was_once_for_something_else_is_not_counted() {
        let rate = Rate::from_bits_per_sec(8e6);
        let terms = Terms {
            rate: Some(rate),
            ..terms()
        };
        let mut limit = Limit::new(rate, &terms);
        limit.handle_sent(Instant::ZERO, Bytes::new(1_000));
        for for_us in [true, false, true] {
            limit.handle_wait(for_us);
        }
        limit.handle_sent(Instant::from_millis(5), Bytes::new(1_000));
        assert_eq!(limit.held(), RateLimited::default());
    }

    #[test]
    fn one_packet_may_always_leave() {
        let rate = Rate::from_bits_per_sec(1e6);
        let pause = |burst| Duration::from_millis(8) * u32::from(burst == 10);
        let (largest, all) = sent(rate, 1_400, Duration::from_secs(1), pause);
        assert_eq!((largest, all), (1, 90));
    }
}
