//! What concluded reports come to: arrivals in the order of time, and what TFRC is told of them.

use core::time::Duration;

use super::{Departures, Known, Sent, State};
use crate::Ecn;
use crate::receiver::{Arrival, Run};
use crate::sender::Feedback;
use crate::time::Instant;
use crate::units::Bytes;

/// This share of a round trip a report is waited for that another has overtaken.
const PATIENCE: u32 = 4;

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
            let run = run_after(&arrival, sent.rtt_micros, others, &self.sent, until);
            if let Some(run) = run {
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

    /// How long the receiver can have waited since the last packet to arrive: no longer than we did before we
    /// sent the first that it had not seen: else that one would have come. More would make R too short.
    fn longest_delay(&self) -> Option<Duration> {
        if self.is_trusting {
            return None;
        }
        let mut unseen = (self.reported..self.next).map(|seq| &self.sent[seq as usize % N]);
        let next = unseen.find(|sent| sent.state == State::Unreported)?;
        Some(next.at.saturating_since(self.departed))
    }

    /// What a receiver that knows TFRC would have reported.
    fn feedback(&mut self, now: Instant) -> Feedback {
        let report = self.receiver.report(self.arrived);
        let longest = now
            .saturating_since(self.departed)
            .saturating_sub(self.resolution);
        let believed = self
            .longest_delay()
            .map_or(longest, |delay| longest.min(delay + self.resolution));
        let (delay, receive_rate) = match self.vector {
            Some(vector) => (vector.delay, vector.receive_rate),
            None => (self.clock.age(self.arrived, now), report.receive_rate),
        };
        Feedback {
            sent_at: self.departed,
            delay: delay.min(believed),
            receive_rate,
            loss_event_rate: report.loss_event_rate,
        }
    }
}

/// The packets before `until` that follow the one that was handed on last and tell nothing but that they came.
#[inline]
fn run_after<const N: usize>(
    last: &Arrival,
    rtt_micros: u32,
    known: &[Known],
    sent: &[Sent; N],
    until: Instant,
) -> Option<Run> {
    let mut run = Run {
        count: 0,
        last_seq: last.seq,
        last_at: last.at,
        rtt: last.rtt?,
        bytes: Bytes::ZERO,
        largest: Bytes::ZERO,
    };
    // A batch of packets of 2^16 bytes each is far from the end of what fits.
    let (mut bytes, mut largest) = (0, 0);
    for known in known {
        let sent = &sent[known.seq as usize % N];
        let is_plain = known.number == run.last_seq + 1
            && known.at >= run.last_at
            && known.at < until
            && sent.rtt_micros == rtt_micros
            && !known.ecn.is_marked()
            && !sent.is_test;
        if !is_plain {
            break;
        }
        run.count += 1;
        (run.last_seq, run.last_at) = (known.number, known.at);
        bytes += u64::from(sent.size);
        largest = sent.size.max(largest);
    }
    (run.bytes, run.largest) = (Bytes::new(bytes), Bytes::new(largest.into()));
    (run.count > 0).then_some(run)
}
