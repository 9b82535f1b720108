//! What a sender does to a packet now and then, so that a receiver which lies shows itself.

use crate::session::random::Random;

/// Packets from one number that no packet has to the next, on average: it costs that share of the rate, 0.2 %, and a
/// receiver that hides every loss is caught after a thousand packets.
const LEFT_OUT: u64 = 500;

/// Packets from one mark of the sender's own to the next, on average: they hide that share of the path's marks, 1.6 %,
/// and three that do not come back end ECN.
const MARKED: u64 = 64;

/// The gaps and marks by which a receiver that lies shows itself.
#[derive(Debug)]
pub(super) struct ReceiverTraps {
    /// Numbers that no packet has.
    pub(super) gaps: Gaps,
    /// Packets that leave with a mark of the sender's own.
    pub(super) test_marks: Gaps,
}

impl ReceiverTraps {
    pub(super) fn new(random: &Random) -> Self {
        Self {
            gaps: Gaps::new(random.fork("gaps"), LEFT_OUT),
            test_marks: Gaps::new(random.fork("marks"), MARKED),
        }
    }
}

/// When the next packet's turn is. Nobody but the sender knows before reports tell.
#[derive(Debug)]
pub(super) struct Gaps {
    random: Random,
    /// Packets from one to the next, on average.
    spacing: u64,
    /// Packets until the next.
    left: u64,
}

impl Gaps {
    fn new(mut random: Random, spacing: u64) -> Self {
        let left = draw(&mut random, spacing);
        Self {
            random,
            spacing,
            left,
        }
    }

    /// A packet leaves: is it the next one's turn? A number is left out only between frames, whose payload formats may
    /// take what is missing within one for lost.
    pub(super) fn is_next(&mut self, ends_frame: bool) -> bool {
        self.left = self.left.saturating_sub(1);
        let is_next = self.left == 0 && ends_frame;
        if is_next {
            self.left = draw(&mut self.random, self.spacing);
        }
        is_next
    }
}

/// Uniform, with `spacing` as its mean.
fn draw(random: &mut Random, spacing: u64) -> u64 {
    1 + random.next_u64() % (2 * spacing - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_spread_and_as_many_as_stated() {
        let mut gaps = Gaps::new(Random::new(1, "test"), LEFT_OUT);
        let at: Vec<u64> = (0..500_000).filter(|_| gaps.is_next(true)).collect();
        assert!((950..1_050).contains(&at.len()), "{}", at.len());
        let spacings: std::collections::BTreeSet<_> =
            at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(spacings.len() > 400, "{}", spacings.len());
    }

    #[test]
    fn a_gap_waits_for_the_end_of_a_frame() {
        let mut gaps = Gaps::new(Random::new(1, "test"), LEFT_OUT);
        assert!((0..5_000).all(|_| !gaps.is_next(false)));
        assert!(gaps.is_next(true));
    }
}
