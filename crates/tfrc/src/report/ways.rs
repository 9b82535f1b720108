//! How long packets took, as far as round trips bear it out.

use core::time::Duration;

use crate::time::{Instant, Nanos};

/// Arrivals are believed this share of a round trip outside what round trips show: what makes a loss event a
/// sixteenth longer or shorter.
const SLACK: u64 = 32;

/// The shortest and the longest way that is believed. A way is the time from a packet's departure to its arrival on
/// a time line on which a report arrives when it is made, so it is a round trip without what the receiver waited: a
/// receiver that says when packets came says nothing that the round trips of its reports do not say, but for what a
/// queue did between two of them. Without bounds it could say that losses far apart came close together, and have them
/// counted as one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    /// The round trip of the last report.
    last: Nanos,
    shortest: Nanos,
    longest: Nanos,
}

impl Ways {
    /// Between the round trips of this report and of the one before.
    pub(super) fn after(before: Option<Self>, rtt: Duration) -> Self {
        let last = Nanos::from(rtt);
        let before = before.map_or(last, |ways| ways.last);
        let (shortest, longest) = (last.min(before), last.max(before));
        Self {
            last,
            shortest: shortest - shortest / SLACK,
            longest: longest + longest / SLACK,
        }
    }

    /// When a packet can have arrived that was sent at that time.
    pub(super) fn earliest(&self, sent_at: Instant) -> Instant {
        sent_at + self.shortest
    }

    /// When a packet arrived that was sent at that time and is said to have arrived at that one.
    #[inline]
    pub(super) fn believed(&self, sent_at: Instant, at: Instant) -> Instant {
        at.clamp(self.earliest(sent_at), sent_at + self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_way_lies_between_two_round_trips_and_little_beside() {
        let first = Ways::after(None, ms(64));
        let second = Ways::after(Some(first), ms(96));
        let third = Ways::after(Some(second), ms(96));
        for (ways, shortest, longest) in [(first, 62, 66), (second, 62, 99), (third, 93, 99)] {
            let sent_at = Instant::from_secs(1);
            for way in [0, shortest, 64, longest, 1_000] {
                let believed = ways.believed(sent_at, sent_at + ms(way));
                assert_eq!(believed, sent_at + ms(way.clamp(shortest, longest)));
            }
        }
    }
}
