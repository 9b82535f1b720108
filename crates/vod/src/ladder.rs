//! Which rendition to send: down before the player's buffer runs empty, up when the path has carried more for
//! long enough.

use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// A server may lag by this time, which is half of what a player usually buffers.
const MAX_LAG: Duration = Duration::from_secs(1);
/// A change waits for the next entry, half of this on average; the lag is foreseen this many seconds ahead.
const FORESIGHT_S: f64 = 2.0;
/// The ladder falls to a rendition of at most this share of the allowed rate, so that the rest catches up.
const FALL_FRACTION: f64 = 0.9;
/// The ladder climbs if the allowed rate is this multiple of the next rate: what a sender with less to send is
/// allowed may be what the path carried long ago.
const CLIMB_FACTOR: f64 = 1.2;
/// A sender that has no more to send is allowed twice what arrives at most (RFC 5348 §4.3): nearly as much shows
/// that the path may carry the next one, and only a trial can prove it.
const TRIAL_FACTOR: f64 = 1.8;
/// The allowed rate must have had room for this time before the first fall.
const CLIMB_TIME: Duration = Duration::from_secs(2);
/// The same after a fall. The time doubles with each further fall, up to the longest, until a climb has held for the longest
/// time.
const CLIMB_TIME_AFTER_FALL: Duration = Duration::from_secs(10);
const MAX_CLIMB_TIME: Duration = Duration::from_secs(160);

/// The choice among renditions, from the allowed rate and from how late the server is.
#[derive(Clone, Debug)]
pub struct Ladder {
    rates: Vec<Rate>,
    wanted: usize,
    /// Since when the allowed rate has had room for the next higher one.
    room_since: Option<Instant>,
    /// For how long there must have been.
    calm: Duration,
    climbed: Instant,
}

impl Ladder {
    /// A choice among these rates, the lowest first, which begins with that one.
    pub fn new(rates: &[Rate]) -> Self {
        Self {
            rates: rates.to_vec(),
            wanted: 0,
            room_since: None,
            calm: CLIMB_TIME,
            climbed: Instant::ZERO,
        }
    }

    /// The rendition to send, by its place among the rates.
    ///
    /// `allowed` is the rate that TFRC allows, of which headers are no part; `lag` for how long the next
    /// datagram has been due.
    pub fn choose(&mut self, now: Instant, allowed: Rate, lag: Duration) -> usize {
        let Some(&present) = self.rates.get(self.wanted) else {
            return 0;
        };
        let grows = FORESIGHT_S * (present / allowed - 1.0).max(0.0);
        if lag.as_secs_f64() + grows > MAX_LAG.as_secs_f64()
            && present.bytes_per_sec() > allowed.bytes_per_sec()
        {
            let lower = self
                .highest_within(allowed * FALL_FRACTION)
                .min(self.wanted);
            if lower < self.wanted {
                let held = now.saturating_since(self.climbed) >= MAX_CLIMB_TIME;
                let longer = if held {
                    CLIMB_TIME_AFTER_FALL
                } else {
                    2 * self.calm
                };
                self.calm = longer.clamp(CLIMB_TIME_AFTER_FALL, MAX_CLIMB_TIME);
            }
            self.wanted = lower;
            self.room_since = None;
            return self.wanted;
        }
        let next = (self.wanted + 1).min(self.rates.len() - 1);
        let is_carried = allowed / self.rates[next] >= CLIMB_FACTOR;
        let has_room = is_carried || allowed / present >= TRIAL_FACTOR;
        if !has_room || next == self.wanted || lag > MAX_LAG / 2 {
            self.room_since = None;
            return self.wanted;
        }
        let since = *self.room_since.get_or_insert(now);
        if now.saturating_since(since) >= self.calm {
            self.wanted = next;
            self.climbed = now;
            self.room_since = None;
        }
        self.wanted
    }

