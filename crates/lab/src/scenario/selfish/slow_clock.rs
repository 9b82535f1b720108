//! A clock that loses most of its time, and as many reports as it takes to have a sender follow it.

use std::time::Duration;

use tfrc::time::Instant;

/// It shows one part in so many of the time that passes.
const SPEED: u32 = 10;
/// Reports of the newest date are that far apart: a date further off than clocks may jump would be taken for one that
/// was set.
const NEWEST_EVERY: Duration = Duration::from_millis(850);
/// Others are dated before the newest by this.
const BEFORE: Duration = Duration::from_millis(1);
/// A sender may take so much of the time since the newest report for drift, with each report.
const DRIFT: u32 = 2_000;
/// Reports at once at most: what a tenth of a second of a way back of 4 Mb/s carries.
const MAX_REPORTS_AT_ONCE: u32 = 400;

/// What it shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlowClock {
    /// The newest date, and when it was told.
    newest: Option<(Instant, Instant)>,
    /// When dates were asked for last.
    last: Instant,
}

impl SlowClock {
    /// The dates of reports without news that follow one that tells what came, and that one's own.
    pub(super) fn dates(&mut self, now: Instant) -> (Instant, Vec<Instant>) {
        let Some((date, reported)) = self.newest else {
            (self.newest, self.last) = (Some((now, now)), now);
            return (now, Vec::new());
        };
        let since = now.saturating_since(reported);
        let hidden = now.saturating_since(self.last) * (SPEED - 1) / SPEED;
        self.last = now;
        let wanted = hidden.as_secs_f64() / (since / DRIFT).as_secs_f64();
        let mut dates = vec![date - BEFORE; (wanted as usize).min(MAX_REPORTS_AT_ONCE as usize)];
        if since >= NEWEST_EVERY {
            let newest = date + since / SPEED;
            self.newest = Some((newest, now));
            dates.push(newest);
        }
        (date - BEFORE, dates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asked every 50 ms for ten seconds: each date with when it was told.
    fn reported() -> Vec<(Instant, Instant, usize)> {
        let mut clock = SlowClock::default();
        let start = Instant::from_secs(100);
        let asked = (0..200).map(|time| start + Duration::from_millis(50) * time);
        asked
            .map(|now| {
                let (date, dates) = clock.dates(now);
                assert!(dates.len() <= MAX_REPORTS_AT_ONCE as usize + 1);
                let newest = dates.iter().fold(date, |newest, date| newest.max(*date));
                (now, newest, dates.len())
            })
            .collect()
    }

    #[test]
    fn its_newest_dates_pass_at_a_tenth_of_the_speed() {
        let reported = reported();
        let (began, first, _) = reported[0];
        let newest = reported.iter().map(|(_, newest, _)| *newest).max().unwrap();
        let ended = reported[reported.len() - 1].0;
        let shown = newest.saturating_since(first).as_secs_f64();
        let passed = ended.saturating_since(began).as_secs_f64();
        // The last date is up to 850 ms old.
        let speed = shown / (passed - 0.5);
        assert!((speed - 0.1).abs() < 0.01, "{speed}");
    }

    /// What a sender without a bound granted each report, 1/2,000 of the time since the newest, is then what the clock
    /// hides.
    #[test]
    fn it_repeats_itself_as_often_as_hides_what_it_loses() {
        let mut newest = None;
        let (mut granted, mut asked) = (Duration::ZERO, 0);
        for (now, date, count) in reported() {
            if let Some((before, reported)) = newest
                && date <= before
            {
                granted += now.saturating_since(reported) / DRIFT * count as u32;
                asked += u32::from(count < MAX_REPORTS_AT_ONCE as usize);
            }
            if newest.is_none_or(|(before, _)| date > before) {
                newest = Some((date, now));
            }
        }
        // 45 of each 50 ms, where they are not too many for one time.
        assert!(asked > 100, "{asked}");
        let hidden = granted.as_secs_f64();
        assert!((5.0..9.0).contains(&hidden), "{hidden}");
    }
}
