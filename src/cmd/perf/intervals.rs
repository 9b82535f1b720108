//! Makes the rows of each interval of each test at a server: the sums over its flows.

use std::collections::BTreeMap;

use evenkeel_perf::{Count, Direction, FlowState};
use tfrc::time::{Duration, Instant};

use super::tally::{self, Half, Rows, Sample};
use super::text;

/// The running tests, and the counts of each at its last line.
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
    /// Creates rows at this interval; none if it is zero.
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            tests: BTreeMap::new(),
        }
    }

    /// Adds a test that began.
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

    /// Returns true if a test is due for counting, because counting a thousand flows costs time of the sending
    /// thread.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.tests.values().any(|test| test.next <= now)
    }

    /// Returns the rows that are due, a pair for a test in both directions, from the counts of the running tests.
    /// Other tests are forgotten.
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

/// Returns the halves of a test that its server counts.
pub(super) fn halves(direction: Direction) -> impl Iterator<Item = Half> {
    let sent = direction.server_sends().then_some(Half::Sent);
    let received = direction.client_sends().then_some(Half::Received);
    sent.into_iter().chain(received)
}

/// Formats one row as a line.
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
