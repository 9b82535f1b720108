//! The process that a TFRC receiver runs in, which the system may leave without a processor.
//!
//! What arrives meanwhile waits in the socket. Once it runs again, ours reads all of it with the times
//! that the kernel noted, and then reports. The receiver of the `thesis` (§5.3.2) serves its timer
//! first, and divides what it had read by all the time since its last report.

use std::collections::VecDeque;

use serde::Deserialize;
use tfrc::loss::Arrived;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};
use tfrc::{Arrival, FeedbackPacket, Receiver};

/// Which times a receiver reckons with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Times {
    /// When each packet came to the machine.
    #[default]
    Arrival,
    /// When the process read it.
    Reading,
}

/// A packet, and when it came to the machine.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: Arrival,
    sent_at: Instant,
}

/// A receiver in its process.
#[derive(Debug)]
pub(crate) struct Reader {
    receiver: Receiver,
    times: Times,
    away_until: Instant,
    socket: VecDeque<Waiting>,
    /// When the last packet that was read had been sent.
    latest_sent_at: Instant,
    reported: Option<Instant>,
    read_since: Bytes,
}

/// Packets that a socket holds; more are lost.
const SOCKET: usize = 16_384;

impl Reader {
    pub(crate) fn new(receiver: Receiver, times: Times) -> Self {
        Self {
            receiver,
            times,
            away_until: Instant::ZERO,
            socket: VecDeque::new(),
            latest_sent_at: Instant::ZERO,
            reported: None,
            read_since: Bytes::ZERO,
        }
    }

    /// Takes the processor away until then.
    pub(crate) fn deschedule(&mut self, until: Instant) {
        self.away_until = until;
    }

    /// A packet came to the machine, sent at that time.
    pub(crate) fn handle_data(&mut self, arrival: Arrival, sent_at: Instant) {
        if self.socket.len() < SOCKET {
            self.socket.push_back(Waiting { arrival, sent_at });
        }
    }

    /// Reads what waits, and gives the report that is due, with when the last packet that it covers had
    /// been sent. To be called again as long as [`Reader::poll_timeout`] says at once.
    pub(crate) fn poll_report(
        &mut self,
        now: Instant,
        see: impl FnMut(u64, Arrived),
    ) -> Option<(FeedbackPacket, Instant)> {
        if now < self.away_until {
            return None;
        }
        let first = match self.times {
            Times::Arrival => None,
            Times::Reading => self.receiver.poll_report(now),
        };
        let report = first.or_else(|| {
            self.read(now, see);
            self.receiver.poll_report(now)
        });
        let mut report = report?;
        if self.times == Times::Reading {
            report.receive_rate = self.rate_of_reading(now);
        }
        self.reported = Some(now);
        self.read_since = Bytes::ZERO;
        Some((report, self.latest_sent_at))
    }

    fn read(&mut self, now: Instant, mut see: impl FnMut(u64, Arrived)) {
        while let Some(Waiting {
            mut arrival,
            sent_at,
        }) = self.socket.pop_front()
        {
            if self.times == Times::Reading {
                arrival.at = now;
            }
            self.latest_sent_at = sent_at;
            self.read_since += arrival.size;
            see(arrival.seq, self.receiver.handle_data(&arrival));
        }
    }

    /// What was read since the last report, over the time since then.
    fn rate_of_reading(&self, now: Instant) -> Rate {
        let since = self.reported.map(|at| now.saturating_since(at));
        let since = since.filter(|since| *since > Duration::ZERO);
        since.map_or(Rate::ZERO, |since| self.read_since / since)
    }

    /// When the process has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let waiting = (!self.socket.is_empty()).then_some(Instant::ZERO);
        let next = [waiting, self.receiver.poll_timeout()]
            .into_iter()
            .flatten()
            .min();
        next.map(|at| at.max(self.away_until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::{Ecn, ReceiverConfig};

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A packet of 1000 bytes every 10 ms for 2 s, and the X_recv of the reports after 1 s, when the
    /// process was away for 200 ms.
    fn receive_rates(times: Times) -> Vec<f64> {
        let mut reader = Reader::new(Receiver::new(ReceiverConfig::default()), times);
        let mut rates = Vec::new();
        for seq in 0..200 {
            let now = at(10 * seq);
            if now == at(1_000) {
                reader.deschedule(at(1_201));
            }
            let arrival = Arrival {
                seq,
                at: now,
                timestamp: 0,
                rtt: Some(RTT),
                size: Bytes::new(1_000),
                ecn: Ecn::NotEct,
            };
            reader.handle_data(arrival, now);
            while reader.poll_timeout().is_some_and(|due| due <= now) {
                if let Some((report, _)) = reader.poll_report(now, |_, _| ()) {
                    rates.push((now, report.receive_rate.bytes_per_sec()));
                }
            }
        }
        let later = rates.into_iter().filter(|(now, _)| *now >= at(1_000));
        later.map(|(_, rate)| rate).collect()
    }

    #[test]
    fn a_process_that_was_away_measures_the_rate_over_the_times_of_arrival() {
        let rates = receive_rates(Times::Arrival);
        assert!(rates.len() >= 7, "{rates:?}");
        assert!(
            rates.iter().all(|rate| (rate / 1e5 - 1.0).abs() < 1e-9),
            "{rates:?}"
        );
    }

    #[test]
    fn one_that_serves_its_timer_first_measures_next_to_nothing() {
        let least = receive_rates(Times::Reading)
            .into_iter()
            .fold(f64::MAX, f64::min);
        assert!(least < 4e4, "{least}");
    }
}
