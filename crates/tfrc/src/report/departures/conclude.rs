//! What concluded reports come to: arrivals in the order of time, and what TFRC is told of them.

use core::time::Duration;

use super::{Departures, Known};
use crate::Ecn;
use crate::receiver::{Arrival, Run};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::units::Bytes;

/// This share of a round trip a report is waited for that another has overtaken.
const PATIENCE: u32 = 4;
/// This share of a round trip is believed that a receiver waited with its report: what makes R, and the rate, wrong
/// by 3 %.
const BELIEVED: u32 = 32;

impl<const N: usize> Departures<N> {
    /// Counts what the reports that came at `now` have made known: what RFC 5348 §4.3 makes of them, if they
    /// told of an arrival and all before that is known. Reports that waited for one another at the receiver
    /// are concluded together: the round trip of the first among them would contain that wait.
    pub fn conclude(&mut self, now: Instant) -> Option<Feedback> {
        let claimed = self.refused.never_sent;
        self.lies += u32::from(claimed != core::mem::replace(&mut self.seen_through, claimed));
        self.advance();
        self.wait(now);
        self.count().then(|| {
            if !self.is_trusting {
                self.clock.handle_way(now, self.departed, self.arrived);
            }
            self.feedback(now)
        })
    }

    /// Waits for packets that were not reported, or goes on without them.
    fn wait(&mut self, now: Instant) {
        if self.turn == self.reported {
            self.waiting_since = None;
            return;
        }
        let since = *self.waiting_since.get_or_insert(now);
        let patience = self.rtt.map_or(Duration::ZERO, |rtt| rtt / PATIENCE);
        if now.saturating_since(since) >= patience {
            self.give_up(self.reported);
            self.waiting_since = None;
        }
    }

    /// Hands arrivals on in the order of their times; false if there are none.
    #[inline(never)]
    pub(super) fn count(&mut self) -> bool {
        let known = self.batch.take();
        let any = !known.is_empty();
        let mut rest = known;
        while let Some((next, others)) = rest.split_first() {
            let sent = &self.sent[next.seq as usize % N];
            if next.at >= self.arrived {
                (self.arrived, self.departed) = (next.at, sent.at);
            }
            if sent.rtt_micros != self.told_rtt.0 {
                let rtt = Duration::from_micros(sent.rtt_micros.into());
                self.told_rtt = (sent.rtt_micros, (sent.rtt_micros > 0).then_some(rtt));
            }
            let mut ecn = next.ecn;
            if sent.is_test {
                self.erased_marks += u32::from(!ecn.is_marked());
                ecn = Ecn::Ect0;
            }
            let arrival = Arrival {
                seq: next.number,
                at: self.arrived,
                timestamp: 0,
                rtt: self.told_rtt.1,
                size: Bytes::new(sent.size.into()),
                ecn,
            };
            self.receiver.handle_data(&arrival);
            rest = others;
            let until = self.receiver.takes_run_until(next.number + 1);
            if let Some(run) = run_after(&arrival, others, until) {
                let (run_of, after) = others.split_at(run.count as usize);
                if let Some(last) = run_of.last() {
                    self.departed = self.sent[last.seq as usize % N].at;
                }
                self.arrived = run.last_at;
                self.receiver.handle_run(&run);
                rest = after;
            }
        }
        any
    }

    /// As much of a delay as a report that took `trip` with it is believed. Nothing shows a sender how long a receiver
    /// waited, and who says too long makes R too short. Receivers report with a packet that comes
    /// ([`Arrivals::poll_timeout`](super::super::Arrivals::poll_timeout)), so hardly any delay is left; where
    /// one had to wait all the same, R is what it was with the report before, once.
    fn believed_delay(&mut self, trip: Duration, delay: Duration) -> Duration {
        if self.is_trusting {
            return delay;
        }
        let rtt = trip.saturating_sub(delay);
        if delay <= trip / BELIEVED {
            self.checked_rtt = Some(rtt);
            return delay;
        }
        let least = self.checked_rtt.take().unwrap_or(trip);
        trip.saturating_sub(rtt.max(least))
    }

    /// What a receiver that knows TFRC would have reported.
    fn feedback(&mut self, now: Instant) -> Feedback {
        let report = self.receiver.report(self.arrived);
        let since_departure = now.saturating_since(self.departed);
        let (told, receive_rate) = match self.vector {
            Some(vector) => (vector.delay, vector.receive_rate),
            None => (self.clock.age(self.arrived, now), report.receive_rate),
        };
        let delay = self.believed_delay(since_departure, told);
        Feedback {
            sent_at: self.departed,
            // R is no shorter than what the report can tell.
            delay: delay.min(since_departure.saturating_sub(self.resolution)),
            receive_rate,
            loss_event_rate: report.loss_event_rate,
        }
    }
}

/// The packets before `until` that follow the one that was handed on last and tell nothing but that they came. All
/// are in the order of time.
#[inline]
fn run_after(last: &Arrival, known: &[Known], until: Instant) -> Option<Run> {
    if known.first()?.at < last.at {
        return None;
    }
    let (mut bytes, mut largest) = (0, 0);
    let follow = (last.seq + 1..).zip(known).take_while(|(number, known)| {
        known.number == *number && known.is_plain && known.at < until
    });
    let mut count = 0;
    for (_, known) in follow {
        count += 1;
        // A batch of packets of 2^16 bytes each is far from the end of what fits.
        bytes += u64::from(known.size);
        largest = known.size.max(largest);
    }
    let run = known[..count].last()?;
    Some(Run {
        count: count as u64,
        last_seq: run.number,
        last_at: run.at,
        rtt: last.rtt?,
        bytes: Bytes::new(bytes),
        largest: Bytes::new(largest.into()),
    })
}
