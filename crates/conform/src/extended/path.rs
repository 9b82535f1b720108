//! The path of most of these runs, and readings of its log.

use std::time::Duration;

use crate::check::{Evidence, Outcome, Run, at_ms, ms, packets_of, within};
use crate::interposer::{Fate, Passing, Script, Side};
use crate::log::{Log, Record};
use crate::packet::{Data, Packet, TfrcReport};
use crate::scripts::steer;

/// The round-trip time.
pub(super) const ROUND_TRIP: Duration = ms(100);
/// Four packets a round trip, 25 ms apart: W_init/R for packets of 1,000 bytes, so that the rate is steady
/// from the first report on.
pub(super) const RATE: f64 = 40e3;
/// Bytes of a packet.
pub(super) const SIZE: u16 = 1_000;
/// The packet, from 0, to which the first thing happens: X_recv is known by then.
pub(super) const FIRST: usize = 20;

/// A run of so many packets on this path.
pub(super) const fn run(name: &'static str, packets: u64, script: fn() -> Script) -> Run {
    Run::new(name, packets_of(SIZE), ms(100 + 25 * packets), script)
}

/// The steady path, and a fate for each data packet by its number.
pub(super) fn on_data(mut fate: impl FnMut(usize, &mut Data) -> Fate + Send + 'static) -> Script {
    Box::new(move |mut passing: Passing<'_>| match passing.packet {
        Packet::Data(data) => fate(passing.log.data.len(), data),
        Packet::Report(_) | Packet::Arrivals | Packet::Other => {
            steer(&mut passing, ROUND_TRIP, RATE, 0.0)
        }
    })
}

/// Some packets are lost.
pub(super) fn drops(lost: &'static [usize]) -> Script {
    on_data(|index, _| Fate::lost_if(lost.contains(&index)))
}

/// The first report whose p is above zero.
pub(super) fn first_loss(log: &Log) -> Option<&Record<TfrcReport>> {
    log.reports.iter().find(|report| !report.seen.p.is_zero())
}

/// From the delivery of packet `index` to a report, ms: at once, if long before the timer of the round trip.
pub(super) fn at_once(
    e: &Evidence<'_>,
    index: usize,
    report: Option<&Record<TfrcReport>>,
) -> Outcome {
    let waited = report.and_then(|report| {
        let delivered = e.log().data.get(index)?.delivered?;
        let waited = report.at.checked_since(delivered)?;
        Some(waited.as_secs_f64() * 1e3)
    });
    within(waited, 0.0, e.pick(0.001, 15.0))
}

/// S_C of a report: the highest packet delivered when the one that it echoes was.
pub(super) fn highest(log: &Log, report: &TfrcReport) -> Option<usize> {
    let echoes = |record: &Record<Data>| {
        record.delivered.is_some() && record.passed.timestamp == report.timestamp
    };
    let until = log.data.iter().rfind(|record| echoes(record))?.delivered;
    log.data
        .iter()
        .rposition(|record| record.delivered.is_some() && record.delivered <= until)
}

/// S_A of the current loss event, once I_0 alone makes p: the last report says S_C − S_A + 1 = 1/p
/// (RFC 5348 §5.3). Needs one closed interval, the synthetic one, and a longer I_0.
pub(super) fn event_start(log: &Log) -> Option<f64> {
    let report = log
        .reports
        .last()
        .filter(|report| !report.seen.p.is_zero())?;
    Some(highest(log, &report.seen)? as f64 + 1.0 - 1.0 / report.seen.p.get())
}

/// The current loss event begins with this packet.
pub(super) fn begins_at(e: &Evidence<'_>, index: usize) -> Outcome {
    within(event_start(e.log()), index as f64, 1e-3)
}

/// X_recv and p by the number of the report.
pub(super) fn steered(say: fn(usize) -> (f64, f64)) -> Script {
    Box::new(move |mut passing| {
        let (receive_rate, p) = say(passing.log.reports.len());
        steer(&mut passing, ROUND_TRIP, 2.0 * receive_rate, p)
    })
}

/// After a second all reports but one are lost, and the round-trip time by that one is `sample`.
pub(super) fn last_sample(sample: Duration, rate: f64) -> Script {
    let mut held = false;
    Box::new(move |mut passing| match passing.from {
        Side::Receiver if passing.at >= at_ms(1_000) => {
            if std::mem::replace(&mut held, true) {
                return Fate::Drop;
            }
            steer(&mut passing, sample, rate, 0.0)
        }
        _ => steer(&mut passing, ROUND_TRIP, rate, 0.0),
    })
}

/// Milliseconds of a duration.
pub(super) fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
