//! The receiver's clock, as far as the sender believes it.

use core::time::Duration;

use crate::time::{Instant, Nanos};

/// The receiver's clock may seem to run ahead or behind by this between two reports, because reports wait on their path. Beyond it,
/// the clock was set.
const TOLERANCE: Duration = Duration::from_secs(1);

/// A clock may gain or lose one part in this number: 500 ppm.
const DRIFT_DIVISOR: u32 = 2_000;

/// Places the receiver's times on one time line, which no clock, set or invented, shifts by more than [`TOLERANCE`] a report. The
/// zero of the time line is near the sender's: the first report counts as made when it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerClock {
    /// The difference of the time line and the receiver's clock, nanoseconds modulo 2^64.
    shift: u64,
    /// The difference of the sender's clock and the time line, nanoseconds: drift, and transit back beyond the first
    /// report's.
    offset: i64,
    /// When the newest report was made, on the time line, and when it arrived.
    newest: Option<(Instant, Instant)>,
    /// When the last report arrived, which need not be the newest.
    followed: Option<Instant>,
}

impl PeerClock {
    /// Returns when a report, made at `made_at` and received at `now`, was made on the time line. Returns `None` if a much later
    /// report has just arrived, or if the report was made before the remembered packets left: its 16 bits may mean other
    /// packets. A clock that was set back is followed after a second without accepted reports.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        made_at: Instant,
        remembered: Nanos,
    ) -> Option<Instant> {
        let made = self.place(made_at);
        let expected = self
            .newest
            .map_or(now, |(made, came)| made + now.nanos_since(came));
        let (ahead, behind) = (made.nanos_since(expected), expected.nanos_since(made));
        let tolerance = Nanos::from(TOLERANCE);
        let is_set = self.newest.is_none() || ahead.max(behind) > tolerance;
        let is_late = |(newest, came)| {
            let is_old = behind > remembered || is_set && made < newest;
            is_old && now.nanos_since(came) <= tolerance
        };
        if self.newest.is_some_and(is_late) {
            return None;
        }
        let made = if is_set {
            self.shift = expected.as_nanos().wrapping_sub(made_at.as_nanos());
            expected
        } else {
            made
        };
        self.follow(now, made);
        if self.newest.is_none_or(|(newest, _)| newest <= made) {
            self.newest = Some((made, now));
        }
        Some(made)
    }

    /// Adjusts the offset to a report that was made at `made` on the time line, forward by the drift of clocks at most. A report
    /// that arrives sooner than the others shows how long these waited.
    fn follow(&mut self, now: Instant, made: Instant) {
        let last = self.followed.replace(now);
        let most = last.map_or(Nanos::ZERO, |last| now.nanos_since(last)) / DRIFT_DIVISOR.into();
        let ours = now.min(self.to_local(made) + most);
        self.offset = ours.as_nanos().wrapping_sub(made.as_nanos()).cast_signed();
    }

    /// Converts a time of the receiver to the time line.
    #[inline]
    pub(crate) const fn place(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().wrapping_add(self.shift))
    }

    /// Converts a time on the time line to the sender's clock, on which reports usually arrive when they are made.
    #[inline]
    pub(crate) const fn to_local(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(self.offset))
    }

    /// Reverses [`PeerClock::to_local`].
    #[inline]
    pub(crate) const fn to_peer(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(-self.offset))
    }

    /// Returns the time since `at` on the time line: until the newest report was made, and since its arrival. The receiver
    /// decides which report is the newest, so the result is not verified.
    pub(crate) fn age(&self, at: Instant, now: Instant) -> Duration {
        self.newest.map_or(Duration::ZERO, |(made, came)| {
            made.saturating_since(at) + now.saturating_since(came)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With this memory no packet is forgotten.
    const EVER: Nanos = Nanos::MAX;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn clock_of_any_zero_runs_as_the_senders() {
        for zero in [at(0), at(1_000_000_000), Instant::MAX] {
            let mut clock = PeerClock::default();
            assert_eq!(clock.handle_report(at(500), zero, EVER), Some(at(500)));
            let later = Instant::from_nanos(zero.as_nanos().wrapping_add(100_000_000));
            assert_eq!(clock.handle_report(at(620), later, EVER), Some(at(600)));
            assert_eq!(clock.age(at(590), at(630)), ms(20));
        }
    }

    #[test]
    fn clock_that_is_set_runs_on_as_expected() {
        let mut clock = PeerClock::default();
        clock.handle_report(at(0), at(50_000), EVER);
        for set in [3_600_000, 7, 900_000] {
            let before = clock.newest.unwrap().0;
            let now = clock.newest.unwrap().1 + Duration::from_millis(100);
            assert_eq!(
                clock.handle_report(now, at(set), EVER),
                Some(before + Duration::from_millis(100))
            );
        }
    }

    #[test]
    fn offset_follows_drift_and_no_delayed_report() {
        let mut clock = PeerClock::default();
        // The clock loses 500 ppm.
        for report in 0..1_000 {
            let now = at(report * 100 + 30);
            let made = clock
                .handle_report(now, Instant::from_micros(report * 99_950), EVER)
                .unwrap();
            let late = now.saturating_since(clock.to_local(made));
            assert!(late < Duration::from_millis(1), "{report}: {late:?}");
            assert_eq!(clock.to_peer(clock.to_local(made)), made);
        }
        let (now, waited) = (at(100_030), ms(32));
        let made = clock
            .handle_report(now + waited, Instant::from_micros(1_000 * 99_950), EVER)
            .unwrap();
        let late = (now + waited).saturating_since(clock.to_local(made));
        assert!(late > ms(31) && late <= ms(32), "{late:?}");
    }

    #[test]
    fn offset_gains_at_most_drift_from_many_reports() {
        let mut clock = PeerClock::default();
        let began = clock.handle_report(at(0), at(50_000), EVER).unwrap();
        let mut newest = 50_000;
        for round in 1..=1_000 {
            // A clock at half its speed, and many reports of a date before the newest.
            if round % 8 == 0 {
                newest += 400;
                clock.handle_report(at(100 * round), at(newest), EVER);
            }
            for _ in 0..20 {
                clock.handle_report(at(100 * round), at(newest - 1), EVER);
            }
        }
        let gained = clock.to_local(began).saturating_since(began);
        assert!(gained <= ms(100_000) / DRIFT_DIVISOR, "{gained:?}");
    }

    #[test]
    fn sooner_report_shows_delay_of_earlier_ones() {
        let mut clock = PeerClock::default();
        let waited = clock.handle_report(at(150), at(1_000), EVER).unwrap();
        assert_eq!(clock.to_local(waited), at(150));
        let sooner = clock.handle_report(at(151), at(1_100), EVER).unwrap();
        assert_eq!(clock.to_local(sooner), at(151));
        assert_eq!(clock.to_local(waited), at(51));
    }

    #[test]
    fn overtaken_report_keeps_its_time() {
        let mut clock = PeerClock::default();
        clock.handle_report(at(0), at(0), EVER);
        clock.handle_report(at(200), at(200), EVER);
        assert_eq!(clock.handle_report(at(210), at(100), EVER), Some(at(100)));
        assert_eq!(clock.age(at(190), at(215)), ms(25));
    }

    #[test]
    fn late_reports_are_refused_and_set_back_followed() {
        let mut clock = PeerClock::default();
        for ms in (10_000..20_000).step_by(100) {
            assert!(clock.handle_report(at(ms), at(ms), EVER).is_some());
        }
        for late in (15_000..18_000).step_by(100) {
            assert_eq!(clock.handle_report(at(20_000), at(late), EVER), None);
        }
        assert_eq!(
            clock.handle_report(at(20_010), at(20_000), EVER),
            Some(at(20_000))
        );
        let set_back =
            |clock: &mut PeerClock, ms| clock.handle_report(at(ms), at(ms - 5_000), EVER);
        assert_eq!(set_back(&mut clock, 21_010), None);
        assert_eq!(set_back(&mut clock, 21_110), Some(at(21_100)));
        assert_eq!(set_back(&mut clock, 21_210), Some(at(21_200)));
    }

    #[test]
    fn report_older_than_memory_counts_after_a_pause() {
        let remembered = ms(100).into();
        let mut clock = PeerClock::default();
        clock.handle_report(at(10_000), at(10_000), remembered);
        let mut handle = |now, made| clock.handle_report(at(now), at(made), remembered);
        assert_eq!(handle(10_850, 9_950), None);
        assert_eq!(handle(10_850, 10_000), None);
        assert_eq!(handle(10_900, 10_800), Some(at(10_800)));
        // The clock was set back by 200 ms.
        assert_eq!(handle(11_000, 10_700), None);
        assert_eq!(handle(12_000, 11_700), Some(at(11_700)));
    }

    #[test]
    fn delayed_reports_keep_their_times() {
        let mut clock = PeerClock::default();
        clock.handle_report(at(0), at(50_000), EVER);
        for made in (50_100..53_000).step_by(100) {
            assert!(clock.handle_report(at(3_000), at(made), EVER).is_some());
        }
    }
}
