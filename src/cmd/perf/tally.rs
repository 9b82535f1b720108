//! From what the flows have counted to rows: one a flow and a time, and their sum.

use evenkeel_perf::{Count, FlowState};
use evenkeel_rtp::session::Path;

/// All flows of one side at a moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Seconds since the test began.
    pub(super) at: f64,
    /// Flow by flow.
    pub(super) flows: Vec<FlowState>,
}

/// Which half of a [`Count`] a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Sent,
    Received,
}

/// One flow, or the sum of all, over a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// `None` for the sum.
    pub(super) flow: Option<usize>,
    pub(super) half: Half,
    /// Seconds since the test began.
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) count: Count,
    /// What a single sender knows at the end.
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

    /// Packets sent, or that should have come.
    pub(super) fn packets(&self) -> u64 {
        match self.half {
            Half::Sent => self.count.packets_sent,
            Half::Received => self.count.packets_received + self.count.packets_lost,
        }
    }

    /// Zero over no time.
    pub(super) fn bits_per_second(&self) -> f64 {
        if self.seconds() > 0.0 {
            self.bytes() as f64 * 8.0 / self.seconds()
        } else {
            0.0
        }
    }

    /// Zero where nothing should have come.
    pub(super) fn lost_percent(&self) -> f64 {
        match self.packets() {
            0 => 0.0,
            packets => self.count.packets_lost as f64 * 100.0 / packets as f64,
        }
    }
}

/// The rows of a time: each flow's, and their sum.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) flows: Vec<Row>,
    pub(super) sum: Row,
}

/// What happened from one sample to the next.
pub(super) fn interval(half: Half, before: &Sample, after: &Sample) -> Rows {
    let flows = after.flows.iter().enumerate().map(|(index, state)| {
        let earlier = before.flows.get(index).map(|state| state.count);
        let count = state.count.since(&earlier.unwrap_or_default());
        (count, state.path)
    });
    rows(half, before.at, after.at, flows)
}

/// What one side counted in all.
pub(super) fn total(half: Half, seconds: f64, counts: &[(Count, Option<Path>)]) -> Rows {
    rows(half, 0.0, seconds, counts.iter().copied())
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
    let count = flows
        .iter()
        .map(|row| &row.count)
        .fold(Count::default(), Count::plus);
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
