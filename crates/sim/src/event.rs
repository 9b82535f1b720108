//! The event queue, in the order of (time, sequence of scheduling).

use tfrc::time::Instant;

/// A radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990) in base 32 with a short calendar in front: a
/// priority queue for times that never go back, which a simulator's do not.
///
/// The calendar has all events before `near_end`, in days of equal length, few enough in each to be kept in
/// order one by one. The others are in buckets: the one of level l and slot d has those whose time first
/// differs from `base` in digit l, which is d. When the calendar is empty it takes in the first bucket, or
/// that is dealt out to lower levels if it is too crowded. So an event moves a few times, mostly in a batch
/// that lies together in memory, and the cost hardly grows with the number of events. Events of one time are
/// always in one place and keep their order in every move: no sequence number need be stored.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    /// No event is earlier.
    now: u64,
    /// The calendar: what happens on each day, the first to happen last.
    days: [Vec<(u64, E)>; DAYS],
    /// Bit d is set if something happens on day d.
    busy_days: u64,
    /// Binary logarithm of a day.
    day_bits: u32,
    near_end: u64,
    /// The calendar has the times whose digits from this level on equal the digits of `base`; none at level 0, where
    /// they all would be equal.
    level: u32,
    base: u64,
    buckets: Vec<Vec<(u64, E)>>,
    /// Bit d of element l is set if the bucket of level l and slot d is not empty.
    slots: [u32; LEVELS],
    /// Bit l is set if element l of `slots` is not zero.
    levels: u16,
}

const DIGIT_BITS: u32 = 5;
const SLOTS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;

const DAYS: usize = u64::BITS as usize;

/// So many events of a bucket are a few a day.
const MAX_NEAR: usize = 128;

/// About where keeping the events of a day in order costs as much as another move.
const MAX_A_DAY: usize = 16;

/// Enough events that a fetch of all their data takes little more time than a fetch for one.
const MIN_BATCH: usize = 32;

/// No more events than have their data in a near cache when the last of them happens.
const MAX_BATCH: usize = 128;

impl<E: Copy> EventQueue<E> {
    pub(crate) fn new() -> Self {
        Self {
            now: 0,
            days: [const { Vec::new() }; DAYS],
            busy_days: 0,
            day_bits: 0,
            near_end: 0,
            level: 0,
            base: 0,
            buckets: vec![Vec::new(); LEVELS * SLOTS],
            slots: [0; LEVELS],
            levels: 0,
        }
    }

