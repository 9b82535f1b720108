//! Numbers that no packet has, so that a receiver which calls lost packets received shows itself.

use super::random::Random;

/// Packets from one such number to the next, on average: it costs that share of the rate, 0.2 %, and a
/// receiver that hides every loss is caught after a thousand packets.
const SPACING: u64 = 500;

/// When the next number is left out. Nobody but the sender knows before reports tell.
#[derive(Debug)]
pub(super) struct Gaps {
    random: Random,
    /// Packets until then.
    left: u64,
}

impl Gaps {
    pub(super) fn new(mut random: Random) -> Self {
        let left = draw(&mut random);
        Self { random, left }
    }

    /// A packet left: is the number after it to be left out? Only between frames, whose payload formats may
    /// take what is missing within one for lost.
    pub(super) fn is_next(&mut self, ends_frame: bool) -> bool {
        self.left = self.left.saturating_sub(1);
        let is_next = self.left == 0 && ends_frame;
        if is_next {
            self.left = draw(&mut self.random);
        }
        is_next
    }
}

/// Uniform, with [`SPACING`] as its mean.
fn draw(random: &mut Random) -> u64 {
    1 + random.next_u64() % (2 * SPACING - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_spread_and_as_many_as_stated() {
        let mut gaps = Gaps::new(Random::new(1, "test"));
        let at: Vec<u64> = (0..500_000).filter(|_| gaps.is_next(true)).collect();
        assert!((950..1_050).contains(&at.len()), "{}", at.len());
        let spacings: std::collections::BTreeSet<_> =
            at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(spacings.len() > 400, "{}", spacings.len());
    }

    #[test]
    fn a_gap_waits_for_the_end_of_a_frame() {
        let mut gaps = Gaps::new(Random::new(1, "test"));
        assert!((0..5_000).all(|_| !gaps.is_next(false)));
        assert!(gaps.is_next(true));
    }
}
