//! A line an interval and a test: what all flows of it sent and received meanwhile, as a server tells it.

use std::collections::BTreeMap;

use evenkeel_perf::{Count, Direction, FlowState};
use tfrc::time::{Duration, Instant};

use super::tally::{self, Half, Sample};
use super::text;

/// The tests under way, and what each had counted when its last line was made.
pub(super) struct Intervals {
    interval: Duration,
    tests: BTreeMap<u16, Test>,
}

struct Test {
    began: Instant,
    next: Instant,
    before: Sample,
}

impl Intervals {
    /// Lines so far apart; none if zero.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            tests: BTreeMap::new(),
        }
    }

    /// A test began.
    pub(super) fn begin(&mut self, test: u16, at: Instant) {
        if self.interval.is_zero() {
            return;
        }
        let state = Test {
            began: at,
            next: at + self.interval,
            before: Sample::default(),
        };
        self.tests.insert(test, state);
    }

    /// True if a test is to be looked at: to count a thousand flows costs the thread that sends.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.tests.values().any(|test| test.next <= now)
    }

    /// The lines that are due, given what the tests under way have counted. Others are forgotten.
    pub(super) fn lines(&mut self, now: Instant, tests: &[(u16, Direction, Count)]) -> Vec<String> {
        self.tests
            .retain(|name, _| tests.iter().any(|(test, ..)| test == name));
        let mut lines = Vec::new();
        for (name, direction, count) in tests {
            let Some(test) = self.tests.get_mut(name) else {
                continue;
            };
            if now < test.next {
                continue;
            }
            while test.next <= now {
                test.next += self.interval;
            }
            let after = Sample {
                at: now.saturating_since(test.began).as_secs_f64(),
                flows: vec![FlowState {
                    count: *count,
                    path: None,
                }],
            };
            let halves = [
                (direction.server_sends(), Half::Sent, "sent"),
                (direction.client_sends(), Half::Received, "received"),
            ];
            for (_, half, what) in halves.into_iter().filter(|(is_used, ..)| *is_used) {
                let rows = tally::interval(half, &test.before, &after);
                lines.push(format!("test {name} {}  {what}", text::sum(&rows)));
            }
            test.before = after;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_line_an_interval_until_it_ends() {
        let at = Instant::from_millis;
        let count = |bytes| Count {
            bytes_received: bytes,
            packets_received: bytes / 1_000,
            ..Count::default()
        };
        let mut intervals = Intervals::new(Duration::from_secs(1));
        intervals.begin(7, at(500));
        let mut lines =
            |ms, bytes| intervals.lines(at(ms), &[(7, Direction::Forward, count(bytes))]);
        assert!(lines(1_400, 100_000).is_empty());
        let first = lines(1_500, 125_000);
        assert!(
            first.len() == 1
                && first[0].contains("1.00 Mbits/sec")
                && first[0].contains("0.00-1.00"),
            "{first:?}"
        );
        assert!(lines(1_600, 130_000).is_empty());
        let second = lines(2_500, 375_000);
        assert!(second[0].contains("2.00 Mbits/sec"), "{second:?}");
        assert!(intervals.lines(at(3_500), &[]).is_empty());
        assert!(intervals.tests.is_empty());
    }

    #[test]
    fn an_interval_of_zero_is_none() {
        let mut intervals = Intervals::new(Duration::ZERO);
        intervals.begin(1, Instant::ZERO);
        assert!(!intervals.is_due(Instant::from_secs(5)));
        let tests = [(1, Direction::Both, Count::default())];
        assert!(intervals.lines(Instant::from_secs(5), &tests).is_empty());
    }
}
