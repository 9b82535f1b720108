//! The event queue: what happens next, in the order of (time, sequence of scheduling).

use tfrc::time::Instant;

/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990): a priority queue for times that never go
/// back, which a simulator's do not.
///
/// Bucket b holds the events whose time first differs from the present time in bit b - 1; bucket 0
/// those of the present. An event moves to a lower bucket at most 64 times, always in a batch that
/// lies together in memory, so the cost hardly grows with the number of events. Events of one time
/// are always in one bucket and keep their order in every move: no sequence number need be stored.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    /// No event is earlier.
    now: u64,
    /// Events of the present time, from `next` on.
    present: Vec<E>,
    next: usize,
    future: [Vec<(u64, E)>; 64],
    /// Bit b is set if `future[b]` is not empty.
    occupied: u64,
}

impl<E: Copy> EventQueue<E> {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            present: Vec::new(),
            next: 0,
            future: [const { Vec::new() }; 64],
            occupied: 0,
        }
    }

    /// Schedules an event; one in the past happens now.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: E) {
        let at = at.as_nanos().max(self.now);
        self.place(at, event);
    }

    /// The next event, if it is due by `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: Instant) -> Option<(Instant, E)> {
        if self.next == self.present.len() && !self.advance(until.as_nanos()) {
            return None;
        }
        let event = self.present[self.next];
        self.next += 1;
        Some((Instant::from_nanos(self.now), event))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.present.len() && self.occupied == 0
    }

    #[inline]
    fn place(&mut self, at: u64, event: E) {
        match (at ^ self.now).checked_ilog2() {
            None => self.present.push(event),
            Some(bucket) => {
                self.future[bucket as usize].push((at, event));
                self.occupied |= 1 << bucket;
            }
        }
    }

    /// Moves on to the time of the next event. False, and nothing moves, if that is after `until`.
    fn advance(&mut self, until: u64) -> bool {
        if self.occupied == 0 {
            return false;
        }
        let lowest = self.occupied.trailing_zeros() as usize;
        let earliest = |least: u64, &(at, _): &(u64, E)| least.min(at);
        let at = self.future[lowest].iter().fold(u64::MAX, earliest);
        if at > until {
            return false;
        }
        self.now = at;
        self.present.clear();
        self.next = 0;
        self.occupied &= self.occupied - 1;
        if let [(_, event)] = self.future[lowest][..] {
            self.future[lowest].clear();
            self.present.push(event);
            return true;
        }
        // Nothing returns to the bucket, for all of it is now nearer.
        for index in 0..self.future[lowest].len() {
            let (at, event) = self.future[lowest][index];
            self.place(at, event);
        }
        self.future[lowest].clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn events_of_one_time_happen_in_the_order_in_which_they_were_scheduled() {
        let mut queue = EventQueue::new();
        let at = Instant::from_nanos(1_000_003);
        queue.push(at, 'a');
        queue.push(Instant::from_nanos(1_000_000), 'x');
        queue.push(at, 'b');
        assert_eq!(queue.pop_until(Instant::MAX).map(|(_, e)| e), Some('x'));
        // Nearer now, in another bucket than when the first two were scheduled.
        queue.push(at, 'c');
        let rest: String = std::iter::from_fn(|| queue.pop_until(Instant::MAX))
            .map(|(_, event)| event)
            .collect();
        assert_eq!(rest, "abc");
        assert!(queue.is_empty());
    }

    #[test]
    fn what_is_due_later_stays_and_leaves_room_for_what_comes_before() {
        let mut queue = EventQueue::new();
        queue.push(Instant::from_secs(9), 1);
        assert_eq!(queue.pop_until(Instant::from_secs(8)), None);
        queue.push(Instant::from_secs(3), 2);
        assert_eq!(
            queue.pop_until(Instant::from_secs(8)),
            Some((Instant::from_secs(3), 2))
        );
        // In the past: now.
        queue.push(Instant::from_secs(1), 3);
        assert_eq!(
            queue.pop_until(Instant::from_secs(8)),
            Some((Instant::from_secs(3), 3))
        );
        assert!(!queue.is_empty());
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_sorted_map(steps in prop::collection::vec((0..3u8, 0..40u32, any::<u64>()), 1..400)) {
            let mut queue = EventQueue::new();
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (sequence, (pops, shift, draw)) in steps.into_iter().enumerate() {
                let at = now + (draw >> 24 >> (39 - shift));
                queue.push(Instant::from_nanos(at), sequence);
                model.insert((at, sequence), ());
                for _ in 0..pops {
                    let expected = model.pop_first().map(|((at, event), ())| (Instant::from_nanos(at), event));
                    prop_assert_eq!(queue.pop_until(Instant::MAX), expected);
                    now = expected.map_or(now, |(at, _)| at.as_nanos());
                }
            }
        }
    }
}
