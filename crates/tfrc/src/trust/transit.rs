//! Bounds the transit times that reports imply, by measured round trips.

use core::time::Duration;

use crate::time::{Instant, Nanos};

/// Arrivals are believed this share of a round trip outside the bounds: a loss event is then a sixteenth longer or shorter at most.
const SLACK: u64 = 32;

/// The shortest and the longest believed transit time.
///
/// A transit is the time from a packet's departure to its arrival, on a time line on which a report arrives when it is made. A
/// transit is thus a round trip without the delay of the report, and arrival times add only the changes of queues between two
/// reports. Without bounds a receiver could move losses that are far apart close together, and they would be one loss event.
///
/// Reports of one round trip form a group. The last report of the group bounds transits from below, because a receiver that reports
/// at fixed intervals delays the first ones. The newest report and the group before bound transits from above. Until a second
/// group begins, the lower bound is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BelievedTransit {
    /// When the first report of the group arrived.
    since: Instant,
    /// The shortest round trip of the group, and of the group before.
    together: Nanos,
    before: Nanos,
    shortest: Nanos,
    longest: Nanos,
}

impl BelievedTransit {
    /// Updates the bounds by a report that arrived at `now` with the round trip `rtt`.
    pub(crate) fn after(reports: Option<Self>, now: Instant, rtt: Duration) -> Self {
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

    /// Returns the earliest believed arrival of a packet that left at `sent_at`.
    pub(crate) fn earliest(&self, sent_at: Instant) -> Instant {
        sent_at + self.shortest
    }

    /// Returns the believed arrival of a packet that left at `sent_at` and is reported to have arrived at `at`.
    #[inline]
    pub(crate) fn believed(&self, sent_at: Instant, at: Instant) -> Instant {
        at.clamp(self.earliest(sent_at), sent_at + self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Returns the bounds in milliseconds after reports of these arrival times and round trips in milliseconds.
    fn bounds(reports: &[(u64, u64)]) -> (u64, u64) {
        let transit = reports.iter().fold(None, |transit, (now, rtt)| {
            Some(BelievedTransit::after(
                transit,
                Instant::from_millis(*now),
                ms(*rtt),
            ))
        });
        let (sent_at, transit) = (Instant::from_secs(1), transit.unwrap());
        let believed = |transit_ms| {
            let at = transit.believed(sent_at, sent_at + ms(transit_ms));
            at.saturating_since(sent_at).as_millis() as u64
        };
        assert_eq!(believed(80), 80.clamp(believed(0), believed(1_000)));
        (believed(0), believed(1_000))
    }

    #[test]
    fn transit_lies_between_two_round_trips_with_slack() {
        let reports = [(64, 64), (160, 96), (256, 96)];
        assert_eq!(bounds(&reports[..1]), (0, 66));
        assert_eq!(bounds(&reports[..2]), (62, 99));
        assert_eq!(bounds(&reports), (93, 99));
    }

    #[test]
    fn last_delayed_report_bounds_transit_from_below() {
        let waited = [(100, 96), (300, 256), (301, 192), (302, 128), (303, 64)];
        assert_eq!(bounds(&waited[..1]), (0, 99));
        assert_eq!(bounds(&waited[..3]), (93, 198));
        assert_eq!(bounds(&waited), (62, 99));
        let next = [&waited[..], &[(600, 256)]].concat();
        assert_eq!(bounds(&next), (62, 264));
        // A round trip later another group begins.
        let after = [&next[..], &[(900, 256)]].concat();
        assert_eq!(bounds(&after), (248, 264));
    }
}
