//! Draws seeded numbers for the built-in sources, in integers alone so that every machine draws the same.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of numbers (SplitMix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number in `low..=high`.
    pub(super) fn between(&mut self, low: i32, high: i32) -> i32 {
        let span = u64::from(high.abs_diff(low)) + 1;
        low.wrapping_add((self.next() % span) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_between_their_bounds() {
        let mut random = Random::new(1);
        assert!((0..100).all(|_| (-3..=3).contains(&random.between(-3, 3))));
        assert_eq!(random.between(5, 5), 5);
    }
}
