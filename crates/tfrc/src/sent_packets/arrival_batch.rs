//! Arrivals that reports made known, until they are handed on in the order of time.

use super::sent_record::SentRecord;
use crate::Ecn;
use crate::time::Instant;

/// Arrivals put into order at a time: more than one report of a datagram's size tells.
pub(super) const BATCH: usize = 1_024;
/// Arrivals come almost in order. Where they do not, they are sorted at a cost that their number bounds.
const MOVES: usize = 8 * BATCH;

/// A packet that is to be counted as arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchedArrival {
    /// When it arrived, on the time line of the receiver's clock.
    pub(super) at: Instant,
    pub(super) seq: u64,
    /// Its number among the packets that were reported.
    pub(super) number: u64,
    pub(super) size: u16,
    pub(super) ecn: Ecn,
    /// It tells nothing but that it came, if the packet with the number before did.
    pub(super) is_plain: bool,
}

impl BatchedArrival {
    #[inline]
    pub(super) const fn new(
        at: Instant,
        seq: u64,
        number: u64,
        ecn: Ecn,
        sent: &SentRecord,
    ) -> Self {
        Self {
            at,
            seq,
            number,
            size: sent.size,
            ecn,
            is_plain: sent.is_plain && !ecn.is_marked(),
        }
    }
}

/// A list of bounded length.
#[derive(Clone, Debug)]
pub(super) struct ArrivalBatch {
    known: [BatchedArrival; BATCH],
    len: usize,
    /// How many were taken last; they stay until another is added.
    taken: usize,
    /// When the last of them arrived.
    latest: Instant,
    /// How often one took the place of another to bring them into order.
    moves: usize,
}

impl ArrivalBatch {
    pub(super) const fn new() -> Self {
        const NONE: BatchedArrival =
            BatchedArrival::new(Instant::ZERO, 0, 0, Ecn::NotEct, &SentRecord::NONE);
        Self {
            known: [NONE; BATCH],
            len: 0,
            taken: 0,
            latest: Instant::ZERO,
            moves: 0,
        }
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len >= BATCH
    }

    /// Adds an arrival to a list that is not full.
    #[inline]
    pub(super) fn push(&mut self, known: BatchedArrival) {
        self.known[self.len] = known;
        self.len += 1;
        if known.at < self.latest {
            self.sink();
        } else {
            self.latest = known.at;
        }
    }

    /// Brings the last to its place by the time of its arrival: not far back, as a rule.
    #[inline(never)]
    fn sink(&mut self) {
        let mut place = self.len - 1;
        while place > 0 && self.known[place - 1].at > self.known[place].at && self.moves < MOVES {
            self.known.swap(place - 1, place);
            place -= 1;
            self.moves += 1;
        }
    }

    /// The last to have arrived, unless more are out of order than is cheap to know.
    pub(super) fn last(&self) -> Option<&BatchedArrival> {
        self.known[..self.len].last()
    }

    /// All of them in the order of time, of which nothing stays.
    pub(super) fn take(&mut self) -> &[BatchedArrival] {
        let known = &mut self.known[..self.len];
        if self.moves == MOVES {
            known.sort_unstable_by_key(|known| (known.at, known.seq));
        }
        self.taken = self.len;
        (self.len, self.latest, self.moves) = (0, Instant::ZERO, 0);
        known
    }

    /// Nothing was taken.
    pub(super) fn forget_taken(&mut self) {
        self.taken = 0;
    }

    /// What was taken last, unless an arrival was added since.
    pub(super) fn taken(&self) -> &[BatchedArrival] {
        let taken = if self.len == 0 { self.taken } else { 0 };
        &self.known[..taken]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        #[test]
        fn arrivals_come_out_in_the_order_of_time_and_of_numbers(times in proptest::collection::vec(0..200u64, 0..BATCH)) {
            let mut batch = ArrivalBatch::new();
            let known = (0..).zip(&times).map(|(seq, nanos)| {
                BatchedArrival::new(Instant::from_nanos(*nanos), seq, seq, Ecn::NotEct, &SentRecord::NONE)
            });
            let mut expected: Vec<_> = known.clone().collect();
            known.for_each(|known| batch.push(known));
            expected.sort_by_key(|known| (known.at, known.seq));
            prop_assert_eq!(batch.take(), expected);
            prop_assert!(batch.take().is_empty());
        }
    }
}
