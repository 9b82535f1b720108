//! Collects reported arrivals until they are passed to the receiver in the order of time.

use super::sent_record::SentRecord;
use crate::Ecn;
use crate::time::Instant;

/// The most arrivals that are sorted together: more than a report in one datagram covers.
pub(super) const BATCH: usize = 1_024;
/// The most exchanges of neighbours, after which the whole batch is sorted once. Arrivals are usually almost in
/// order.
const MAX_SWAPS: usize = 8 * BATCH;

/// A packet that will be counted as arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchedArrival {
    /// The time of arrival on the time line of the receiver's clock.
    pub(super) at: Instant,
    pub(super) seq: u64,
    /// The number among the packets that were reported.
    pub(super) number: u64,
    pub(super) size: u16,
    pub(super) ecn: Ecn,
    /// The arrival carries no further news if the packet with the number before has arrived.
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

/// A bounded list of arrivals.
#[derive(Clone, Debug)]
pub(super) struct ArrivalBatch {
    known: [BatchedArrival; BATCH],
    len: usize,
    /// The number of arrivals that were last taken, which stay until another arrival is added.
    taken: usize,
    /// The latest time of arrival in the list.
    latest: Instant,
    /// The number of exchanges that brought the list into order.
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

    /// Moves the last arrival to its place in the order of time, usually a short way.
    #[inline(never)]
    fn sink(&mut self) {
        let mut place = self.len - 1;
        while place > 0 && self.known[place - 1].at > self.known[place].at && self.moves < MAX_SWAPS
        {
            self.known.swap(place - 1, place);
            place -= 1;
            self.moves += 1;
        }
    }

    /// Returns the last to arrive. The result may be another arrival if more are out of order than [`MAX_SWAPS`]
    /// permits.
    pub(super) fn last(&self) -> Option<&BatchedArrival> {
        self.known[..self.len].last()
    }

    /// Returns all arrivals in the order of time, and empties the list.
    pub(super) fn take(&mut self) -> &[BatchedArrival] {
        let known = &mut self.known[..self.len];
        if self.moves == MAX_SWAPS {
            known.sort_unstable_by_key(|known| (known.at, known.seq));
        }
        self.taken = self.len;
        (self.len, self.latest, self.moves) = (0, Instant::ZERO, 0);
        known
    }

    /// Forgets the arrivals that were last taken.
    pub(super) fn forget_taken(&mut self) {
        self.taken = 0;
    }

    /// Returns the arrivals that were last taken, unless one was added since.
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
