//! How old a frame is when it arrives, though nothing relates the two clocks.
//!
//! What arrives as fast as anything did left at once and met no queue: it is half the least round trip old, which the
//! sender tells. A sender report says which timestamp a frame captured at that moment would have, so it is one that
//! neither waited for an encoder nor for the packets before it; where none has come, the first packets of frames are as
//! good but for that wait.

use std::time::Duration;

use tfrc::time::Instant;

use crate::least::Least;

/// What is known of the age of frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Age {
    transit: Least<i64>,
    round_trip: Least<Duration>,
}

impl Age {
    /// Something with a timestamp arrived, after so many nanoseconds from an origin that is not known.
    pub(crate) fn observe(&mut self, arrival: Instant, transit: i64) {
        self.transit.observe(arrival, transit);
    }

    /// The sender told of the round-trip time.
    pub(crate) fn observe_round_trip(&mut self, arrival: Instant, round_trip: Duration) {
        self.round_trip.observe(arrival, round_trip);
    }

    /// The transit of a frame that arrives at this age, if the round-trip time is known.
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
        // A queue is in the second of them.
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
