//! Bounds on the transit time of packets, from round trips.

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
///
/// Reports of one round trip belong together, and the last of them says how short ways are: the first may have waited
/// for it, where a receiver sends at intervals of its own what it has. How long they are the newest report says, or those
/// before. Until there were others before, nothing says how short a way is.
#[derive(Clone, Copy, Debug)]
pub(super) struct BelievedTransit {
    /// When the first report came of those that belong together.
    since: Instant,
    /// The shortest round trip of those, and of those before.
    together: Nanos,
    before: Nanos,
    shortest: Nanos,
    longest: Nanos,
}

impl BelievedTransit {
    /// Those that reports bear out of which the last came at `now`.
    pub(super) fn after(reports: Option<Self>, now: Instant, rtt: Duration) -> Self {
        let rtt = Nanos::from(rtt);
        let (since, together, before) = match reports {
            None => (now, rtt, Nanos::ZERO),
            Some(transit) if now.nanos_since(transit.since) < transit.together => {
                (transit.since, transit.together.min(rtt), transit.before)
            }
            Some(transit) => (now, rtt, transit.together),
        };
        let (shortest, longest) = (together.min(before), before.max(rtt));
        Self {
            since,
            together,
            before,
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

    /// Held to reports that came at those times, after as long a round trip each, in milliseconds: the bounds.
    fn bounds(reports: &[(u64, u64)]) -> (u64, u64) {
        let transit = reports.iter().fold(None, |transit, (now, rtt)| {
            Some(BelievedTransit::after(
                transit,
                Instant::from_millis(*now),
                ms(*rtt),
            ))
        });
        let (sent_at, transit) = (Instant::from_secs(1), transit.unwrap());
        let believed = |way| {
            let at = transit.believed(sent_at, sent_at + ms(way));
            at.saturating_since(sent_at).as_millis() as u64
        };
        assert_eq!(believed(80), 80.clamp(believed(0), believed(1_000)));
        (believed(0), believed(1_000))
    }

    #[test]
    fn a_way_lies_between_two_round_trips_and_little_beside() {
        let reports = [(64, 64), (160, 96), (256, 96)];
        assert_eq!(bounds(&reports[..1]), (0, 66));
        assert_eq!(bounds(&reports[..2]), (62, 99));
        assert_eq!(bounds(&reports), (93, 99));
    }

    #[test]
    fn of_reports_that_waited_for_one_another_the_last_says_how_short_ways_are() {
        let waited = [(100, 96), (300, 256), (301, 192), (302, 128), (303, 64)];
        assert_eq!(bounds(&waited[..1]), (0, 99));
        assert_eq!(bounds(&waited[..3]), (93, 198));
        assert_eq!(bounds(&waited), (62, 99));
        let next = [&waited[..], &[(600, 256)]].concat();
        assert_eq!(bounds(&next), (62, 264));
        // A round trip later none belongs to them any more.
        let after = [&next[..], &[(900, 256)]].concat();
        assert_eq!(bounds(&after), (248, 264));
    }
}
