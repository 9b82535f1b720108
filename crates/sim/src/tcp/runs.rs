//! A set of packet numbers as a sorted list of runs: what a receiver holds out of order, and what a
//! sender knows of it.

use std::collections::VecDeque;
use std::ops::Range;

/// Disjoint runs in ascending order, with a gap between any two.
///
/// What lies within a window of w packets takes at most (w + 1) / 2 runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: VecDeque<Range<u64>>,
    /// Packets in all runs together.
    len: u64,
}

impl Runs {
    /// How many packets are in the set.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// One more than the highest packet.
    pub(super) fn end(&self) -> Option<u64> {
        self.runs.back().map(|run| run.end)
    }

    /// The run that holds `packet`.
    #[inline]
    pub(super) fn containing(&self, packet: u64) -> Option<Range<u64>> {
        // As nearly always.
        if self.len == 0 {
            return None;
        }
        let run = self.runs.get(self.first_that_ends_after(packet))?;
        (run.start <= packet).then(|| run.clone())
    }

    /// The lowest packet from `packet` on that is not in the set.
    pub(super) fn next_gap(&self, packet: u64) -> u64 {
        self.containing(packet).map_or(packet, |run| run.end)
    }

    /// How many packets of the set are `from` or higher; takes the time of as many runs.
    #[inline]
    pub(super) fn count_from(&self, from: u64) -> u64 {
        if self.len == 0 {
            return 0;
        }
        let above = self.runs.iter().rev().take_while(|run| run.end > from);
        above.map(|run| run.end - run.start.max(from)).sum()
    }

    /// The packet with n - 1 of the set above it, for n from 1; takes the time of n runs at most.
    pub(super) fn nth_highest(&self, n: u64) -> Option<u64> {
        let mut left = n;
        for run in self.runs.iter().rev() {
            let len = run.end - run.start;
            if left <= len {
                return Some(run.end - left);
            }
            left -= len;
        }
        None
    }

    /// Adds a run, and tells each part of it that was not there yet, in ascending order.
    pub(super) fn insert(&mut self, new: Range<u64>, mut fresh: impl FnMut(Range<u64>)) {
        if new.is_empty() {
            return;
        }
        // All runs that `new` overlaps or touches become one with it.
        let first = self.runs.partition_point(|run| run.end < new.start);
        let mut last = first;
        let mut merged = new.clone();
        let mut at = new.start;
        let mut add = |part: Range<u64>| {
            if !part.is_empty() {
                self.len += part.end - part.start;
                fresh(part);
            }
        };
        while let Some(run) = self.runs.get(last).filter(|run| run.start <= new.end) {
            add(at..run.start);
            at = at.max(run.end);
            merged = merged.start.min(run.start)..merged.end.max(run.end);
            last += 1;
        }
        add(at..new.end);
        if first == last {
            self.runs.insert(first, merged);
        } else {
            self.runs[first] = merged;
            self.runs.drain(first + 1..last);
        }
    }

    /// Takes out what is below `packet`, and tells each part that was there, in ascending order.
    pub(super) fn remove_below(&mut self, packet: u64, mut removed: impl FnMut(Range<u64>)) {
        while let Some(run) = self.runs.front_mut().filter(|run| run.start < packet) {
            let part = run.start..run.end.min(packet);
            self.len -= part.end - part.start;
            run.start = part.end;
            if run.is_empty() {
                self.runs.pop_front();
            }
            removed(part);
        }
    }

    fn first_that_ends_after(&self, packet: u64) -> usize {
        self.runs.partition_point(|run| run.end <= packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn insert(runs: &mut Runs, new: Range<u64>) -> Vec<u64> {
        let mut fresh = Vec::new();
        runs.insert(new, |part| fresh.extend(part));
        fresh
    }

    #[test]
    fn runs_that_touch_become_one() {
        let mut runs = Runs::default();
        insert(&mut runs, 10..12);
        insert(&mut runs, 14..15);
        assert_eq!(runs.containing(11), Some(10..12));
        assert_eq!(runs.containing(12), None);
        assert_eq!(insert(&mut runs, 12..14), [12, 13]);
        assert_eq!(runs.containing(11), Some(10..15));
        assert_eq!(insert(&mut runs, 8..18), [8, 9, 15, 16, 17]);
        assert_eq!((runs.len(), runs.end(), runs.runs.len()), (10, Some(18), 1));
    }

    proptest! {
        #[test]
        fn runs_are_the_set_that_they_stand_for(
            steps in prop::collection::vec((0u64..60, 0u64..12, any::<bool>()), 1..60),
        ) {
            let mut runs = Runs::default();
            let mut set = BTreeSet::new();
            for (start, len, remove) in steps {
                let mut changed = Vec::new();
                let expected: Vec<u64> = if remove {
                    runs.remove_below(start, |part| changed.extend(part));
                    let below = set.range(..start).copied().collect();
                    set.retain(|&packet| packet >= start);
                    below
                } else {
                    runs.insert(start..start + len, |part| changed.extend(part));
                    (start..start + len).filter(|&packet| set.insert(packet)).collect()
                };
                prop_assert_eq!(changed, expected);
                prop_assert_eq!(runs.len(), set.len() as u64);
                prop_assert_eq!(runs.end(), set.last().map(|last| last + 1));
                for n in 1..5u64 {
                    prop_assert_eq!(runs.nth_highest(n), set.iter().rev().nth(n as usize - 1).copied());
                }
                for packet in 0..75 {
                    prop_assert_eq!(runs.containing(packet).is_some(), set.contains(&packet));
                    prop_assert_eq!(runs.count_from(packet), set.range(packet..).count() as u64);
                    let gap = (packet..).find(|packet| !set.contains(packet)).unwrap();
                    prop_assert_eq!(runs.next_gap(packet), gap);
                }
                // Runs neither touch nor overlap.
                prop_assert!(runs.runs.iter().zip(runs.runs.iter().skip(1)).all(|(a, b)| a.end < b.start));
            }
        }
    }
}
