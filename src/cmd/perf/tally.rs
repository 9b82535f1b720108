//! Makes rows of the counts of flows: one for each flow and time, and their sum.

use evenkeel_perf::{Count, FlowState};
use evenkeel_rtp::session::Path;

/// The counts of all flows of one side at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// The seconds since the test began.
    pub(super) at: f64,
    /// The states by flow.
    pub(super) flows: Vec<FlowState>,
}

/// The half of a [`Count`] that a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Sent,
    Received,
}

/// The counts of one flow, or the sum of all, over a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The flow; `None` for the sum.
    pub(super) flow: Option<usize>,
    pub(super) half: Half,
    /// The start in seconds since the test began.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) count: Count,
    /// The path of a single sender at the end of the time.
    pub(super) path: Option<Path>,
}

impl Row {
    pub(super) fn seconds(&self) -> f64 {
        self.end - self.start
    }

    pub(super) fn bytes(&self) -> u64 {
        match self.half {
            Half::Sent => self.count.bytes_sent,
            Half::Received => self.count.bytes_received,
        }
    }

    /// Returns the packets sent, or those that should have arrived.
    pub(super) fn packets(&self) -> u64 {
        match self.half {
            Half::Sent => self.count.packets_sent,
            Half::Received => self.count.packets_received + self.count.packets_lost,
        }
    }

    /// Returns the rate; zero over no time.
    pub(super) fn bits_per_second(&self) -> f64 {
        if self.seconds() > 0.0 {
            self.bytes() as f64 * 8.0 / self.seconds()
        } else {
            0.0
        }
    }

    /// Returns the loss; zero where no packet should have arrived.
    pub(super) fn lost_percent(&self) -> f64 {
        match self.packets() {
            0 => 0.0,
            packets => self.count.packets_lost as f64 * 100.0 / packets as f64,
        }
    }
}

/// The rows of a time: one for each flow, and their sum.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) flows: Vec<Row>,
    pub(super) sum: Row,
}

/// Returns the rows from one sample to the next.
pub(super) fn interval(half: Half, before: &Sample, after: &Sample) -> Rows {
    let flows = after.flows.iter().enumerate().map(|(index, state)| {
        let earlier = before.flows.get(index).map(|state| state.count);
        let count = state.count.since(&earlier.unwrap_or_default());
        (count, state.path)
    });
    rows(half, before.at, after.at, flows)
}

/// Returns the rows of one side over a whole test of that length. A receiver's time is its own, because packets
/// from a queue arrive after the sender's time is over. It is at least the length of the test; a broken path would
/// otherwise look fast.
pub(super) fn total(half: Half, seconds: f64, counts: &[(Count, Option<Path>)]) -> Rows {
    let mut rows = rows(half, 0.0, seconds, counts.iter().copied());
    if half == Half::Received {
        for row in rows.flows.iter_mut().chain([&mut rows.sum]) {
            row.end = seconds.max(row.count.received_over.as_secs_f64());
        }
    }
    rows
}

fn rows(
    half: Half,
    start: f64,
    end: f64,
    counts: impl Iterator<Item = (Count, Option<Path>)>,
) -> Rows {
    let row = |(flow, (count, path))| Row {
        flow: Some(flow),
        half,
        start,
        end,
        count,
        path,
    };
    let flows: Vec<Row> = counts.enumerate().map(row).collect();
    let count = Count::sum(flows.iter().map(|row| &row.count));
    let path = flows
        .first()
        .filter(|_| flows.len() == 1)
        .and_then(|row| row.path);
    let sum = Row {
        flow: None,
        half,
        start,
        end,
        count,
        path,
    };
    Rows { flows, sum }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn receiver_rate_is_over_its_own_time() {
        let count = |seconds| Count {
            bytes_sent: 1_250_000,
            bytes_received: 1_250_000,
            received_over: Duration::from_secs(seconds),
            ..Count::default()
        };
        let counts = [(count(20), None), (count(5), None)];
        let rates = |half| {
            let rows = total(half, 10.0, &counts);
            let rows = rows.flows.iter().chain([&rows.sum]);
            rows.map(Row::bits_per_second).collect::<Vec<_>>()
        };
        assert_eq!(rates(Half::Sent), [1e6, 1e6, 2e6]);
        // The second flow fell silent halfway.
        assert_eq!(rates(Half::Received), [5e5, 1e6, 1e6]);
    }
}
