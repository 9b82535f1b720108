//! RFC 5348 §6 as its text has it, with the deviations that `docs/RFC5348.md` lists.

use std::time::Duration;

use tfrc::loss::Arrived;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Arrival, FeedbackPacket, equation};

use crate::loss::Losses;

/// A report that was made.
struct Made {
    /// How many arrivals there had been.
    arrivals: usize,
    receive_rate: Rate,
}

pub(crate) struct Receiver {
    losses: Losses,
    arrivals: Vec<Arrival>,
    reports: Vec<Made>,
    /// The value of p when it was last computed: p_prev of §6.1.
    p: LossEventRate,
    /// The feedback timer; `None` before the first report, and while no R is known.
    timer: Option<Instant>,
    /// When an arrival made the timer expire early.
    expired: Option<Instant>,
}

impl Receiver {
    pub(crate) fn new(discounting: bool) -> Self {
        Self {
            losses: Losses::new(discounting),
            arrivals: Vec::new(),
            reports: Vec::new(),
            p: LossEventRate::ZERO,
            timer: None,
            expired: None,
        }
    }

    pub(crate) fn losses(&self) -> &Losses {
        &self.losses
    }

    /// §6.1.
    pub(crate) fn handle_data(&mut self, arrival: &Arrival) -> Arrived {
        let (arrivals, reports) = (&self.arrivals, &self.reports);
        let rtt = arrival.rtt.or(self.losses.round_trip_time());
        let arrived = self
            .losses
            .handle_arrival(arrival, || first_interval(arrivals, reports, rtt));
        if arrived.duplicate {
            return arrived;
        }
        let data_waited = self.data_waits();
        self.arrivals.push(*arrival);

        // "if no feedback packet was sent when the feedback timer last expired"
        let mut expire = !data_waited && self.timer.is_none_or(|timer| timer <= arrival.at);
        if arrived.new_events > 0 {
            let previous = std::mem::replace(&mut self.p, self.losses.loss_event_rate());
            expire |= self.p > previous;
        }
        // §6: "whenever an out-of-order data packet is received that removes a loss event"
        expire |= arrived.merged;
        // §6.3: every packet until one tells R.
        expire |= self.losses.round_trip_time().is_none();
        if expire && self.expired.is_none() {
            self.expired = Some(arrival.at);
        }
        arrived
    }

    /// When a report is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let expiry = self.expired.into_iter().chain(self.timer).min();
        expiry.filter(|_| self.data_waits())
    }

    /// §6.2.
    pub(crate) fn poll_report(&mut self, now: Instant) -> Option<FeedbackPacket> {
        self.due().filter(|due| *due <= now)?;
        let rtt = self.losses.round_trip_time();
        let last = self.arrivals.last()?;
        self.p = self.losses.loss_event_rate();
        let receive_rate = receive_rate(&self.arrivals, &self.reports, rtt);
        self.reports.push(Made {
            arrivals: self.arrivals.len(),
            receive_rate,
        });
        self.timer = rtt.map(|rtt| now + rtt);
        self.expired = None;
        Some(FeedbackPacket {
            timestamp: last.timestamp,
            delay: now - last.at,
            receive_rate,
            loss_event_rate: self.p,
        })
    }

    /// Data came since the last report.
    fn data_waits(&self) -> bool {
        self.arrivals.len() > self.reports.last().map_or(0, |report| report.arrivals)
    }
}

/// X_recv: from the last arrival that a report at least R old covered (§6.2), of the last four reports,
/// or from the oldest of them (deviation 4).
fn receive_rate(arrivals: &[Arrival], reports: &[Made], rtt: Option<Duration>) -> Rate {
    let rtt = rtt.unwrap_or(Duration::ZERO);
    let recent = || reports.iter().rev().take(4);
    let (Some(last), Some(oldest)) = (arrivals.last(), recent().next_back()) else {
        return Rate::ZERO;
    };
    let covered = |report: &Made| arrivals[report.arrivals - 1].at;
    let report = recent()
        .find(|report| last.at - covered(report) >= rtt)
        .unwrap_or(oldest);
    let Some(next) = arrivals.get(report.arrivals) else {
        return Rate::ZERO;
    };
    let bytes: Bytes = arrivals[report.arrivals..]
        .iter()
        .map(|arrival| arrival.size)
        .sum();
    if bytes == Bytes::ZERO {
        return Rate::ZERO;
    }
    // A silence of more than R is no part of the window, which is then R at least.
    let window = if next.at - covered(report) > rtt {
        (last.at - next.at).max(rtt)
    } else {
        last.at - covered(report)
    };
    if window.is_zero() {
        reports
            .last()
            .map_or(Rate::ZERO, |report| report.receive_rate)
    } else {
        Rate::from_bytes_per_sec(bytes.as_f64() / window.as_secs_f64())
    }
}

/// §6.3.1, for the largest packet seen; at least half a packet a round trip.
fn first_interval(arrivals: &[Arrival], reports: &[Made], rtt: Option<Duration>) -> f64 {
    // 0.5/R packets a second allow the same p whatever R and the size of a packet are.
    let Some(rtt) = rtt else {
        let half = Rate::from_bytes_per_sec(0.5);
        return 1.0 / equation::loss_event_rate(Bytes::new(1), Duration::from_secs(1), half).get();
    };
    let largest = arrivals.iter().map(|arrival| arrival.size).max();
    let segment = largest.unwrap_or_default().max(Bytes::new(1));
    let half = Rate::from_bytes_per_sec(0.5 * segment.as_f64() / rtt.as_secs_f64());
    let target = reports
        .iter()
        .map(|report| report.receive_rate)
        .fold(half, Rate::max)
        .max(receive_rate(arrivals, reports, Some(rtt)));
    1.0 / equation::loss_event_rate(segment, rtt, target).get()
}
