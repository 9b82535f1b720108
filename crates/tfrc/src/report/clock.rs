//! The receiver's clock, as far as it is believed.

use core::time::Duration;

use crate::time::{Instant, Nanos};

/// How far the receiver's clock may seem to run ahead of ours or behind between two reports: what
/// reports wait on their way. Beyond it, the clock was set.
const TOLERANCE: Duration = Duration::from_secs(1);

/// Reports from which the shortest way of a packet is learnt.
const LEARNING: u32 = 16;
/// A clock that gains or loses one part in so many is still a clock: 500 ppm.
const DRIFT: u64 = 2_000;

/// Places the receiver's times on one time line that neither a clock that is set nor one that is made up
/// can bend by more than [`TOLERANCE`] a report. Its zero is near ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// What is added to the receiver's times, modulo 2^64.
    shift: u64,
    /// When the newest report was made, on the time line, and when it came.
    newest: Option<(Instant, Instant)>,
    /// The shortest time that a packet seemed to take, how many reports told it, and when the first came.
    shortest: Option<Nanos>,
    reports: u32,
    began: Instant,
    /// What a packet takes at least, and how far the clock may have run behind since.
    least: Nanos,
    drift: Nanos,
}

impl Clock {
    /// A report that was made at `made_at` came at `now`; when it was made on the time line.
    pub(super) fn handle_report(&mut self, now: Instant, made_at: Instant) -> Instant {
        let made = self.place(made_at);
        let expected = self
            .newest
            .map_or(now, |(made, came)| made + now.saturating_since(came));
        let error = made
            .saturating_since(expected)
            .max(expected.saturating_since(made));
        let made = if self.newest.is_none() || error > TOLERANCE {
            self.shift = expected.as_nanos().wrapping_sub(made_at.as_nanos());
            expected
        } else {
            made
        };
        if self.newest.is_none_or(|(newest, _)| newest <= made) {
            self.newest = Some((made, now));
        }
        made
    }

    /// A time of the receiver's, on the time line.
    #[inline]
    pub(super) const fn place(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().wrapping_add(self.shift))
    }

    /// Lets the receiver's clock run as it likes, as long as no way is told.
    pub(super) fn trust(&mut self) {
        self.drift = Duration::MAX.into();
    }

    /// The last packet that a report told of seems to have taken this long.
    pub(super) fn handle_way(&mut self, now: Instant, sent_at: Instant, arrived: Instant) {
        if self.reports == 0 {
            self.began = now;
        }
        if self.reports < LEARNING {
            let way = arrived.nanos_since(sent_at);
            let shortest = self.shortest.map_or(way, |shortest| shortest.min(way));
            self.shortest = Some(shortest);
            self.least = shortest / 2;
            self.reports += 1;
        }
        self.drift = now.nanos_since(self.began) / DRIFT;
    }

    /// The earliest time on the time line at which a packet can have arrived that was sent at that time. A
    /// receiver whose clock runs late would else merge all losses into one event.
    #[inline]
    pub(super) fn earliest(&self, sent_at: Instant) -> Instant {
        sent_at + self.least - self.drift
    }

    /// What a packet takes at least, as far as the clock runs like ours.
    #[inline]
    pub(super) const fn least_way(&self) -> Nanos {
        self.least
    }

    /// When a packet arrived that was sent at that time and is said to have arrived at that one: not before it can have.
    #[inline]
    pub(super) fn believed(&self, sent_at: Instant, at: Instant) -> Instant {
        if at >= sent_at + self.least {
            return at;
        }
        at.max(self.earliest(sent_at))
    }

    /// How long ago a time on the time line was: until the newest report says that it was made, and since that came.
    /// The receiver's word decides which is the newest, so all of it is hearsay.
    pub(super) fn age(&self, at: Instant, now: Instant) -> Duration {
        self.newest.map_or(Duration::ZERO, |(made, came)| {
            made.saturating_since(at) + now.saturating_since(came)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_clock_of_any_zero_runs_as_ours() {
        for zero in [at(0), at(1_000_000_000), Instant::MAX] {
            let mut clock = Clock::default();
            assert_eq!(clock.handle_report(at(500), zero), at(500));
            let later = Instant::from_nanos(zero.as_nanos().wrapping_add(100_000_000));
            assert_eq!(clock.handle_report(at(620), later), at(600));
            assert_eq!(clock.age(at(590), at(630)), ms(20));
        }
    }

    #[test]
    fn a_clock_that_is_set_runs_on_where_it_was_expected() {
        let mut clock = Clock::default();
        clock.handle_report(at(0), at(50_000));
        for set in [3_600_000, 7, 900_000] {
            let before = clock.newest.unwrap().0;
            let now = clock.newest.unwrap().1 + Duration::from_millis(100);
            assert_eq!(
                clock.handle_report(now, at(set)),
                before + Duration::from_millis(100)
            );
        }
    }

    #[test]
    fn a_clock_that_slows_down_gains_half_a_way_and_what_clocks_drift() {
        let mut clock = Clock::default();
        for report in 0..100 {
            let now = at(report * 100);
            // It shows a tenth of the time that passes.
            let made = clock.handle_report(now + Duration::from_millis(30), at(report * 10));
            let arrived = made.max(clock.earliest(now));
            clock.handle_way(now, now, arrived);
        }
        let behind = at(9_900).saturating_since(clock.earliest(at(9_900)));
        assert_eq!(behind, Duration::from_micros(4_950));
    }

    #[test]
    fn a_report_that_was_overtaken_keeps_its_time() {
        let mut clock = Clock::default();
        clock.handle_report(at(0), at(0));
        clock.handle_report(at(200), at(200));
        assert_eq!(clock.handle_report(at(210), at(100)), at(100));
        assert_eq!(clock.age(at(190), at(215)), ms(25));
    }
}
