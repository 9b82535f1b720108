//! Decides how long to wait for a missing packet on a path that reorders.
//!
//! RFC 5348 §5.1 waits for three packets above a hole and takes reordering beyond that for congestion. RFC 3448
//! §5.1 left an adaptive number to future versions. Here late packets show by how many places and how much time the
//! path reorders, and later holes wait as long, plus a quarter. A hole must outlast both measures: parallel links
//! reorder by the same places at any rate, parallel routes by the same time. One round trip bounds the wait, as in
//! RFC 8985 §7.2, so that no loss stays hidden for longer. Before the first late packet only the three packets are
//! required.

use core::time::Duration;

/// The number of late packets and losses after which the largest lateness of earlier times is forgotten. Among this
/// many the largest lateness recurs, and a path that no longer reorders is soon trusted again.
const EPOCH: u16 = 256;

/// The advance of the stream past a missing packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// The distance from the missing number to the highest received.
    pub(super) places: u64,
    /// The time since the hole appeared.
    pub(super) time: Duration,
}

impl Lateness {
    fn max(self, other: Self) -> Self {
        Self {
            places: self.places.max(other.places),
            time: self.time.max(other.time),
        }
    }
}

/// The reordering of the path, as shown by late packets.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    learns: bool,
    /// The largest lateness of this epoch and of the one before.
    largest: [Lateness; 2],
    /// The number of late packets and losses of this epoch.
    seen: u16,
    /// The lateness that a hole must outlast.
    wait: Lateness,
}

impl Reordering {
    /// Creates the state of a path without reordering, which changes only if it `learns`.
    pub(super) const fn new(learns: bool) -> Self {
        const NONE: Lateness = Lateness {
            places: 0,
            time: Duration::ZERO,
        };
        Self {
            learns,
            largest: [NONE; 2],
            seen: 0,
            wait: NONE,
        }
    }

    /// Learns from a late packet, unless it was later than a round trip: no hole waits so long.
    pub(super) fn handle_late(&mut self, lateness: Lateness, rtt: Duration) {
        if self.learns && lateness.time <= rtt {
            self.largest[0] = self.largest[0].max(lateness);
            self.count();
        }
    }

    /// Counts a hole that became a loss.
    pub(super) fn handle_loss(&mut self) {
        if self.learns {
            self.count();
        }
    }

    /// Returns true if a hole counts as lost once the stream has advanced this far past it.
    pub(super) fn is_outlasted(&self, hole: Lateness, rtt: Duration) -> bool {
        (hole.places > self.wait.places && hole.time >= self.wait.time) || hole.time >= rtt
    }

    fn count(&mut self) {
        self.seen += 1;
        if self.seen == EPOCH {
            self.largest = [Lateness::default(), self.largest[0]];
            self.seen = 0;
        }
        let largest = self.largest[0].max(self.largest[1]);
        self.wait = Lateness {
            places: largest.places.saturating_add(largest.places / 4),
            time: largest.time.saturating_add(largest.time / 4),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn lateness(places: u64, ms: u64) -> Lateness {
        Lateness {
            places,
            time: Duration::from_millis(ms),
        }
    }

    #[test]
    fn nothing_is_waited_for_before_a_packet_came_late() {
        let mut path = Reordering::new(true);
        path.handle_loss();
        assert!(path.is_outlasted(lateness(1, 0), RTT));
    }

    #[test]
    fn a_hole_must_outlast_the_places_and_the_time_and_a_quarter() {
        let mut path = Reordering::new(true);
        path.handle_late(lateness(8, 2), RTT);
        path.handle_late(lateness(2, 16), RTT);
        assert!(path.is_outlasted(lateness(11, 20), RTT));
        assert!(!path.is_outlasted(lateness(10, 20), RTT));
        assert!(!path.is_outlasted(lateness(11, 19), RTT));
    }

    #[test]
    fn no_hole_is_waited_for_longer_than_a_round_trip() {
        let mut path = Reordering::new(true);
        path.handle_late(lateness(500, 90), RTT);
        assert!(!path.is_outlasted(lateness(20, 99), RTT));
        assert!(path.is_outlasted(lateness(20, 100), RTT));
        assert!(path.is_outlasted(lateness(20, 20), RTT / 5));
    }

    #[test]
    fn a_packet_later_than_a_round_trip_teaches_nothing() {
        let mut path = Reordering::new(true);
        path.handle_late(lateness(500, 101), RTT);
        assert!(path.is_outlasted(lateness(1, 0), RTT));
    }

    #[test]
    fn a_path_that_stopped_reordering_is_trusted_after_two_epochs_of_losses() {
        let mut path = Reordering::new(true);
        path.handle_late(lateness(8, 16), RTT);
        (1..2 * EPOCH - 1).for_each(|_| path.handle_loss());
        assert!(!path.is_outlasted(lateness(4, 5), RTT));
        path.handle_loss();
        assert!(path.is_outlasted(lateness(4, 5), RTT));
    }

    #[test]
    fn a_detector_that_is_off_learns_nothing() {
        let mut path = Reordering::new(false);
        path.handle_late(lateness(8, 16), RTT);
        assert!(path.is_outlasted(lateness(3, 0), RTT));
    }
}
