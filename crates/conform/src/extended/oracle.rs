//! Computes the expected p from the text of RFC 5348 §5.3 to §5.5.

use crate::check::{Evidence, Outcome, within};
use crate::log::Log;

use super::path::{first_loss, highest};

/// A loss event by its packets' numbers from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// The lost or marked packet that it begins with.
    pub(super) start: usize,
    /// The packet whose arrival tells of it.
    pub(super) detected_at: usize,
}

/// An event of a marked packet, which tells of itself.
pub(super) const fn marked(index: usize) -> Event {
    Event {
        start: index,
        detected_at: index,
    }
}

const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
const THRESHOLD: f64 = 0.25;

/// p after the arrival of packet `highest`: `events` in their order, `first` the synthetic interval.
pub(super) fn loss_event_rate(events: &[Event], first: f64, highest: usize) -> f64 {
    let known: Vec<_> = events
        .iter()
        .filter(|event| event.detected_at <= highest)
        .collect();
    let Some(current) = known.last() else {
        return 0.0;
    };
    // (I_i, DF_i) from i = 1 on.
    let mut closed = vec![(first, 1.0)];
    for pair in known.windows(2) {
        let df = discount(&closed, (pair[1].detected_at - pair[0].start) as f64);
        closed.iter_mut().for_each(|(_, own)| *own *= df);
        closed.insert(0, ((pair[1].start - pair[0].start) as f64, 1.0));
        closed.truncate(WEIGHTS.len());
    }
    let i_0 = (highest - current.start + 1) as f64;
    let df = discount(&closed, i_0);
    let mut with = vec![(i_0, 1.0)];
    with.extend(
        closed[..closed.len().min(8)]
            .iter()
            .map(|(length, own)| (*length, own * df)),
    );
    with.truncate(closed.len());
    1.0 / mean(&with).max(mean(&closed))
}

fn mean(intervals: &[(f64, f64)]) -> f64 {
    let weighted = intervals.iter().zip(WEIGHTS);
    let (total, weights) = weighted.fold((0.0, 0.0), |(total, weights), ((length, own), w)| {
        (total + length * w * own, weights + w * own)
    });
    total / weights
}

fn discount(closed: &[(f64, f64)], i_0: f64) -> f64 {
    let twice = 2.0 * mean(closed);
    if i_0 > twice {
        (twice / i_0).max(THRESHOLD)
    } else {
        1.0
    }
}

/// The reports made when the highest packet was in `range`, as (S_C, p over what p must be). The synthetic
/// interval is what the first report of loss says.
pub(super) fn ratios(log: &Log, events: &[Event], range: std::ops::Range<usize>) -> Vec<f64> {
    let Some(first) = first_loss(log) else {
        return Vec::new();
    };
    let first = 1.0 / first.seen.p.get();
    let reports = log.reports.iter().filter_map(|report| {
        let highest = highest(log, &report.seen)?;
        let expected = loss_event_rate(events, first, highest);
        (range.contains(&highest) && expected > 0.0).then(|| report.seen.p.get() / expected)
    });
    reports.collect()
}

/// Every report in the range tells the p that it must, to the resolution of the wire: the ratio farthest
/// from one, of at least three reports.
pub(super) fn exact(e: &Evidence<'_>, events: &[Event], range: std::ops::Range<usize>) -> Outcome {
    let ratios = ratios(e.log(), events, range);
    let enough = ratios.len() >= 3;
    let farthest = ratios
        .into_iter()
        .max_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    within(farthest.filter(|_| enough), 1.0, 1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: I_1 = 10, I_2 = 20 (synthetic); I_0 = 5, then 60.
    #[test]
    fn two_events_average_by_hand() {
        let events = [marked(100), marked(110)];
        assert_eq!(loss_event_rate(&events, 20.0, 99), 0.0);
        assert_eq!(loss_event_rate(&events, 20.0, 109), 1.0 / 20.0);
        assert_eq!(loss_event_rate(&events, 20.0, 114), 1.0 / 15.0);
        // DF = 2·15/60 = 1/2: (60 + 10/2) of weight 3/2.
        assert!((loss_event_rate(&events, 20.0, 169) - 1.5 / 65.0).abs() < 1e-15);
    }

    #[test]
    fn the_ninth_interval_is_forgotten() {
        let events: Vec<_> = (0..9).map(|i| marked(i * 8)).collect();
        let p = |first| loss_event_rate(&events, first, 64);
        assert_eq!((p(1.0), p(1e6)), (1.0 / 8.0, 1.0 / 8.0));
    }
}
