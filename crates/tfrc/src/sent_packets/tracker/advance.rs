//! Settles packets in the order of their numbers: each is counted, lost or skipped in its turn.

use super::super::arrival_batch::BatchedArrival;
use super::super::sent_record::SentState;
use super::SentPacketTracker;

impl<const N: usize> SentPacketTracker<N> {
    /// Settles packets up to the first that was not reported.
    #[inline]
    pub(super) fn advance(&mut self) {
        while self.next_unsettled < self.reported
            && self.sent[self.next_unsettled as usize % N].state != SentState::Unreported
        {
            self.settle_next();
        }
    }

    pub(super) fn settle_next(&mut self) {
        let (seq, skipped) = (self.next_unsettled, self.skipped);
        self.next_unsettled = seq + 1;
        let sent = &mut self.sent[seq as usize % N];
        let state = sent.state;
        match state {
            SentState::Arrived { at, ecn, .. } => {
                sent.state = SentState::Done;
                let known = BatchedArrival::new(at, seq, seq - skipped, ecn, sent);
                self.push(known);
            }
            SentState::Missing { .. } => {
                sent.state = SentState::Lost { skipped };
                self.final_from = self.next_unsettled;
            }
            SentState::Unreported => {
                self.final_from = self.next_unsettled;
                sent.state = if self.hole_end == seq || self.is_trusting {
                    self.skipped += 1;
                    SentState::Done
                } else {
                    SentState::Lost { skipped }
                };
                self.hole_end = self.next_unsettled;
                self.never_reported += 1;
            }
            SentState::LeftOut | SentState::Lost { .. } | SentState::Done => {
                self.final_from = self.next_unsettled;
                self.skipped += 1;
                if self.hole_end == seq {
                    self.hole_end = self.next_unsettled;
                } else if state == SentState::LeftOut {
                    self.suspicions.lies.refute();
                }
            }
        }
    }

    /// Settles all packets below `end`, reported or not.
    #[inline(never)]
    pub(super) fn give_up(&mut self, end: u64) {
        while self.next_unsettled < end {
            self.settle_next();
        }
    }

    /// Settles all packets that would leave no room for the next one, and counts reported arrivals that were not
    /// yet settled. Reports of these packets are so late that their 16 bits may mean other packets, so they prove
    /// no lie.
    pub(super) fn make_room(&mut self) {
        if self.has_room() {
            return;
        }
        let end = self.next - (N as u64 - 1);
        for seq in self.next_unsettled..end {
            let sent = self.slot(seq);
            if sent.state == SentState::LeftOut {
                sent.state = SentState::Done;
            }
        }
        self.give_up(end);
        self.reported = self.reported.max(end);
        // A later count would attribute these arrivals to the packets that take over their slots.
        if self.batch.last().is_some() {
            self.count();
            self.batch.forget_taken();
        }
        self.full_at = self.next_unsettled + N as u64;
    }

    #[inline]
    pub(super) fn push(&mut self, known: BatchedArrival) {
        if self.batch.is_full() {
            self.count();
        }
        self.batch.push(known);
    }
}
