//! Ingests reports: the reported status of each packet is kept until the packet is settled.

use core::ops::Range;

use super::super::arrival_batch::BatchedArrival;
use super::super::packet_status::{ReportHeader, StatusRun};
use super::super::sent_record::SentState;
use super::SentPacketTracker;
use crate::Ecn;
use crate::time::{Instant, Nanos};

impl<const N: usize> SentPacketTracker<N> {
    /// Ingests a report that arrived at `now`: its header, then the status of one packet after the other.
    /// [`SentPacketTracker::settle`] counts the arrivals.
    pub fn ingest_report(
        &mut self,
        now: Instant,
        header: &ReportHeader,
        packets: impl IntoIterator<Item = impl Into<StatusRun>>,
    ) {
        let Some(first) = self.extend(header.first) else {
            return;
        };
        let mut status_runs = packets.into_iter().map(Into::<StatusRun>::into);
        let remembered = self.remembered_for(now);
        let Some(made_at) = self.clock.handle_report(now, header.made_at, remembered) else {
            let arrived = status_runs.filter(|run| matches!(run, StatusRun::Arrived { .. }));
            self.refused.unknown += arrived.count() as u64;
            return;
        };
        self.begin_report(first);
        self.resolution = header.resolution;
        self.vector = None;
        // The sender's clock at the instant at which the receiver's clock shows the time of arrival.
        let came = now + header.resolution;
        let (ahead, behind) = (came.nanos_since(made_at), made_at.nanos_since(came));
        let remembered = self.remembered();
        let held = remembered.end - remembered.start;
        let ingest_other = |tracker: &mut Self, seq: u64, at: Option<Instant>, ecn| {
            if seq.wrapping_sub(remembered.start) < held {
                let at = at.map_or(made_at, |at| tracker.clock.place(at).min(made_at));
                // The packet left before the report arrived, at least as long as it had arrived before the report
                // was made.
                tracker.ingest_other_arrived(seq, at, ecn, at + ahead - behind);
            } else {
                tracker.refuse_unknown(seq);
            }
        };
        let mut next = first;
        let Range {
            start: final_from,
            end: next_unsettled,
        } = self.final_range();
        while next < final_from
            && let Some(run) = status_runs.next()
        {
            if let StatusRun::Arrived { at, ecn } = run {
                ingest_other(self, next, at, ecn);
            }
            next += run.count();
        }
        // Settled arrivals are skipped, because each packet is reported more than once.
        while next < next_unsettled
            && let Some(run) = status_runs.next()
        {
            next += run.count();
        }
        self.ingest_missing(first.max(next_unsettled)..next);
        let least = behind.just_above(ahead);
        for run in status_runs {
            let seq = next;
            next += run.count();
            match run {
                StatusRun::Missing { .. } => {
                    self.ingest_missing(seq..next);
                }
                StatusRun::Arrived { at: Some(at), ecn }
                    if self.ingest_next(seq, self.clock.place(at), ecn, least, made_at) => {}
                StatusRun::Arrived { at, ecn } => ingest_other(self, seq, at, ecn),
            }
        }
        self.end_report();
    }

    /// Begins a report whose first packet is `first`: no packet from there on loses its slot before it is counted.
    #[inline]
    pub(in super::super) fn begin_report(&mut self, first: u64) {
        self.full_at = self.full_at.min(self.next.max(first + N as u64));
    }

    /// Ends a report: all packets that were settled meanwhile were reported.
    #[inline]
    pub(in super::super) fn end_report(&mut self) {
        self.reported = self.reported.max(self.next_unsettled);
    }

    /// Ingests a run of missing packets, of which only sent and unsettled ones count. A missing packet may yet arrive, and
    /// an arrived packet stays arrived. Returns how many packets were visited.
    pub(in super::super) fn ingest_missing(&mut self, run: Range<u64>) -> usize {
        let mut run = run.start.max(self.next_unsettled)..run.end.min(self.next);
        let mut visited = 0;
        while !run.is_empty() {
            run.start = self.ingest_first_missing(&run);
            visited += 1;
        }
        visited
    }