    /// Schedules an event; one in the past happens now.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: E) {
        let at = at.as_nanos().max(self.now);
        if at >= self.near_end {
            return self.place(at, event);
        }
        if self.insert(at, event) > MAX_A_DAY {
            self.shorten();
        }
    }

    /// The next event, if it is due by `until`.
    #[inline]
    pub(crate) fn pop_until(&mut self, until: Instant) -> Option<(Instant, E)> {
        let until = until.as_nanos();
        if self.busy_days == 0 && !self.advance(until) {
            return None;
        }
        let number = self.busy_days.trailing_zeros() as usize % DAYS;
        let day = &mut self.days[number];
        let (at, event) = day.pop_if(|&mut (at, _)| at <= until)?;
        self.busy_days &= !(u64::from(day.is_empty()) << number);
        self.now = at;
        Some((Instant::from_nanos(at), event))
    }

    /// What happens next, as far as the calendar tells.
    #[inline]
    pub(crate) fn peek(&self) -> Option<E> {
        let number = self.busy_days.trailing_zeros() as usize % DAYS;
        self.days[number].last().map(|&(_, event)| event)
    }

    /// The events that happen next, some `MIN_BATCH` to `MAX_BATCH` of them but for a crowd that is still to be dealt
    /// out, and the time up to which there are no others.
    pub(crate) fn preview(&self) -> (Vec<E>, Instant) {
        let mut next = Vec::with_capacity(MAX_BATCH);
        let mut until = self.now;
        let mut take = |events: &[(u64, E)]| {
            for &(at, event) in events {
                next.push(event);
                until = until.max(at);
            }
            next.len() < MIN_BATCH
        };
        let buckets = ones(self.levels.into()).flat_map(|level| {
            let slots = ones(self.slots[level].into());
            slots.map(move |slot| &self.buckets[level * SLOTS + slot])
        });
        let mut next_places = ones(self.busy_days)
            .map(|day| &self.days[day])
            .chain(buckets);
        let mut goes_on = true;
        while goes_on
            && let Some(place) = next_places.next()
            && place.len() <= MAX_BATCH
        {
            goes_on = take(place);
        }
        (next, Instant::from_nanos(until))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.busy_days == 0 && self.levels == 0
    }

    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let level = (at ^ self.base).checked_ilog2().unwrap_or(0) / DIGIT_BITS;
        let slot = (at >> (level * DIGIT_BITS)) as usize % SLOTS;
        self.buckets[level as usize * SLOTS + slot].push((at, event));
        self.slots[level as usize] |= 1 << slot;
        self.levels |= 1 << level;
    }

    /// Puts an event into the calendar, and says how many that day has.
    #[inline]
    fn insert(&mut self, at: u64, event: E) -> usize {
        let number = ((at - self.base) >> self.day_bits) as usize % DAYS;
        self.busy_days |= 1 << number;
        let day = &mut self.days[number];
        let mut place = day.len();
        day.push((at, event));
        while let Some(index) = place.checked_sub(1)
            && day[index].0 <= at
        {
            day[place] = day[index];
            place = index;
        }
        day[place] = (at, event);
        day.len()
    }

    /// Lets the calendar have the times around `at` whose digits from `level` on equal the digits of `at`.
    fn approach(&mut self, at: u64, level: u32) {
        let span = 1 << (level * DIGIT_BITS);
        self.level = level;
        self.base = at & !(span - 1);
        self.day_bits = (level * DIGIT_BITS).saturating_sub(DAYS.ilog2());
        self.near_end = match level {
            0 => self.base,
            _ => self.base.saturating_add(span),
        };
    }

    /// Fills the empty calendar. False, and nothing moves, if there is no event by `until`.
    fn advance(&mut self, until: u64) -> bool {
        while self.levels > 0 {
            let level = self.levels.trailing_zeros();
            let slots = &mut self.slots[level as usize];
            let index = level as usize * SLOTS + slots.trailing_zeros() as usize;
            let times = self.buckets[index].iter().map(|&(at, _)| at);
            let earliest = times.fold(u64::MAX, u64::min);
            if earliest > until {
                return false;
            }
            *slots &= *slots - 1;
            if *slots == 0 {
                self.levels &= self.levels - 1;
            }
            // Nothing returns to a bucket that is emptied, for all of it is now nearer.
            if level == 0 || self.buckets[index].len() <= MAX_NEAR {
                self.approach(earliest, level);
                self.take_in(index);
                return true;
            }
            self.approach(earliest, 0);
            for number in 0..self.buckets[index].len() {
                let (at, event) = self.buckets[index][number];
                self.place(at, event);
            }
            self.buckets[index].clear();
        }
        false
    }

    /// Moves a bucket to the empty calendar.
    fn take_in(&mut self, bucket: usize) {
        let mut events = core::mem::take(&mut self.buckets[bucket]);
        if self.level == 0 {
            // All of one time, of which there may be many.
            self.days[0].extend(events.drain(..).rev());
            self.busy_days = 1;
        }
        for (at, event) in events.drain(..) {
            self.insert(at, event);
        }
        self.buckets[bucket] = events;
    }

    /// Moves the later part of a calendar with a crowded day to buckets.
    #[cold]
    fn shorten(&mut self) {
        let mut is_crowded = true;
        while is_crowded && self.level > 0 {
            is_crowded = false;
            let days = self.days.iter_mut().flat_map(|day| day.drain(..).rev());
            let events: Vec<(u64, E)> = days.collect();
            self.busy_days = 0;
            self.approach(self.now, self.level - 1);
            for (at, event) in events {
                if at >= self.near_end {
                    self.place(at, event);
                } else {
                    is_crowded |= self.insert(at, event) > MAX_A_DAY;
                }
            }
        }
    }
}

/// The places of the bits that are set, in ascending order.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.checked_ilog2().map(|_| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(place as usize)
    })
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
        fn what_is_previewed_is_all_that_happens_until_then(
            times in prop::collection::vec((0..40u32, any::<u64>()), 1..900),
            happened in 0..300usize,
        ) {
            let mut queue = EventQueue::new();
            for (number, (shift, draw)) in times.iter().enumerate() {
                queue.push(Instant::from_nanos(draw >> 24 >> (39 - shift)), number);
            }
            for _ in 0..happened.min(times.len() - 1) {
                queue.pop_until(Instant::MAX);
            }
            let (mut previewed, until) = queue.preview();
            let mut popped: Vec<usize> = std::iter::from_fn(|| queue.pop_until(until))
                .map(|(_, event)| event)
                .collect();
            // Of a crowd in one place it is not known who comes first; else there is somebody to name.
            prop_assert!(!previewed.is_empty() || times.len() > MAX_BATCH);
            previewed.sort_unstable();
            popped.sort_unstable();
            prop_assert_eq!(previewed, popped);
        }

        #[test]
        fn the_order_is_that_of_a_sorted_map(steps in prop::collection::vec((0..3u8, 0..40u32, any::<u64>()), 1..600)) {
            let mut queue = EventQueue::new();
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (sequence, (pops, shift, draw)) in steps.into_iter().enumerate() {
                let at = now + (draw >> 24 >> (39 - shift));
                queue.push(Instant::from_nanos(at), sequence);
                model.insert((at, sequence), ());
                // First so many that a day is crowded.
                for _ in 0..if sequence < 100 { pops / 2 } else { pops } {
                    let peeked = queue.peek();
                    let expected = model.pop_first().map(|((at, event), ())| (Instant::from_nanos(at), event));
                    prop_assert_eq!(queue.pop_until(Instant::MAX), expected);
                    prop_assert!(peeked.is_none_or(|event| expected.is_some_and(|(_, next)| event == next)));
                    now = expected.map_or(now, |(at, _)| at.as_nanos());
                }
            }
        }
    }
}
