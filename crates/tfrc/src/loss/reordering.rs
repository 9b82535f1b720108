//! How long a missing packet is waited for on a path that reorders.
//!
//! RFC 5348 §5.1 waits for three packets above a hole and takes reordering beyond that for congestion;
//! RFC 3448 §5.1 left it to future versions to make the three adaptive. Here packets that come late
//! tell by how many places and how much time the path reorders, and later holes are given as much, with
//! a quarter to spare. A hole must outlast both: parallel links keep the places at any rate, parallel
//! routes the time. One round trip bounds the wait, as in RFC 8985 §7.2, so that no loss stays hidden
//! for longer. Before the first late packet nothing is waited for beyond the three.

use core::time::Duration;

/// Late packets and losses after which the largest lateness of the time before is forgotten: among so
/// many the largest shows itself again, and a path that has stopped reordering is soon trusted.
const EPOCH: u16 = 256;

/// How far the stream has got past a missing packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lateness {
    /// From its number to the highest received.
    pub(super) places: u64,
    /// Since its hole was seen.
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

/// The path's reordering, as late packets have shown it.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    learns: bool,
    /// The largest of this epoch and of the one before.
    largest: [Lateness; 2],
    /// Late packets and losses of this epoch.
    seen: u16,
    /// What a hole must outlast.
    wait: Lateness,
}

impl Reordering {
    /// A path that has shown none; unless it `learns`, it never will.
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

    /// Learns from a packet that came late. One later than a round trip teaches nothing: it could not
    /// be waited for.
    pub(super) fn handle_late(&mut self, lateness: Lateness, rtt: Duration) {
        if self.learns && lateness.time <= rtt {
            self.largest[0] = self.largest[0].max(lateness);
            self.count();
        }
    }

    /// Notes that a hole was called lost.
    pub(super) fn handle_loss(&mut self) {
        if self.learns {
            self.count();
        }
    }

    /// Whether a hole past which the stream has got so far may be called lost.
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