    /// Ingests the first packet of a missing run, and returns the next packet to visit.
    #[inline]
    fn ingest_first_missing(&mut self, run: &Range<u64>) -> u64 {
        let seq = run.start;
        let is_next = seq == self.next_unsettled;
        let reported_from_here = (run.end - seq) as u16;
        let sent = self.slot(seq);
        match &mut sent.state {
            SentState::Missing { covered } | SentState::Arrived { covered, .. } => {
                // Packets that earlier reports covered are skipped together, and next time together with this one.
                let next = seq + u64::from(*covered);
                *covered = reported_from_here.max(*covered);
                return next;
            }
            SentState::Unreported => {
                sent.state = SentState::Missing {
                    covered: reported_from_here,
                };
            }
            SentState::LeftOut if is_next => {}
            SentState::LeftOut | SentState::Lost { .. } | SentState::Done => return seq + 1,
        }
        self.reported = self.reported.max(seq + 1);
        if is_next {
            self.settle_next();
        }
        seq + 1
    }

    /// Ingests an arrival whose time follows from the departure, and lies no later than `latest` on the sender's clock:
    /// the packet must have left before. The caller ends the report.
    #[inline]
    pub(in super::super) fn ingest_arrived(
        &mut self,
        seq: u64,
        at: impl Fn(Instant) -> Instant,
        latest: Instant,
    ) {
        let sent_at = self.slot(seq).at;
        let is_usual = seq == self.next_unsettled
            && seq < self.next
            && sent_at < latest
            && self.ingest_next(seq, at(sent_at), Ecn::NotEct, Nanos::ZERO, Instant::MAX);
        if !is_usual {
            self.ingest_any_arrived(seq, at, latest);
        }
    }

    #[inline(never)]
    fn ingest_any_arrived(&mut self, seq: u64, at: impl Fn(Instant) -> Instant, latest: Instant) {
        if self.remembered().contains(&seq) {
            let at = at(self.slot(seq).at);
            self.ingest_other_arrived(seq, at, Ecn::NotEct, latest);
        } else {
            self.refuse_unknown(seq);
        }
    }

    /// Ingests the usual arrival: the first report of a packet all of whose predecessors are settled. The packet
    /// must have arrived no later than `latest` on the receiver's clock, after a transit of at least `least`.
    /// Returns false for any other arrival. The caller ends the report.
    #[inline]
    fn ingest_next(
        &mut self,
        seq: u64,
        at: Instant,
        ecn: Ecn,
        least: Nanos,
        latest: Instant,
    ) -> bool {
        // The slot of a packet that has not left yet holds a settled packet.
        let sent = &mut self.sent[seq as usize % N];
        let is_usual = seq == self.next_unsettled
            && matches!(sent.state, SentState::Unreported)
            && at <= latest
            && at >= sent.at
            && at.nanos_since(sent.at) >= least
            && !self.batch.is_full();
        if is_usual {
            sent.state = SentState::Done;
            let known = BatchedArrival::new(at, seq, seq - self.skipped, ecn, sent);
            self.next_unsettled = seq + 1;
            self.batch.push(known);
        }
        is_usual
    }

    /// Ingests any other arrival.
    #[inline(never)]
    fn ingest_other_arrived(&mut self, seq: u64, at: Instant, ecn: Ecn, latest: Instant) {
        let sent = &mut self.sent[seq as usize % N];
        match sent.state {
            SentState::Arrived { .. } | SentState::Done => {}
            _ if latest <= sent.at => self.refused.too_early += 1,
            SentState::LeftOut => {
                sent.state = SentState::Done;
                self.refused.never_sent += 1;
                self.claims_left_out = true;
            }
            SentState::Unreported | SentState::Missing { .. } => {
                sent.state = SentState::Arrived {
                    at,
                    ecn,
                    covered: 1,
                };
                self.reported = self.reported.max(seq + 1);
            }
            SentState::Lost { skipped } => {
                sent.state = SentState::Done;
                let known = BatchedArrival::new(at, seq, seq - skipped, ecn, sent);
                self.push(known);
            }
        }
    }

