//! Settles reports: counts arrivals in the order of time, and computes p and X_recv from them.

use core::time::Duration;

use super::super::arrival_batch::BatchedArrival;
use super::super::sent_record::SentRecord;
use super::SentPacketTracker;
use crate::Ecn;
use crate::receiver::{Arrival, Run};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::trust::BelievedTransit;
use crate::units::Bytes;

/// The tracker waits this share of a round trip for a report that another has overtaken.
const PATIENCE: u32 = 4;

impl<const N: usize> SentPacketTracker<N> {
    /// Settles the reports that arrived at `now`: returns the feedback of RFC 5348 §4.3 if they reported an arrival and
    /// every packet before it is settled. Reports that waited for one another at the receiver are settled together,
    /// because the round trip of the first among them would contain that wait.
    pub fn settle(&mut self, now: Instant) -> Option<Feedback> {
        let claimed = self.refused.never_sent;
        let has_claimed = claimed != core::mem::replace(&mut self.judged_claims, claimed);
        // Future numbers are refused, and a third party may forge packets of them. They accuse a receiver once. Its test
        // is of the numbers that were left out.
        let is_tested = self.suspicions.lies.was_proven();
        if core::mem::take(&mut self.claims_left_out) || has_claimed && !is_tested {
            self.suspicions.lies.record(now);
        }
        self.advance();
        self.wait(now);
        self.full_at = self.next_unsettled + N as u64;
        if !self.update_newest() {
            self.batch.forget_taken();
            return None;
        }
        let delay = self.delay(now);
        self.count();
        Some(self.feedback(delay))
    }

    /// Updates the packet that is reported as the last to arrive; returns false if there is no arrival to count.
    fn update_newest(&mut self) -> bool {
        let last = self.batch.last();
        if let Some(last) = last.filter(|last| last.at >= self.newest.0) {
            self.newest = (last.at, self.sent[last.seq as usize % N].at);
        }
        last.is_some()
    }

    /// Waits for packets that were not reported, or settles them once the wait is over.
    fn wait(&mut self, now: Instant) {
        if self.next_unsettled == self.reported {
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

    /// Passes the arrivals to the receiver in the order of their times.
    #[inline(never)]
    pub(super) fn count(&mut self) {
        self.update_newest();
        let (clock, transit) = (&self.clock, self.transit);
        let believed = |sent: &SentRecord, at| {
            transit.map_or(at, |transit| {
                clock.to_peer(transit.believed(sent.at, clock.to_local(at)))
            })
        };
        let mut rest = self.batch.take();
        while let Some((next, others)) = rest.split_first() {
            let sent = &self.sent[next.seq as usize % N];
            self.arrived = self.arrived.max(believed(sent, next.at));
            if sent.rtt_micros != self.counted_rtt.0 {
                let rtt = Duration::from_micros(sent.rtt_micros.into());
                self.counted_rtt = (sent.rtt_micros, (sent.rtt_micros > 0).then_some(rtt));
            }
            let mut ecn = next.ecn;
            if sent.is_test {
                if !ecn.is_marked() {
                    self.suspicions.erased_marks.record(sent.at);
                }
                ecn = Ecn::Ect0;
            }
            let arrival = Arrival {
                seq: next.number,
                at: self.arrived,
                timestamp: 0,
                rtt: self.counted_rtt.1,
                size: Bytes::new(sent.size.into()),
                ecn,
            };
            self.receiver.handle_data(&arrival);
            rest = others;
            let until = self.receiver.takes_run_until(next.number + 1);
            if let Some(run) = run_after(&arrival, others, until) {
                let (run_of, after) = others.split_at(run.count as usize);
                if let Some(last) = run_of.last() {
                    let at = believed(&self.sent[last.seq as usize % N], last.at);
                    self.arrived = self.arrived.max(at);
                }
                self.receiver.handle_run(&Run {
                    last_at: self.arrived,
                    ..run
                });
                rest = after;
            }
        }
    }

    /// Returns how long the receiver waited with a report that arrived at `now`, and updates the believed transit times.
    fn delay(&mut self, now: Instant) -> Duration {
        let (arrived, departed) = self.newest;
        let trip = now.saturating_since(departed);
        let reported = match self.vector {
            Some(vector) => vector.delay,
            None => self.clock.age(arrived, now),
        };
        let delay = if self.is_trusting {
            reported
        } else {
            let delay = self.believed_delay.believe(trip, reported);
            let rtt = trip.saturating_sub(delay);
            self.transit = Some(BelievedTransit::after(self.transit, now, rtt));
            delay
        };
        // A report cannot resolve a shorter R than its unit of time.
        delay.min(trip.saturating_sub(self.resolution))
    }

    /// Returns the feedback that a receiver with TFRC of its own would have reported.
    fn feedback(&mut self, delay: Duration) -> Feedback {
        let report = self.receiver.report_or_predict(self.arrived);
        Feedback {
            sent_at: self.newest.1,
            delay,
            receive_rate: self
                .vector
                .map_or(report.receive_rate, |vector| vector.receive_rate),
            loss_event_rate: report.loss_event_rate,
        }
    }
}

/// Returns the run of plain packets that follow `last` and arrived before `until`, in the order of time.
#[inline]
fn run_after(last: &Arrival, known: &[BatchedArrival], until: Instant) -> Option<Run> {
    let (mut bytes, mut largest) = (0, 0);
    let follow = (last.seq + 1..).zip(known).take_while(|(number, known)| {
        known.number == *number && known.is_plain && known.at < until
    });
    let mut count = 0;
    for (_, known) in follow {
        count += 1;
        // The sum cannot overflow: a batch is far too short, and each packet has less than 2^16 bytes.
        let size = u64::from(known.size);
        bytes += size;
        largest = size.max(largest);
    }
    let run = known[..count].last()?;
    Some(Run {
        count: count as u64,
        last_seq: run.number,
        last_at: run.at,
        rtt: last.rtt?,
        bytes: Bytes::new(bytes),
        largest: Bytes::new(largest),
    })
}
