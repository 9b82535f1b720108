//! B.4.1: the times and the content of reports.

use std::time::Duration;

use tfrc::time::Instant;

use super::receiver;
use crate::check::{Check, Evidence, Run, all_within, ms, packets_of, within};
use crate::interposer::{Fate, Side};
use crate::log::{Log, Record};
use crate::packet::TfrcReport;
use crate::scripts::{steady, steer};

/// The checks of this section.
pub(super) static CHECKS: &[Check] = &[
    receiver("B.4.1-40")
        .title("a report leaves a round trip after the last: gap, ms")
        .section("RFC 5348 §6.2")
        .on(&[&STEADY], |e| {
            let gaps = settled(e.log())
                .into_iter()
                .map(|(before, report)| report.at.saturating_since(before.at).as_secs_f64() * 1e3);
            all_within(e, gaps, 100.0, e.pick(0.001, 10.0))
        }),
    receiver("B.4.1-41")
        .title("reports whose t_recvdata is not that of the last packet received")
        .section("RFC 5348 §6.2")
        .on(&[&STEADY], |e| {
            let reports = settled(e.log());
            let wrong = reports
                .iter()
                .filter(|(_, report)| !echoes_the_last(e, report));
            within(
                (reports.len() >= 10).then_some(wrong.count() as f64),
                0.0,
                0.0,
            )
        }),
    receiver("B.4.1-42")
        .title("without loss X_recv is X: share")
        .section("RFC 5348 §6.2")
        .on(&[&STEADY], |e| {
            let shares = settled(e.log()).into_iter().map(|(_, report)| {
                let sent = e.log().sending_rate(report.at - ROUND_TRIP, report.at);
                report.seen.receive_rate.bytes_per_sec() / sent.unwrap_or(0.0)
            });
            all_within(e, shares, 1.0, e.pick(1e-4, 0.1))
        }),
    receiver("B.4.1-43")
        .title("X_recv is what was received since the last report over R: share")
        .section("RFC 5348 §6.2")
        .on(&[&STEADY], |e| {
            let delivered = e.log().data_to_receiver();
            let shares = settled(e.log()).into_iter().map(|(before, report)| {
                let bytes: usize = delivered
                    .iter()
                    .filter(|(at, _)| before.at < *at && *at <= report.at)
                    .map(|(_, data)| data.size)
                    .sum();
                let rate = bytes as f64 / ROUND_TRIP.as_secs_f64();
                report.seen.receive_rate.bytes_per_sec() / rate
            });
            // Ten packets, and one may fall to either side of a report.
            all_within(e, shares, 1.0, e.pick(0.1001, 0.15))
        }),
    receiver("B.4.1-44")
        .title("without data no report a round trip after the last: reports")
        .section("RFC 5348 §6.2")
        .on(&[&SILENCE], |e| {
            within(reports_in_silence(e.log(), ROUND_TRIP * 3 / 2), 0.0, 0.0)
        }),
    receiver("B.4.1-45")
        .title("nor as long as there is none: reports")
        .section("RFC 5348 §6.2")
        .on(&[&SILENCE], |e| {
            within(reports_in_silence(e.log(), SILENT_FOR), 0.0, 0.0)
        }),
];

const ROUND_TRIP: Duration = ms(100);

/// Ten packets a round trip.
static STEADY: Run = Run::new("steady-receiver", packets_of(1_000), ms(3_000), || {
    steady(ROUND_TRIP, 100e3)
});

/// Data is dropped for a while from the moment on at which this report came.
const LAST_REPORT: usize = 12;
const SILENT_FOR: Duration = ms(600);

static SILENCE: Run = Run::new("silence", packets_of(1_000), ms(3_500), || {
    Box::new(|mut passing| {
        let last = passing.log.reports.get(LAST_REPORT).map(|report| report.at);
        let is_silent = last.is_some_and(|last| passing.at <= last + SILENT_FOR);
        match passing.from {
            Side::Sender if is_silent => Fate::Drop,
            _ => steer(&mut passing, ROUND_TRIP, 100e3, 0.0),
        }
    })
});

/// Reports from the tenth on, each with the one before it: the rate is settled by then.
fn settled(log: &Log) -> Vec<(Record<TfrcReport>, Record<TfrcReport>)> {
    let pairs = log.reports.windows(2).skip(10);
    pairs.map(|pair| (pair[0], pair[1])).collect()
}

/// True if the report tells the timestamp of the last packet that the receiver can have read. In real
/// time that may be one that came just before the report left, or the one before it.
fn echoes_the_last(e: &Evidence<'_>, report: &Record<TfrcReport>) -> bool {
    let delivered = e.log().data_to_receiver();
    let surely_read = report.at - e.pick(ms(0), ms(20));
    let known = delivered.partition_point(|(at, _)| *at <= surely_read);
    let sent = delivered.partition_point(|(at, _)| *at <= report.at);
    delivered[known.saturating_sub(1)..sent]
        .iter()
        .any(|(_, data)| data.timestamp == report.seen.timestamp)
}

/// Reports in this time after the last one; `None` if none came after the silence either.
fn reports_in_silence(log: &Log, time: Duration) -> Option<f64> {
    let last = log.reports.get(LAST_REPORT)?.at;
    let came_back = !log
        .reports_between(last + SILENT_FOR, Instant::MAX)
        .is_empty();
    let count = log.reports_between(last, last + time).len();
    came_back.then_some(count as f64)
}
