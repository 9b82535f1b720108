//! Estimates how old a frame is when it arrives, although nothing relates the two clocks.
//!
//! The fastest packet left at once and found no queue, so its age at arrival is half the least round trip, which
//! the sender states. A sender report gives the timestamp of a frame that is captured at its departure. Such a
//! frame would have waited neither for an encoder nor for earlier packets. Without reports, the first packets of
//! frames serve; they include that wait.

use std::time::Duration;

use tfrc::time::Instant;

use crate::coarse_minimum::CoarseMinimum;

/// The least transit, and the least round trip.
#[derive(Clone, Debug, Default)]
pub(crate) struct Age {
    transit: CoarseMinimum<i64>,
    round_trip: CoarseMinimum<Duration>,
}

impl Age {
    /// Records the arrival of a packet or report with a timestamp, and its transit in nanoseconds from an unknown
    /// origin.
    pub(crate) fn observe(&mut self, arrival: Instant, transit: i64) {
        self.transit.observe(arrival, transit);
    }

    /// Records the sender's round-trip time.
    pub(crate) fn observe_round_trip(&mut self, arrival: Instant, round_trip: Duration) {
        self.round_trip.observe(arrival, round_trip);
    }

    /// Returns the transit of a frame that arrives at this age, if the round-trip time is known.
    pub(crate) fn transit_of(&self, age: Duration) -> Option<i64> {
        let way = self.round_trip.get()? / 2;
        let since_sent = nanos(age).saturating_sub(nanos(way));
        Some(self.transit.get()?.saturating_add(since_sent))
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fastest_arrival_is_half_a_round_trip_old() {
        let mut age = Age::default();
        assert_eq!(age.transit_of(Duration::from_millis(150)), None);
        age.observe(Instant::from_secs(1), 1_000_000);
        assert_eq!(age.transit_of(Duration::from_millis(150)), None);
        // The second sample includes a queue.
        for (secs, transit, round_trip) in [(2, 7_000_000, 80), (3, 30_000_000, 100)] {
            let arrival = Instant::from_secs(secs);
            age.observe(arrival, transit);
            age.observe_round_trip(arrival, Duration::from_millis(round_trip));
        }
        assert_eq!(
            age.transit_of(Duration::from_millis(150)),
            Some(1_000_000 + 110_000_000)
        );
    }

    #[test]
    fn no_lie_of_a_sender_overflows() {
        let mut age = Age::default();
        age.observe(Instant::ZERO, i64::MIN);
        age.observe_round_trip(Instant::ZERO, Duration::MAX);
        assert_eq!(age.transit_of(Duration::ZERO), Some(i64::MIN));
        let mut age = Age::default();
        age.observe(Instant::ZERO, i64::MAX);
        age.observe_round_trip(Instant::ZERO, Duration::ZERO);
        assert_eq!(age.transit_of(Duration::MAX), Some(i64::MAX));
    }
}
