//! Remembers which packet indices were used, so that none is accepted or sent twice (RFC 3711 §3.3.2).

/// The packets that the window remembers. As many as a sender of ours remembers: a packet that is reordered further counts as
/// lost before it arrives.
const WINDOW: u64 = 2_048;
const WORDS: usize = WINDOW as usize / 64;

/// The indices of one stream that were used, as far back as [`WINDOW`].
#[derive(Clone, Debug)]
pub(super) struct ReplayWindow {
    highest: Option<u64>,
    /// A bit for each of the last `WINDOW` indices, at the index modulo `WINDOW`.
    used: [u64; WORDS],
}

impl ReplayWindow {
    /// Creates a window in which no index is used.
    pub(super) const fn new() -> Self {
        Self {
            highest: None,
            used: [0; WORDS],
        }
    }

    /// Returns the highest index that was used.
    pub(super) fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Returns true if `index` was not used, and is not older than the window.
    pub(super) fn is_fresh(&self, index: u64) -> bool {
        let Some(behind) = self.highest.and_then(|highest| highest.checked_sub(index)) else {
            return true;
        };
        let (word, bit) = place(index);
        behind < WINDOW && self.used[word] & bit == 0
    }

    /// Marks a fresh index as used.
    pub(super) fn insert(&mut self, index: u64) {
        let first_new = self.highest.map_or(index, |highest| highest + 1);
        if index >= first_new {
            if index - first_new >= WINDOW {
                self.used = [0; WORDS];
            } else {
                for passed in first_new..=index {
                    let (word, bit) = place(passed);
                    self.used[word] &= !bit;
                }
            }
            self.highest = Some(index);
        }
        let (word, bit) = place(index);
        self.used[word] |= bit;
    }
}

/// Returns the word and the bit of an index.
fn place(index: u64) -> (usize, u64) {
    let slot = index % WINDOW;
    ((slot / 64) as usize, 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A window agrees with a set of all indices.
        #[test]
        fn window_agrees_with_a_set_of_indices(
            start in 0u64..100_000,
            steps in prop::collection::vec(-2_500i64..2_500, 1..300),
        ) {
            let (mut window, mut all) = (ReplayWindow::new(), BTreeSet::new());
            let mut index = start;
            for step in steps {
                index = index.saturating_add_signed(step);
                let newest = all.last().copied();
                let is_recent = newest.is_none_or(|newest| index + WINDOW > newest);
                let expected = is_recent && !all.contains(&index);
                prop_assert_eq!(window.is_fresh(index), expected, "{}", index);
                if expected {
                    window.insert(index);
                    all.insert(index);
                }
                prop_assert_eq!(window.highest(), all.last().copied());
            }
        }
    }
}
