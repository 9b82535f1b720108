//! A rate from a file: the delivery opportunities that Mahimahi records and replays.

use std::sync::Arc;
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

/// A looped list of instants at which the link can deliver [`DeliveryTrace::OPPORTUNITY`] bytes
/// (Netravali et al., "Mahimahi", USENIX ATC 2015).
///
/// An opportunity at which nothing waits is lost. A packet may take several, and several packets
/// may share one. The loop is as long as the last instant in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryTrace {
    millis: Arc<[u64]>,
}

/// Why a file is no delivery trace. Lines count from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryTraceError {
    /// The line is not a whole number of milliseconds.
    #[error("line {line}: not a whole number of milliseconds")]
    NotANumber {
        /// Which line.
        line: usize,
    },
    /// The line's instant is before the instant of the line above it.
    #[error("line {line}: earlier than the line before")]
    NotInOrder {
        /// Which line.
        line: usize,
    },
    /// There is no opportunity after time zero, so the loop would take no time.
    #[error("no delivery opportunity after time 0")]
    NoDuration,
}

impl DeliveryTrace {
    /// What one opportunity delivers: a packet of Ethernet's size.
    pub const OPPORTUNITY: Bytes = Bytes::new(1_500);

    /// Reads a trace: a whole number of milliseconds a line, in order; equal lines are several
    /// opportunities in one millisecond. Empty lines and `#` comments are skipped.
    pub fn parse(text: &str) -> Result<Self, DeliveryTraceError> {
        let mut millis: Vec<u64> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let line = index + 1;
            let at = content
                .parse()
                .ok()
                .filter(|at| *at <= MAX_MILLIS)
                .ok_or(DeliveryTraceError::NotANumber { line })?;
            if millis.last().is_some_and(|last| at < *last) {
                return Err(DeliveryTraceError::NotInOrder { line });
            }
            millis.push(at);
        }
        Self::new(millis).ok_or(DeliveryTraceError::NoDuration)
    }

    /// A trace of these opportunities, in milliseconds from its start; `None` unless they are in order and end
    /// between time 0 and a day.
    pub fn new(millis: Vec<u64>) -> Option<Self> {
        let period = *millis.last()?;
        let is_sound = (1..=MAX_MILLIS).contains(&period) && millis.is_sorted();
        is_sound.then(|| Self {
            millis: millis.into(),
        })
    }

    /// The opportunities of one loop, in milliseconds from its start.
    pub fn millis(&self) -> &[u64] {
        &self.millis
    }

    /// How long the loop is.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_millis())
    }

    /// The rate over a whole loop.
    pub fn mean_rate(&self) -> Rate {
        Bytes::new(self.millis.len() as u64 * Self::OPPORTUNITY.get()) / self.period()
    }

    /// What the link can deliver from one time of the trace on until before another.
    pub fn deliverable(&self, from: Duration, to: Duration) -> Bytes {
        let [from, to] = [from, to].map(|time| self.opportunities_before(time));
        Bytes::new(
            to.saturating_sub(from)
                .saturating_mul(Self::OPPORTUNITY.get()),
        )
    }

    /// When the `index`-th opportunity is, counted from zero at the trace's start.
    pub(crate) fn opportunity(&self, index: u64) -> Duration {
        let count = self.millis.len() as u64;
        let offset = self.millis[(index % count) as usize];
        let start = (index / count).saturating_mul(self.period_millis());
        Duration::from_millis(start.saturating_add(offset))
    }

    /// How many opportunities lie before `time`, that is, the index of the first at or after it.
    pub(crate) fn opportunities_before(&self, time: Duration) -> u64 {
        let period = self.period().as_nanos();
        let nanos = time.as_nanos();
        let count = self.millis.len() as u64;
        // An opportunity at the very end of one loop comes before one at 0 ms of the next.
        let loops = (nanos.saturating_sub(1) / period) as u64;
        let within = nanos - u128::from(loops) * period;
        let before = self
            .millis
            .partition_point(|at| u128::from(*at) * 1_000_000 < within);
        loops.saturating_mul(count).saturating_add(before as u64)
    }

    fn period_millis(&self) -> u64 {
        self.millis.last().copied().unwrap_or(1)
    }
}

/// A day: longer than any recorded trace, short enough that no sum overflows.
const MAX_MILLIS: u64 = 24 * 3_600 * 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trace_loops_after_its_last_line() {
        let trace = DeliveryTrace::parse("# ms\n0\n2\n2\n\n5 # last\n").expect("valid");
        assert_eq!(trace.period(), Duration::from_millis(5));
        assert_eq!(trace.mean_rate(), Rate::from_bytes_per_sec(1_200_000.0));
        let instants: Vec<u128> = (0..8).map(|n| trace.opportunity(n).as_millis()).collect();
        assert_eq!(instants, [0, 2, 2, 5, 5, 7, 7, 10]);
    }

    #[test]
    fn deliverable_bytes_are_counted_over_loops() {
        let trace = DeliveryTrace::new(vec![0, 2, 2, 5]).expect("in order");
        let opportunities = |from, to| {
            let [from, to] = [from, to].map(Duration::from_millis);
            trace.deliverable(from, to).get() / DeliveryTrace::OPPORTUNITY.get()
        };
        assert_eq!(opportunities(0, 5), 3);
        // 2, 2, 5 and the next loop's 0, at 5 ms.
        assert_eq!(opportunities(1, 6), 4);
        assert_eq!(opportunities(0, 500), 400 - 1);
        assert_eq!(opportunities(6, 1), 0);
    }

    #[test]
    fn opportunities_out_of_order_are_refused() {
        for millis in [vec![], vec![0], vec![2, 1], vec![1, MAX_MILLIS + 1]] {
            assert_eq!(DeliveryTrace::new(millis), None);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let parse = DeliveryTrace::parse;
        assert_eq!(
            parse("1\nx"),
            Err(DeliveryTraceError::NotANumber { line: 2 })
        );
        assert_eq!(parse("-1"), Err(DeliveryTraceError::NotANumber { line: 1 }));
        assert_eq!(
            parse("99999999999999999"),
            Err(DeliveryTraceError::NotANumber { line: 1 })
        );
        assert_eq!(
            parse("#\n5\n4"),
            Err(DeliveryTraceError::NotInOrder { line: 3 })
        );
        assert_eq!(parse(""), Err(DeliveryTraceError::NoDuration));
        assert_eq!(parse("0\n0"), Err(DeliveryTraceError::NoDuration));
    }

    proptest! {
        #[test]
        fn counting_opportunities_agrees_with_listing_them(
            mut millis in prop::collection::vec(0u64..20, 1..12),
            nanos in 0u64..100_000_000,
        ) {
            millis.sort_unstable();
            prop_assume!(millis.last() > Some(&0));
            let text: String = millis.iter().map(|at| format!("{at}\n")).collect();
            let trace = DeliveryTrace::parse(&text).expect("sorted and positive");
            let time = Duration::from_nanos(nanos);
            let listed = (0..).take_while(|n| trace.opportunity(*n) < time).count() as u64;
            prop_assert_eq!(trace.opportunities_before(time), listed);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = DeliveryTrace::parse(&text);
        }
    }
}
