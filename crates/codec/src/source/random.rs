//! Draws seeded numbers for the built-in sources, in integers alone so that every machine draws the same.

/// A stream of numbers (SplitMix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
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
