//! What reports say of packets, until their turn.

use core::ops::Range;

use super::super::batch::Known;
use super::super::{Header, Told};
use super::{Departures, State};
use crate::Ecn;
use crate::time::{Instant, Nanos};

impl<const N: usize> Departures<N> {
    /// Notes a report that came at `now`: what it says of itself, then of one packet after the other.
    pub fn note_report(
        &mut self,
        now: Instant,
        header: &Header,
        packets: impl IntoIterator<Item = impl Into<Told>>,
    ) {
        let Some(first) = self.extend(header.first) else {
            return;
        };
        let mut told = packets.into_iter().map(Into::<Told>::into);
        let remembered = self.remembered_for(now);
        let Some(made_at) = self.clock.handle_report(now, header.made_at, remembered) else {
            let arrived = told.filter(|told| matches!(told, Told::Arrived { .. }));
            self.refused.unknown += arrived.count() as u64;
            return;
        };
        self.note_begin(first);
        self.resolution = header.resolution;
        self.vector = None;
        // Where our clock stands when the receiver's, on its time line, shows the time of an arrival.
        let came = now + header.resolution;
        let (ahead, behind) = (came.nanos_since(made_at), made_at.nanos_since(came));
        let remembered = self.remembered();
        let held = remembered.end - remembered.start;
        let note_other = |departures: &mut Self, seq: u64, at: Option<Instant>, ecn| {
            if seq.wrapping_sub(remembered.start) < held {
                let at = at.map_or(made_at, |at| departures.clock.place(at).min(made_at));
                // It came as long before the report was made as it left, at least, before the report came.
                departures.note_other_arrived(seq, at, ecn, at + ahead - behind);
            } else {
                departures.refuse_unknown(seq);
            }
        };
        let mut next = first;
        let Range {
            start: settled,
            end: turn,
        } = self.settled();
        while next < settled
            && let Some(this) = told.next()
        {
            if let Told::Arrived { at, ecn } = this {
                note_other(self, next, at, ecn);
            }
            next += this.count();
        }
        // Each packet is reported more than once.
        while next < turn
            && let Some(this) = told.next()
        {
            next += this.count();
        }
        self.note_missing(first.max(turn)..next);
        let least = behind.just_above(ahead);
        for this in told {
            let seq = next;
            next += this.count();
            match this {
                Told::Missing { .. } => {
                    self.note_missing(seq..next);
                }
                Told::Arrived { at: Some(at), ecn }
                    if self.note_next(seq, self.clock.place(at), ecn, least, made_at) => {}
                Told::Arrived { at, ecn } => note_other(self, seq, at, ecn),
            }
        }
        self.note_end();
    }

    /// A report begins, which speaks of no packet before `first`: none of these loses its place before it is counted.
    #[inline]
    pub(in super::super) fn note_begin(&mut self, first: u64) {
        self.full_at = self.full_at.min(self.next.max(first + N as u64));
    }

    /// A report ends: all that had their turn meanwhile were reported.
    #[inline]
    pub(in super::super) fn note_end(&mut self) {
        self.reported = self.reported.max(self.turn);
    }

    /// Notes that packets in a row are reported as missing, of which only those matter that left and wait for their
    /// turn. They may yet arrive, and what arrived stays so. Gives how many had to be looked at.
    pub(in super::super) fn note_missing(&mut self, run: Range<u64>) -> usize {
        let mut run = run.start.max(self.turn)..run.end.min(self.next);
        let mut looked_at = 0;
        while !run.is_empty() {
            run.start = self.note_first_missing(&run);
            looked_at += 1;
        }
        looked_at
    }

    /// Notes the first of a run, and gives the next to look at.
    #[inline]
    fn note_first_missing(&mut self, run: &Range<u64>) -> u64 {
        let seq = run.start;
        let is_next = seq == self.turn;
        let told_from_here = (run.end - seq) as u16;
        let sent = self.slot(seq);
        match &mut sent.state {
            State::Missing { told } | State::Arrived { told, .. } => {
                // Whatever was told before is stepped over at once, and next time with this.
                let next = seq + u64::from(*told);
                *told = told_from_here.max(*told);
                return next;
            }
            State::Unreported => {
                sent.state = State::Missing {
                    told: told_from_here,
                };
            }
            State::LeftOut if is_next => {}
            State::LeftOut | State::Lost { .. } | State::Done => return seq + 1,
        }
        self.reported = self.reported.max(seq + 1);
        if is_next {
            self.take_turn();
        }
        seq + 1
    }

