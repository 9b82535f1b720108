//! The receiver's clock, as far as it is believed.

use core::time::Duration;

use crate::time::{Instant, Nanos};

/// How far the receiver's clock may seem to run ahead of ours or behind between two reports: what
/// reports wait on their way. Beyond it, the clock was set.
const TOLERANCE: Duration = Duration::from_secs(1);

/// A clock that gains or loses one part in so many is still a clock: 500 ppm.
const DRIFT: u32 = 2_000;

/// Places the receiver's times on one time line that neither a clock that is set nor one that is made up
/// can bend by more than [`TOLERANCE`] a report. Its zero is near ours: the first report comes when it was made.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerClock {
    /// What is added to the receiver's times, modulo 2^64.
    shift: u64,
    /// How far ours is ahead of the time line, nanoseconds: what clocks drift, and what ways back take beyond
    /// the first.
    offset: i64,
    /// When the newest report was made, on the time line, and when it came.
    newest: Option<(Instant, Instant)>,
    /// When the last report came, which need not be the newest.
    followed: Option<Instant>,
}

impl PeerClock {
    /// A report that was made at `made_at` came at `now`; when it was made on the time line. `None` if another just came
    /// that was made long after it, or if it was made before the packets left that are remembered: 16 bits may mean other
    /// packets by now. A clock that was set back is followed when none has come for a second.
    pub(super) fn handle_report(
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

    /// Lets ours follow a report that was made at `made` on the time line, forward by no more than clocks drift: what is
    /// counted is on that line, which would else bend with it. One that came sooner than those before shows what they
    /// waited.
    fn follow(&mut self, now: Instant, made: Instant) {
        let last = self.followed.replace(now);
        let most = last.map_or(Nanos::ZERO, |last| now.nanos_since(last)) / DRIFT.into();
        let ours = now.min(self.to_local(made) + most);
        self.offset = ours.as_nanos().wrapping_sub(made.as_nanos()).cast_signed();
    }

    /// A time of the receiver's, on the time line.
    #[inline]
    pub(super) const fn place(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().wrapping_add(self.shift))
    }

    /// A time on the time line, on one where reports come when they are made, as a rule.
    #[inline]
    pub(super) const fn to_local(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(self.offset))
    }

    /// What [`PeerClock::to_local`] makes this of.
    #[inline]
    pub(super) const fn to_peer(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(-self.offset))
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

    /// No packet is forgotten.
    const EVER: Nanos = Nanos::MAX;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_clock_of_any_zero_runs_as_ours() {
        for zero in [at(0), at(1_000_000_000), Instant::MAX] {
            let mut clock = PeerClock::default();
            assert_eq!(clock.handle_report(at(500), zero, EVER), Some(at(500)));
            let later = Instant::from_nanos(zero.as_nanos().wrapping_add(100_000_000));
            assert_eq!(clock.handle_report(at(620), later, EVER), Some(at(600)));
            assert_eq!(clock.age(at(590), at(630)), ms(20));
        }
    }

    #[test]
    fn a_clock_that_is_set_runs_on_where_it_was_expected() {
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
    fn ours_follows_a_clock_that_drifts_and_no_report_that_waits() {
        let mut clock = PeerClock::default();
        // It loses 500 ppm.
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
    fn ours_gains_no_more_than_clocks_drift_from_any_number_of_reports() {
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
        assert!(gained <= ms(100_000) / DRIFT, "{gained:?}");
    }

    #[test]
    fn a_report_that_comes_sooner_shows_what_those_before_it_waited() {
        let mut clock = PeerClock::default();
        let waited = clock.handle_report(at(150), at(1_000), EVER).unwrap();
        assert_eq!(clock.to_local(waited), at(150));
        let sooner = clock.handle_report(at(151), at(1_100), EVER).unwrap();
        assert_eq!(clock.to_local(sooner), at(151));
        assert_eq!(clock.to_local(waited), at(51));
    }

    #[test]
    fn a_report_that_was_overtaken_keeps_its_time() {
        let mut clock = PeerClock::default();
        clock.handle_report(at(0), at(0), EVER);
        clock.handle_report(at(200), at(200), EVER);
        assert_eq!(clock.handle_report(at(210), at(100), EVER), Some(at(100)));
        assert_eq!(clock.age(at(190), at(215)), ms(25));
    }

    #[test]
    fn reports_that_are_late_tell_nothing_and_a_clock_that_is_set_back_is_followed_after_a_second()
    {
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
    fn a_report_that_is_older_than_what_is_remembered_tells_nothing_unless_nothing_else_comes() {
        let remembered = ms(100).into();
        let mut clock = PeerClock::default();
        clock.handle_report(at(10_000), at(10_000), remembered);
        let mut handle = |now, made| clock.handle_report(at(now), at(made), remembered);
        assert_eq!(handle(10_850, 9_950), None);
        assert_eq!(handle(10_850, 10_000), None);
        assert_eq!(handle(10_900, 10_800), Some(at(10_800)));
        // Set back by 200 ms.
        assert_eq!(handle(11_000, 10_700), None);
        assert_eq!(handle(12_000, 11_700), Some(at(11_700)));
    }

    #[test]
    fn reports_that_were_all_held_up_tell_their_time() {
        let mut clock = PeerClock::default();
        clock.handle_report(at(0), at(50_000), EVER);
        for made in (50_100..53_000).step_by(100) {
            assert!(clock.handle_report(at(3_000), at(made), EVER).is_some());
        }
    }
}
