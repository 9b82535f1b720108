//! Bounds the rate by the receive rates: X_recv_set and the data-limited rules (RFC 5348 §4.3, §8.2).

use core::time::Duration;

use crate::time::{Instant, Nanos};
use crate::units::Rate;

/// The most elements of X_recv_set (RFC 5348 §8.2.2).
const N: usize = 3;

/// X_recv_set: the receive rates of the last two round trips, newest first.
#[derive(Clone, Debug)]
pub(super) struct ReceiveRates {
    set: [(Rate, Instant); N],
    len: usize,
}

impl ReceiveRates {
    /// Creates {∞}: the receive rate does not limit the rate of the first two round trips.
    pub(super) const fn new() -> Self {
        Self {
            set: [(Rate::INFINITY, Instant::ZERO); N],
            len: 1,
        }
    }

    /// Returns the largest rate of the set.
    pub(super) fn max(&self) -> Rate {
        self.set[..self.len]
            .iter()
            .fold(Rate::ZERO, |max, (rate, _)| max.max(*rate))
    }

    /// *Update*: adds a rate, and removes rates older than two round trips. The initial ∞ is as old as the first
    /// report.
    pub(super) fn update(&mut self, rate: Rate, now: Instant, rtt: Nanos) {
        let oldest = now - rtt * 2;
        let (mut len, mut moved) = (0, (rate, now));
        for index in 0..self.len {
            let entry = self.set[index];
            if entry.1 >= oldest {
                self.set[len] = moved;
                (len, moved) = (len + 1, entry);
            }
        }
        if len < N {
            self.set[len] = moved;
            len += 1;
        }
        self.len = len;
    }

    /// *Maximise*: keeps the larger of the set and a rate, dated `now`; ∞ is dropped.
    pub(super) fn maximise(&mut self, rate: Rate, now: Instant) {
        let finite = self.set[..self.len]
            .iter()
            .filter(|(rate, _)| rate.is_finite());
        let largest = finite.fold(rate, |max, (rate, _)| max.max(*rate));
        self.replace(largest, now);
    }

    /// Halves every rate of the set.
    pub(super) fn halve(&mut self) {
        for (rate, _) in &mut self.set[..self.len] {
            *rate = *rate / 2.0;
        }
    }

    /// Replaces the set by one rate.
    pub(super) fn replace(&mut self, rate: Rate, now: Instant) {
        self.set[0] = (rate, now);
        self.len = 1;
    }

    /// Dates the initial ∞, which applies for two round trips from the first report on.
    pub(super) fn begin(&mut self, now: Instant) {
        self.replace(Rate::INFINITY, now);
    }
}

/// The number of remembered instants, at least a quarter of a round trip apart. They span four round trips, so the
/// report after a lost or late one is still judged correctly.
const INSTANTS: usize = 16;

/// Decides whether a report covers only time in which the sender sent less than the permission.
///
/// RFC 5348 §8.2.1 keeps two instants at which the permission was used up, and grants that more would be more
/// accurate. With two, one lost report suffices to take a sender at its full rate for data-limited. Sixteen
/// instants avoid this, and their bookkeeping is simpler.
#[derive(Clone, Debug)]
pub(super) struct DataLimit {
    /// A ring of instants: the one recorded after `i` others is at place `i` modulo the ring's length.
    used_up: [Instant; INSTANTS],
    noted: u64,
    spacing: Nanos,
    /// The time before which no instant is recorded.
    next: Instant,
}

impl DataLimit {
    pub(super) fn new(rtt: Duration) -> Self {
        Self {
            used_up: [Instant::ZERO; INSTANTS],
            noted: 0,
            spacing: Nanos::from(rtt) / 4,
            next: Instant::ZERO,
        }
    }

    /// Sets the round-trip time that applies from now on.
    pub(super) fn set_round_trip(&mut self, rtt: Nanos) {
        self.spacing = rtt / 4;
        self.next = match self.noted {
            0 => Instant::ZERO,
            noted => self.used_up[place(noted - 1)] + self.spacing,
        };
    }

    /// Records that the sender used up the permission at `now`.
    #[inline]
    pub(super) fn handle_permission_used(&mut self, now: Instant) {
        if now >= self.next {
            self.used_up[place(self.noted)] = now;
            self.noted += 1;
            self.next = now + self.spacing;
        }
    }

    /// Returns true if the sender was data-limited throughout (t_old, t_new], the round trip up to `sent_at`.
    pub(super) fn covers(&self, sent_at: Instant, rtt: Nanos) -> bool {
        // Instants are a quarter of a round trip apart. The instant that represents the start of the interval may
        // therefore precede it by as much.
        let reach = rtt + rtt / 4;
        // The newest instant up to `sent_at` decides, because later instants are never older.
        let used_up = (self.noted.saturating_sub(INSTANTS as u64)..self.noted)
            .rev()
            .map(|index| self.used_up[place(index)])
            .find(|at| *at <= sent_at);
        used_up.is_none_or(|at| sent_at.nanos_since(at) >= reach)
    }
}

const fn place(index: u64) -> usize {
    index as usize % INSTANTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn rate(rate: f64) -> Rate {
        Rate::from_bytes_per_sec(rate)
    }

    #[test]
    fn the_first_two_round_trips_are_not_limited() {
        let mut rates = ReceiveRates::new();
        rates.begin(at(100));
        rates.update(rate(10.0), at(200), RTT.into());
        assert_eq!(rates.max(), Rate::INFINITY);
        rates.update(rate(20.0), at(301), RTT.into());
        assert_eq!(rates.max(), rate(20.0));
    }

    #[test]
    fn update_keeps_three_and_forgets_what_is_two_round_trips_old() {
        let mut rates = ReceiveRates::new();
        for (value, ms) in [(50.0, 1_000), (40.0, 1_050), (30.0, 1_100), (20.0, 1_150)] {
            rates.update(rate(value), at(ms), RTT.into());
        }
        assert_eq!(rates.max(), rate(40.0));
        rates.update(rate(10.0), at(1_301), RTT.into());
        assert_eq!(rates.max(), rate(20.0));
    }

    #[test]
    fn maximise_drops_infinity_and_keeps_the_largest_as_of_now() {
        let mut rates = ReceiveRates::new();
        rates.maximise(rate(10.0), at(100));
        assert_eq!(rates.max(), rate(10.0));
        rates.maximise(rate(5.0), at(900));
        assert_eq!(rates.max(), rate(10.0));
        rates.update(rate(1.0), at(1_000), RTT.into());
        assert_eq!(rates.max(), rate(10.0));
        rates.halve();
        assert_eq!(rates.max(), rate(5.0));
    }

    #[test]
    fn one_instant_of_full_use_makes_an_interval_not_data_limited() {
        let mut limit = DataLimit::new(RTT);
        limit.handle_permission_used(at(950));
        assert!(!limit.covers(at(1_000), RTT.into()));
        assert!(limit.covers(at(1_200), RTT.into()));
        assert!(limit.covers(at(900), RTT.into()));
    }

    #[test]
    fn a_lost_report_does_not_make_a_busy_sender_data_limited() {
        let mut limit = DataLimit::new(RTT);
        (0..400)
            .step_by(10)
            .for_each(|ms| limit.handle_permission_used(at(ms)));
        for sent_at in [100, 200, 300, 399] {
            assert!(!limit.covers(at(sent_at), RTT.into()));
        }
    }
}
