//! Records which parts of a range have arrived.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::event::NotShown;

/// A set of bytes, as ranges that neither touch nor overlap. A hostile stream may have many thousands of ranges, in
/// any order.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    /// The ends of the ranges, by their starts.
    ranges: BTreeMap<usize, usize>,
}

impl Coverage {
    /// Adds a range, which may overlap earlier ones.
    pub(super) fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        // Ranges that touch the new one are joined with it, the last of them first.
        while let Some((&old_start, &old_end)) = self.ranges.range(..=end).next_back()
            && old_end >= start
        {
            self.ranges.remove(&old_start);
            (start, end) = (start.min(old_start), end.max(old_end));
        }
        self.ranges.insert(start, end);
    }

    /// Returns the number of ranges.
    pub(super) fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Returns true if nothing of `0..len` is missing.
    pub(super) fn is_whole(&self, len: usize) -> bool {
        self.ranges.get(&0).is_some_and(|&end| end >= len)
    }

    /// Returns the holes of a picture of `len` bytes, in ascending order; an error if nothing arrived.
    pub(super) fn holes(&self, len: usize) -> Result<Vec<Range<usize>>, NotShown> {
        let missing = self.missing(len);
        match missing.as_slice() {
            [all] if all.len() == len => Err(NotShown::Empty),
            _ => Ok(missing),
        }
    }

    /// Returns the missing parts of `0..len`, in ascending order.
    fn missing(&self, len: usize) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.ranges.values().copied());
        let ends = self.ranges.keys().copied().chain([len]);
        starts
            .zip(ends)
            .map(|(start, end)| start..end)
            .filter(|gap| !gap.is_empty())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_become_one() {
        let mut coverage = Coverage::default();
        for range in [0..4, 8..12, 4..8] {
            coverage.insert(range);
        }
        assert!(coverage.is_whole(12) && !coverage.is_whole(13));
        coverage.insert(14..15);
        assert_eq!(coverage.missing(17), [12..14, 15..17]);
    }

    proptest! {
        #[test]
        fn it_says_what_a_flag_a_byte_would(
            ranges in proptest::collection::vec((0..60_usize, 0..20_usize), 0..20),
        ) {
            let mut coverage = Coverage::default();
            let mut flags = [false; 80];
            for (start, len) in ranges {
                coverage.insert(start..start + len);
                flags[start..start + len].fill(true);
            }
            let missing = coverage.missing(80);
            for (byte, &has) in flags.iter().enumerate() {
                prop_assert_eq!(missing.iter().any(|gap| gap.contains(&byte)), !has);
            }
            prop_assert_eq!(coverage.is_whole(80), missing.is_empty());
            let ends = coverage.ranges.values();
            let nexts = coverage.ranges.keys().skip(1);
            prop_assert!(ends.zip(nexts).all(|(end, next)| end < next));
        }
    }
}
