//! Compares the reports of a receiver with the packets that arrived.

use std::collections::BTreeSet;

use tfrc::sent_packets::PacketStatus;
use tfrc::time::Instant;

use super::path::{Claim, PERIOD, ROUND_TRIP, claims};
use crate::check::{Evidence, Outcome, between, ms, within};
use crate::log::Log;

/// None, and something was looked at.
fn none(count: usize, looked_at: usize) -> Outcome {
    within((looked_at > 0).then_some(count as f64), 0.0, 0.0)
}

fn has_come(log: &Log, packet: usize, by: Instant) -> bool {
    let delivered = log.data.get(packet).and_then(|record| record.delivered);
    delivered.is_some_and(|at| at <= by)
}

fn is_arrival(claim: &Claim) -> bool {
    matches!(claim.status, PacketStatus::Arrived { .. })
}

pub(super) fn unreported(e: &Evidence<'_>) -> Outcome {
    let (log, claims) = (e.log(), claims(e.log()));
    let end = log
        .arrivals
        .last()
        .map_or(Instant::ZERO, |report| report.at);
    let patience = ROUND_TRIP * 2 + e.pick(ms(0), ms(50));
    let mut first_reported = vec![None; log.data.len()];
    for claim in claims.iter().filter(|claim| is_arrival(claim)) {
        if let Some(first) = first_reported.get_mut(claim.packet) {
            *first = first.or(Some(claim.at));
        }
    }
    let mut all = 0;
    let late = log
        .data
        .iter()
        .zip(first_reported)
        .filter(|(record, first)| {
            let due = record
                .delivered
                .map(|at| at + patience)
                .filter(|due| *due <= end);
            all += usize::from(due.is_some());
            due.is_some_and(|due| first.is_none_or(|first| first > due))
        });
    let late = late.count();
    none(late, all)
}

pub(super) fn invented(e: &Evidence<'_>) -> Outcome {
    let claims = claims(e.log());
    let arrivals = claims.iter().filter(|claim| is_arrival(claim));
    let invented = arrivals
        .clone()
        .filter(|claim| !has_come(e.log(), claim.packet, claim.at));
    none(invented.count(), arrivals.count())
}

pub(super) fn concealed(e: &Evidence<'_>) -> Outcome {
    let log = e.log();
    let missing: BTreeSet<usize> = claims(log)
        .iter()
        .filter(|claim| claim.status == PacketStatus::Missing)
        .map(|claim| claim.packet)
        .collect();
    let known = missing.last().copied().unwrap_or(0).min(log.data.len());
    let lost: Vec<usize> = (0..known)
        .filter(|packet| packet % PERIOD == PERIOD - 1)
        .collect();
    none(
        lost.iter()
            .filter(|packet| !missing.contains(packet))
            .count(),
        lost.len(),
    )
}

pub(super) fn passed_over(e: &Evidence<'_>) -> Outcome {
    let reports = &e.log().arrivals;
    let gap = |pair: &[crate::log::ArrivalRecord]| {
        let end = pair[0]
            .reported
            .first
            .wrapping_add(pair[0].reported.statuses.len() as u16);
        let gap = pair[1].reported.first.wrapping_sub(end).cast_signed();
        usize::try_from(gap).unwrap_or(0)
    };
    none(
        reports.windows(2).map(gap).sum(),
        reports.len().saturating_sub(1),
    )
}

pub(super) fn longest_wait(e: &Evidence<'_>) -> Outcome {
    // The first packets are a second apart, before the sender knows a round trip.
    let times = e.log().arrivals.iter().map(|report| report.at);
    let times: Vec<Instant> = times.filter(|at| *at > Instant::from_secs(2)).collect();
    let waits = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e3);
    let longest = waits.reduce(f64::max);
    // The next packet after the timer calls for the report.
    between(longest, 1.0, 100.0 + e.pick(30.0, 60.0))
}

/// The first loss well after the start, when none has been for more than a round trip.
pub(super) fn at_once(e: &Evidence<'_>) -> Outcome {
    let (log, lost) = (e.log(), 4 * PERIOD - 1);
    let third = log.data.get(lost + 3).and_then(|record| record.delivered);
    let claims = claims(log);
    let report = claims.iter().find(|claim| {
        claim.packet == lost && claim.status == PacketStatus::Missing && Some(claim.at) >= third
    });
    let waited = report
        .zip(third)
        .map(|(report, third)| (report.at - third).as_secs_f64() * 1e3);
    within(waited, 0.0, e.pick(0.001, 15.0))
}

pub(super) fn time_error(e: &Evidence<'_>, resolution: f64) -> Outcome {
    let log = e.log();
    let times = claims(log).into_iter().filter_map(|claim| {
        let PacketStatus::Arrived { at: Some(at), .. } = claim.status else {
            return None;
        };
        let came = log.data.get(claim.packet)?.delivered?;
        Some(at.as_nanos() as f64 / 1e6 - came.as_nanos() as f64 / 1e6)
    });
    // The receiver's clock may have any zero.
    let errors: Vec<f64> = times.collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let worst = errors
        .iter()
        .map(|error| (error - mean).abs())
        .reduce(f64::max);
    within(worst, 0.0, resolution + e.pick(0.001, 15.0))
}

pub(super) fn wrong_marks(e: &Evidence<'_>) -> Outcome {
    let marks: Vec<(usize, bool)> = claims(e.log())
        .iter()
        .filter_map(|claim| match claim.status {
            PacketStatus::Arrived { ecn, .. } => Some((claim.packet, ecn.is_marked())),
            PacketStatus::Missing => None,
        })
        .collect();
    let is_marked = |packet: usize| packet % PERIOD == PERIOD - 1;
    let wrong = marks
        .iter()
        .filter(|(packet, marked)| is_marked(*packet) != *marked);
    let right = marks.iter().filter(|(_, marked)| *marked);
    none(wrong.count(), right.count())
}
