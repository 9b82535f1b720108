//! Rows of each interval of each test at a server: the sum of what all its flows sent and received.

use std::collections::BTreeMap;

use evenkeel_perf::{Count, Direction, FlowState};
use tfrc::time::{Duration, Instant};

use super::tally::{self, Half, Rows, Sample};
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
    /// Rows so far apart; none if zero.
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

    /// The rows that are due, a pair for a test that goes both ways, given what the tests under way have counted. Others
    /// are forgotten.
    pub(super) fn rows(
        &mut self,
        now: Instant,
        tests: &[(u16, Direction, Count)],
    ) -> Vec<(u16, Vec<Rows>)> {
        self.tests
            .retain(|name, _| tests.iter().any(|(test, ..)| test == name));
        let mut all = Vec::new();
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
                    held: None,
                }],
            };
            let rows = halves(*direction).map(|half| Rows {
                // A client may ask for thousands of flows, for an hour.
                flows: Vec::new(),
                ..tally::interval(half, &test.before, &after)
            });
            all.push((*name, rows.collect()));
            test.before = after;
        }
        all
    }
}

/// The halves of a test that its server counts.
pub(super) fn halves(direction: Direction) -> impl Iterator<Item = Half> {
    let sent = direction.server_sends().then_some(Half::Sent);
    let received = direction.client_sends().then_some(Half::Received);
    sent.into_iter().chain(received)
}

/// A line a row.
pub(super) fn line(test: u16, rows: &Rows) -> String {
    let what = match rows.sum.half {
        Half::Sent => "sent",
        Half::Received => "received",
    };
    format!("test {test} {}  {what}", text::sum(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_rows_until_it_ends() {
        let at = Instant::from_millis;
        let count = |bytes| Count {
            bytes_received: bytes,
            packets_received: bytes / 1_000,
            ..Count::default()
        };
        let mut intervals = Intervals::new(Duration::from_secs(1));
        intervals.begin(7, at(500));
        let mut lines = |ms, bytes| -> Vec<String> {
            let rows = intervals.rows(at(ms), &[(7, Direction::Forward, count(bytes))]);
            let lines = rows
                .iter()
                .flat_map(|(test, rows)| rows.iter().map(|rows| line(*test, rows)));
            lines.collect()
        };
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
        assert!(intervals.rows(at(3_500), &[]).is_empty());
        assert!(intervals.tests.is_empty());
    }

    #[test]
    fn an_interval_of_zero_is_none() {
        let mut intervals = Intervals::new(Duration::ZERO);
        intervals.begin(1, Instant::ZERO);
        assert!(!intervals.is_due(Instant::from_secs(5)));
        let tests = [(1, Direction::Both, Count::default())];
        assert!(intervals.rows(Instant::from_secs(5), &tests).is_empty());
    }
}
