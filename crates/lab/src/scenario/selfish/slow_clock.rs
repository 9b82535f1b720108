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
const MOST: u32 = 400;

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
        let Some((date, told)) = self.newest else {
            (self.newest, self.last) = (Some((now, now)), now);
            return (now, Vec::new());
        };
        let since = now.saturating_since(told);
        let hidden = now.saturating_since(self.last) * (SPEED - 1) / SPEED;
        self.last = now;
        let wanted = hidden.as_secs_f64() / (since / DRIFT).as_secs_f64();
        let mut dates = vec![date - BEFORE; (wanted as usize).min(MOST as usize)];
        if since >= NEWEST_EVERY {
            let newest = date + since / SPEED;
            self.newest = Some((newest, now));
            dates.push(newest);
        }
        (date - BEFORE, dates)
    }
}