    /// Notes that a packet is reported as arrived, at a time that follows from when it left, and no later than `latest` on
    /// our clock: it must have left before. The caller notes the end of the report.
    #[inline]
    pub(in super::super) fn note_arrived(
        &mut self,
        seq: u64,
        at: impl Fn(Instant) -> Instant,
        latest: Instant,
    ) {
        let sent_at = self.slot(seq).at;
        let is_usual = seq == self.turn
            && seq < self.next
            && sent_at < latest
            && self.note_next(seq, at(sent_at), Ecn::NotEct, Nanos::ZERO, Instant::MAX);
        if !is_usual {
            self.note_any_arrived(seq, at, latest);
        }
    }

    #[inline(never)]
    fn note_any_arrived(&mut self, seq: u64, at: impl Fn(Instant) -> Instant, latest: Instant) {
        if self.remembered().contains(&seq) {
            let at = at(self.slot(seq).at);
            self.note_other_arrived(seq, at, Ecn::NotEct, latest);
        } else {
            self.refuse_unknown(seq);
        }
    }

    /// The same if it is told the first time, all below had their turn, and it came no later than `latest` on the
    /// receiver's clock and was on its way for as long as that report's must be: so are nearly all. The caller
    /// notes the end of the report.
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
            _ if latest <= sent.at => self.refused.too_early += 1,
            State::LeftOut => {
                sent.state = State::Done;
                self.refused.never_sent += 1;
            }
            State::Unreported | State::Missing { .. } => {
                sent.state = State::Arrived { at, ecn, told: 1 };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Fate;
    use crate::units::Bytes;
    use crate::{ReceiverConfig, time::Instant};
    use core::time::Duration;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const COUNT: u64 = 6_000;

    /// One that has sent so many packets, a thirtieth of whose numbers were left out; boxed, since two of them are more
    /// than the stack of a test holds in a debug build.
    fn sender(count: u64) -> Box<Departures<8_192>> {
        let mut departures = Box::new(Departures::new(0, ReceiverConfig::default()));
        for seq in 0..count {
            let now = Instant::from_micros(10 * seq);
            if seq % 30 == 29 {
                departures.handle_left_out(now);
            } else {
                departures.handle_sent(now, Bytes::new(1_000), None);
            }
        }
        departures
    }

    /// Whatever they tell while the first waits, and in whatever pieces.
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
            let mut departures = sender(COUNT);
            for seq in (100..COUNT).step_by(7) {
                let at = Instant::from_secs(1);
                departures.note_arrived(seq, |_| at, at);
            }
            let runs = order.iter().cloned().chain(all_from_each.clone());
            let count = runs.clone().count();
            let looked_at: usize = runs.map(|run| departures.note_missing(run)).sum();
            assert_eq!(departures.turn, 0);
            // Each once when it is told of, and some a run.
            assert!(looked_at <= COUNT as usize + 4 * count, "{looked_at}");
        }
    }

    fn told() -> impl Strategy<Value = Vec<Told>> {
        let arrived = (0u64..2_000, any::<bool>()).prop_map(|(ms, marked)| Told::Arrived {
            at: Some(Instant::from_millis(ms)),
            ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
        });
        let missing = (0u16..200).prop_map(|count| Told::Missing { count });
        prop::collection::vec(prop_oneof![arrived, missing], 1..30)
    }

    proptest! {
        /// In particular, that none that no report spoke of is passed over.
        #[test]
        fn a_run_says_what_as_many_packets_say_one_after_the_other(
            reports in prop::collection::vec((0u16..400, told(), 0u64..40), 1..20),
        ) {
            let [mut runs, mut singly] = [sender(300), sender(300)];
            let mut now = Instant::from_secs(2);
            for (first, told, later) in reports {
                now += Duration::from_millis(later);
                let header = Header { first, made_at: now, resolution: Duration::ZERO };
                let fates: Vec<Fate> = told.iter().flat_map(|told| told.fates()).collect();
                runs.note_report(now, &header, told);
                singly.note_report(now, &header, fates);
                for seq in runs.turn..runs.next {
                    if let State::Missing { told } | State::Arrived { told, .. } = runs.sent[seq as usize].state {
                        let mut told = runs.sent[seq as usize..].iter().take(told.into());
                        prop_assert!(told.all(|sent| sent.state != State::Unreported));
                    }
                }
                if later % 2 == 0 {
                    prop_assert_eq!(runs.conclude(now), singly.conclude(now));
                }
                prop_assert_eq!((runs.turn, runs.reported, runs.skipped), (singly.turn, singly.reported, singly.skipped));
                prop_assert_eq!(runs.counters(), singly.counters());
                prop_assert_eq!((runs.refused(), runs.never_reported()), (singly.refused(), singly.never_reported()));
            }
        }
    }
}