    fn highest_within(&self, rate: Rate) -> usize {
        let fits = |of: &Rate| of.bytes_per_sec() <= rate.bytes_per_sec();
        self.rates.iter().rposition(fits).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kbps(rate: f64) -> Rate {
        Rate::from_bits_per_sec(1e3 * rate)
    }

    fn ladder() -> Ladder {
        Ladder::new(&[kbps(500.0), kbps(1_000.0), kbps(2_000.0)])
    }

    /// What is chosen at the end of so many seconds of the same.
    fn after(
        ladder: &mut Ladder,
        now: &mut Instant,
        seconds: u64,
        allowed: f64,
        lag_ms: u64,
    ) -> usize {
        let mut chosen = 0;
        for _ in 0..10 * seconds {
            *now += Duration::from_millis(100);
            chosen = ladder.choose(*now, kbps(allowed), Duration::from_millis(lag_ms));
        }
        chosen
    }

    #[test]
    fn ladder_climbs_after_two_seconds_of_room() {
        let (mut ladder, mut now) = (ladder(), Instant::ZERO);
        after(&mut ladder, &mut now, 3, 1_210.0, 0);
        assert_eq!(after(&mut ladder, &mut now, 60, 1_790.0, 0), 1);
        assert_eq!(after(&mut ladder, &mut now, 2, 9_000.0, 0), 1);
        assert_eq!(after(&mut ladder, &mut now, 1, 9_000.0, 0), 2);
    }

    #[test]
    fn ladder_tries_next_rung_when_room_cannot_show() {
        let (mut ladder, mut now) = (ladder(), Instant::ZERO);
        assert_eq!(after(&mut ladder, &mut now, 60, 890.0, 0), 0);
        assert_eq!(after(&mut ladder, &mut now, 3, 910.0, 0), 1);
        assert_eq!(after(&mut ladder, &mut now, 3, 1_990.0, 0), 2);
    }

    #[test]
    fn ladder_falls_at_foreseen_lag_and_climbs_late() {
        let (mut ladder, mut now) = (ladder(), Instant::ZERO);
        after(&mut ladder, &mut now, 5, 3_000.0, 0);
        // 2 Mb/s over 1.5 Mb/s for two seconds are .67 s: not yet.
        assert_eq!(after(&mut ladder, &mut now, 1, 1_500.0, 300), 2);
        assert_eq!(after(&mut ladder, &mut now, 1, 1_500.0, 400), 1);
        assert_eq!(after(&mut ladder, &mut now, 10, 3_000.0, 0), 1);
        assert_eq!(after(&mut ladder, &mut now, 1, 3_000.0, 0), 2);
        // Half the rate at once, before anything is late.
        assert_eq!(after(&mut ladder, &mut now, 1, 600.0, 0), 0);
    }

    #[test]
    fn shrinking_lag_changes_nothing() {
        let (mut ladder, mut now) = (ladder(), Instant::ZERO);
        after(&mut ladder, &mut now, 3, 1_300.0, 0);
        assert_eq!(after(&mut ladder, &mut now, 60, 1_100.0, 5_000), 1);
        assert_eq!(after(&mut ladder, &mut now, 60, 9_000.0, 600), 1);
    }

    #[test]
    fn failed_climb_doubles_the_wait() {
        let (mut ladder, mut now) = (ladder(), Instant::ZERO);
        let mut waited = Vec::new();
        for _ in 0..7 {
            let began = now;
            while after(&mut ladder, &mut now, 1, 1_300.0, 0) == 0 {}
            waited.push((now - began).as_secs());
            after(&mut ladder, &mut now, 1, 500.0, 0);
        }
        assert_eq!(waited, [3, 11, 21, 41, 81, 161, 161]);
        after(&mut ladder, &mut now, 400, 1_300.0, 0);
        after(&mut ladder, &mut now, 1, 500.0, 0);
        assert_eq!(after(&mut ladder, &mut now, 11, 1_300.0, 0), 1);
    }

    #[test]
    fn one_rendition_leaves_no_choice() {
        let mut ladder = Ladder::new(&[kbps(500.0)]);
        assert_eq!(
            after(&mut ladder, &mut Instant::ZERO.clone(), 20, 9_000.0, 0),
            0
        );
        assert_eq!(
            after(&mut ladder, &mut Instant::ZERO.clone(), 20, 10.0, 9_000),
            0
        );
    }
}