    /// Refuses the reported arrival of a packet that is not remembered.
    pub(in super::super) fn refuse_unknown(&mut self, seq: u64) {
        // A repeated claim may be a copy of a damaged report.
        if seq >= self.next.max(self.claimed) {
            self.refused.never_sent += 1;
            self.claimed = seq + 1;
        } else {
            self.refused.unknown += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sent_packets::PacketStatus;
    use crate::units::Bytes;
    use crate::{ReceiverConfig, time::Instant};
    use core::time::Duration;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const COUNT: u64 = 6_000;

    /// Creates a tracker that has sent `count` packets and left out a thirtieth of the numbers. The tracker is
    /// boxed, because two of them exceed the stack of a test in a debug build.
    fn sender(count: u64) -> Box<SentPacketTracker<8_192>> {
        let mut tracker = Box::new(SentPacketTracker::new(0, ReceiverConfig::default()));
        for seq in 0..count {
            let now = Instant::from_micros(10 * seq);
            if seq % 30 == 29 {
                tracker.handle_left_out(now);
            } else {
                tracker.handle_sent(now, Bytes::new(1_000), None);
            }
        }
        tracker
    }

    /// The property must hold for any reports while the first packet waits, in any pieces.
    #[test]
    fn reports_of_what_was_told_before_cost_no_more_the_more_they_speak_of() {
        let runs = (1..COUNT).map(|end| 1..end);
        let back = (1..COUNT).rev().map(|first| first..COUNT);
        let pieces = (1..COUNT).map(|seq| seq..seq + 1);
        let nested = (1..COUNT / 2).map(|seq| seq..COUNT - seq);
        let all_from_each = (1..COUNT).map(|first| first..COUNT);
        for order in [
            runs.collect::<Vec<_>>(),
            back.collect(),
            pieces.collect(),
            nested.collect(),
        ] {
            let mut tracker = sender(COUNT);
            for seq in (100..COUNT).step_by(7) {
                let at = Instant::from_secs(1);
                tracker.ingest_arrived(seq, |_| at, at);
            }
            let runs = order.iter().cloned().chain(all_from_each.clone());
            let count = runs.clone().count();
            let visited: usize = runs.map(|run| tracker.ingest_missing(run)).sum();
            assert_eq!(tracker.next_unsettled, 0);
            // Each packet is visited once when it is first reported, and each run a few times.
            assert!(visited <= COUNT as usize + 4 * count, "{visited}");
        }
    }

    fn status_runs() -> impl Strategy<Value = Vec<StatusRun>> {
        let arrived = (0u64..2_000, any::<bool>()).prop_map(|(ms, marked)| StatusRun::Arrived {
            at: Some(Instant::from_millis(ms)),
            ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
        });
        let missing = (0u16..200).prop_map(|count| StatusRun::Missing { count });
        prop::collection::vec(prop_oneof![arrived, missing], 1..30)
    }

    proptest! {
        /// In particular a run must not skip packets that no report covered.
        #[test]
        fn a_run_says_what_as_many_packets_say_one_after_the_other(
            reports in prop::collection::vec((0u16..400, status_runs(), 0u64..40), 1..20),
        ) {
            let [mut runs, mut singly] = [sender(300), sender(300)];
            let mut now = Instant::from_secs(2);
            for (first, packets, later) in reports {
                now += Duration::from_millis(later);
                let header = ReportHeader { first, made_at: now, resolution: Duration::ZERO };
                let statuses: Vec<PacketStatus> = packets.iter().flat_map(|run| run.statuses()).collect();
                runs.ingest_report(now, &header, packets);
                singly.ingest_report(now, &header, statuses);
                for seq in runs.next_unsettled..runs.next {
                    if let SentState::Missing { covered } | SentState::Arrived { covered, .. } = runs.sent[seq as usize].state {
                        let mut run = runs.sent[seq as usize..].iter().take(covered.into());
                        prop_assert!(run.all(|sent| sent.state != SentState::Unreported));
                    }
                }
                if later % 2 == 0 {
                    prop_assert_eq!(runs.settle(now), singly.settle(now));
                }
                prop_assert_eq!((runs.next_unsettled, runs.reported, runs.skipped), (singly.next_unsettled, singly.reported, singly.skipped));
                prop_assert_eq!(runs.counters(), singly.counters());
                prop_assert_eq!((runs.refused(), runs.never_reported()), (singly.refused(), singly.never_reported()));
            }
        }
    }
}
