//! What reports say of packets, until their turn.

use super::super::batch::Known;
use super::super::{Fate, Header};
use super::{Departures, State};
use crate::Ecn;
use crate::time::{Instant, Nanos};

impl<const N: usize> Departures<N> {
    /// Notes a report that came at `now`: what it says of itself, then of one packet after the other.
    pub fn note_report(
        &mut self,
        now: Instant,
        header: &Header,
        packets: impl IntoIterator<Item = Fate>,
    ) {
        let Some(first) = self.extend(header.first) else {
            return;
        };
        self.resolution = header.resolution;
        self.vector = None;
        let made_at = self.clock.handle_report(now, header.made_at);
        // Where our clock stands when the receiver's, on its time line, shows the time of an arrival.
        let came = now + header.resolution;
        let (ahead, behind) = (came.nanos_since(made_at), made_at.nanos_since(came));
        let remembered = self.remembered();
        let held = remembered.end - remembered.start;
        let done = self.settled.max(remembered.start).max(first)..self.turn;
        let least = behind.just_above(ahead);
        let mut told = packets.into_iter().take(1 << 16);
        let mut next = first;
        while let Some(fate) = told.next() {
            let seq = next;
            if seq == done.start && !done.is_empty() {
                // Each packet is reported more than once.
                next = done.end;
                if let Some(others) = (done.end - seq - 1).checked_sub(1) {
                    told.nth(others as usize);
                }
                continue;
            }
            next += 1;
            if let Fate::Arrived { at: Some(at), ecn } = fate
                && self.note_next(seq, self.clock.place(at), ecn, least, made_at)
            {
                continue;
            }
            let is_known = seq.wrapping_sub(remembered.start) < held;
            match fate {
                Fate::Missing if is_known => self.note_missing(seq),
                Fate::Missing => {}
                Fate::Arrived { at, ecn } if is_known => {
                    let at = at.map_or(made_at, |at| self.clock.place(at).min(made_at));
                    // It came as long before the report was made as it left, at least, before the report came.
                    self.note_other_arrived(seq, at, ecn, at + ahead - behind);
                }
                Fate::Arrived { .. } => self.refuse_unknown(seq),
            }
        }
        self.reported = self.reported.max(self.turn);
    }

    /// Notes that a packet, which is remembered, is reported as missing. It may yet arrive, and what arrived
    /// stays so.
    #[inline]
    pub(in super::super) fn note_missing(&mut self, seq: u64) {
        let is_next = seq == self.turn;
        let sent = self.slot(seq);
        match sent.state {
            State::Unreported => sent.state = State::Missing,
            State::LeftOut if is_next => {}
            _ => return,
        }
        self.reported = self.reported.max(seq + 1);
        if is_next {
            self.take_turn();
        }
    }

    /// Notes that a packet, which is remembered, is reported as arrived, no later than `latest` on our
    /// clock: it must have left before.
    #[inline]
    pub(in super::super) fn note_arrived(
        &mut self,
        seq: u64,
        at: Instant,
        ecn: Ecn,
        latest: Instant,
    ) {
        let is_early = latest <= self.slot(seq).at;
        if is_early || !self.note_next(seq, at, ecn, Nanos::ZERO, Instant::MAX) {
            self.note_other_arrived(seq, at, ecn, latest);
        }
        self.reported = self.reported.max(self.turn);
    }

    /// The same if it is told the first time, all below had their turn, and it came no later than `latest` on the
    /// receiver's clock and was on its way for as long as that report's must be: so are nearly all. The caller
    /// moves `reported`.
    #[inline]
    fn note_next(
        &mut self,
        seq: u64,
        at: Instant,
        ecn: Ecn,
        least: Nanos,
        latest: Instant,
    ) -> bool {
        // What has not left yet lies where one that had its turn was.
        let sent = &mut self.sent[seq as usize % N];
        let is_usual = seq == self.turn
            && matches!(sent.state, State::Unreported)
            && at <= latest
            && at >= sent.at
            && at.nanos_since(sent.at) >= least
            && !self.batch.is_full();
        if is_usual {
            sent.state = State::Done;
            let known = Known::new(at, seq, seq - self.skipped, ecn, sent);
            self.turn = seq + 1;
            self.in_hole = false;
            self.batch.push(known);
        }
        is_usual
    }

    /// The same for any other packet.
    #[inline(never)]
    fn note_other_arrived(&mut self, seq: u64, at: Instant, ecn: Ecn, latest: Instant) {
        let sent = &mut self.sent[seq as usize % N];
        match sent.state {
            State::Arrived { .. } | State::Done => {}
            State::LeftOut => {
                sent.state = State::Done;
                self.refused.never_sent += 1;
            }
            _ if latest <= sent.at => self.refused.too_early += 1,
            State::Unreported | State::Missing => {
                sent.state = State::Arrived { at, ecn };
                self.reported = self.reported.max(seq + 1);
            }
            State::Lost { skipped } => {
                sent.state = State::Done;
                let known = Known::new(at, seq, seq - skipped, ecn, sent);
                self.push(known);
            }
        }
    }

    /// Notes that an arrival was reported of a packet that is not remembered.
    pub(in super::super) fn refuse_unknown(&mut self, seq: u64) {
        // Said again it may be a copy of a report that was damaged on its way.
        if seq >= self.next.max(self.claimed) {
            self.refused.never_sent += 1;
            self.claimed = seq + 1;
        } else {
            self.refused.unknown += 1;
        }
    }
}
