//! The log of the interface system: data packets and reports, with their times on both sides.

use std::time::Duration;

use tfrc::time::Instant;

use crate::packet::{Data, Reported, TfrcReport};

/// Data packets kept of one run, and as many reports: more than any run here sends. What comes later is
/// passed on and not recorded.
pub const MAX_RECORDS: usize = 1 << 18;

/// A packet that went through the interface system. Times count from the first data packet of the run.
#[derive(Clone, Copy, Debug)]
pub struct Record<T> {
    /// When it came.
    pub at: Instant,
    /// As it came.
    pub seen: T,
    /// As it was passed on.
    pub passed: T,
    /// When it was passed on; `None` if it was dropped, or the run ended first.
    pub delivered: Option<Instant>,
}

/// All packets of a run, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Data packets, from the sender.
    pub data: Vec<Record<Data>>,
    /// Reports, from the receiver.
    pub reports: Vec<Record<TfrcReport>>,
    /// Reports of arrivals, from the receiver.
    pub arrivals: Vec<ArrivalRecord>,
}

/// A report of arrivals.
#[derive(Clone, Debug)]
pub struct ArrivalRecord {
    /// The time at which the interposer received it.
    pub at: Instant,
    /// The time at which it was passed on; `None` if it was dropped, or the run ended first.
    pub delivered: Option<Instant>,
    /// Its statuses: of each packet from `first` on, whether it arrived.
    pub reported: Reported,
}

impl Log {
    /// Data packets that came after `from` and not after `to`.
    pub fn data_between(&self, from: Instant, to: Instant) -> &[Record<Data>] {
        within(&self.data, from, to)
    }

    /// Reports that came from the receiver after `from` and not after `to`.
    pub fn reports_between(&self, from: Instant, to: Instant) -> &[Record<TfrcReport>] {
        within(&self.reports, from, to)
    }

    /// Reports as the sender got them, in the order and at the times at which it got them.
    pub fn reports_to_sender(&self) -> Vec<(Instant, TfrcReport)> {
        delivered(&self.reports)
    }

    /// Data packets as the receiver got them, in the order and at the times at which it got them.
    pub fn data_to_receiver(&self) -> Vec<(Instant, Data)> {
        delivered(&self.data)
    }

    /// The sending rate in bytes a second after `from` and up to `to`, from the spacing of the packets;
    /// `None` with fewer than two packets.
    pub fn sending_rate(&self, from: Instant, to: Instant) -> Option<f64> {
        let data = self.data_between(from, to);
        let (first, last) = (data.first()?, data.last()?);
        let bytes: usize = data[1..].iter().map(|record| record.seen.size).sum();
        let span = last.at.saturating_since(first.at).as_secs_f64();
        (span > 0.0).then(|| bytes as f64 / span)
    }

    /// The sending rate while the `n`th report to reach the sender (from 0) was its latest. The first
    /// `settle` after it is left out, and so is what left because the next one came.
    pub fn rate_after_report(&self, n: usize, settle: Duration) -> Option<f64> {
        let reports = self.reports_to_sender();
        let from = reports.get(n)?.0 + settle;
        let next = reports.get(n + 1).map_or(Instant::MAX, |next| next.0);
        let to = next - Duration::from_nanos(1);
        self.sending_rate(from, to)
    }

    /// The largest p of all reports; `None` without a report.
    pub fn largest_p(&self) -> Option<f64> {
        let reported = self.reports.iter().map(|report| report.seen.p.get());
        reported.max_by(f64::total_cmp)
    }

    /// R as the first data packet after `at` tells it.
    pub fn rtt_after(&self, at: Instant) -> Option<Duration> {
        self.data_between(at, Instant::MAX).first()?.seen.rtt()
    }
}

/// Records that came after `from` and not after `to`; they are in order.
fn within<T>(records: &[Record<T>], from: Instant, to: Instant) -> &[Record<T>] {
    let start = records.partition_point(|record| record.at <= from);
    let end = records.partition_point(|record| record.at <= to);
    &records[start..end.max(start)]
}

fn delivered<T: Copy>(records: &[Record<T>]) -> Vec<(Instant, T)> {
    let mut list: Vec<_> = records
        .iter()
        .filter_map(|record| Some((record.delivered?, record.passed)))
        .collect();
    list.sort_by_key(|(at, _)| *at);
    list
}
