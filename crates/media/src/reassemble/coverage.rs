//! Which parts of a range have come.

use std::ops::Range;

/// A set of bytes, as ranges that neither touch nor overlap, in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Coverage {
    ranges: Vec<Range<usize>>,
}

impl Coverage {
    /// Adds a range; what is there already is there once.
    pub(super) fn insert(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        // Those that the new one touches, at most: the first that ends at its start or later, up to
        // the last that starts at its end or before.
        let first = self.ranges.partition_point(|old| old.end < range.start);
        let last = self.ranges.partition_point(|old| old.start <= range.end);
        if first == last {
            self.ranges.insert(first, range);
            return;
        }
        let merged =
            self.ranges[first].start.min(range.start)..self.ranges[last - 1].end.max(range.end);
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..last);
    }

    /// True if nothing of `0..len` is missing.
    pub(super) fn is_whole(&self, len: usize) -> bool {
        matches!(self.ranges.as_slice(), [range] if range.start == 0 && range.end >= len)
    }

    /// What of `0..len` is missing, in ascending order.
    pub(super) fn missing(&self, len: usize) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.ranges.iter().map(|range| range.end));
        let ends = self.ranges.iter().map(|range| range.start).chain([len]);
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
            prop_assert!(coverage.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
