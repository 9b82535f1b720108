//! Draws the session's random numbers, which spread timers and choose identifiers. No secret depends on them.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of numbers (SplitMix64, Steele et al. 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    /// Creates a stream for `name` under `seed`, because two ends that share a seed must not share their SSRC.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        name.bytes()
            .fold(Self(SplitMix64::seed_from_u64(seed)), |mut random, byte| {
                let state = random.next_u64() ^ u64::from(byte);
                Self(SplitMix64::seed_from_u64(state))
            })
    }

    /// Creates another stream for `name`, and leaves this one unchanged.
    pub(super) fn fork(&self, name: &str) -> Self {
        Self::new(u64::from_le_bytes(self.0.state()), name)
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(super) fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Draws a uniform number in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_give_the_same_stream_and_others_do_not() {
        let mut a = Random::new(1, "alice");
        let mut b = Random::new(1, "alice");
        let first = a.next_u64();
        assert_eq!(first, b.next_u64());
        assert_ne!(first, Random::new(1, "bob").next_u64());
        assert_ne!(first, Random::new(2, "alice").next_u64());
    }

    #[test]
    fn the_unit_interval_is_covered_evenly() {
        let mut random = Random::new(7, "");
        let draws: Vec<_> = (0..10_000).map(|_| random.unit()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
    }
}
