//! Draws the random numbers of the path and of traffic (xoshiro256++, Blackman and Vigna, 2019).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded generator: the same seed and stream give the same numbers on any machine.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of one component: each has its own `stream` of a run's seed, so that a change to
    /// one leaves the draws of the others as they were.
    pub fn new(seed: u64, stream: u64) -> Self {
        let seed = seed ^ stream.wrapping_mul(STREAM_SPACING);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform over all values.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), of the 2^53 values that a double holds exactly.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal with mean 0 and standard deviation 1, nearly: the sum of twelve uniforms (variance
    /// 1/12 each). Its distribution differs from the normal by less than 0.003 everywhere and it
    /// needs addition alone, where the exact methods need a logarithm that differs by machine.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// The streams of one link.
pub(crate) mod stream {
    pub(crate) const LOSS: u64 = 1;
    pub(crate) const JITTER: u64 = 2;
    pub(crate) const REORDERING: u64 = 3;
    pub(crate) const DUPLICATION: u64 = 4;
    pub(crate) const QUEUE: u64 = 5;
}

/// Odd, so that two streams of one seed never start alike; the digits of the square root of 3.
const STREAM_SPACING: u64 = 0xBB67_AE85_84CA_A73B;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_stream_gives_others() {
        let draw = |seed, stream| Random::new(seed, stream).next_u64();
        assert_eq!(draw(7, stream::LOSS), draw(7, stream::LOSS));
        assert_ne!(draw(7, stream::LOSS), draw(7, stream::JITTER));
        assert_ne!(draw(7, stream::LOSS), draw(8, stream::LOSS));
    }

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let mut random = Random::new(1, stream::LOSS);
        let drawn = [random.next_u64(), random.next_u64()];
        assert_eq!(drawn, [0x89CC_AFC6_412F_09A2, 0x60DF_E8B8_8050_78C5]);
    }

    #[test]
    fn the_normal_has_mean_zero_and_variance_one() {
        let mut random = Random::new(1, stream::JITTER);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..100_000 {
            let z = random.normal();
            sum += z;
            squares += z * z;
        }
        assert!((sum / 1e5).abs() < 0.02, "mean {}", sum / 1e5);
        assert!(
            (squares / 1e5 - 1.0).abs() < 0.02,
            "variance {}",
            squares / 1e5
        );
    }
}
