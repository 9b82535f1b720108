//! Left-out numbers and test marks, by which a sender detects a receiver that lies.

use crate::session::random::Random;

/// The average number of packets from one left-out number to the next. The cost is that share of the rate, 0.2 %; a
/// receiver that hides every loss is detected after about a thousand packets.
const LEFT_OUT: u64 = 500;

/// The average number of packets from one mark of the sender to the next. They hide that share of the path's marks,
/// 1.6 %; three marks that do not return end ECN.
const MARKED: u64 = 64;

/// The two traps for a receiver that lies.
#[derive(Debug)]
pub(super) struct ReceiverTraps {
    /// The numbers that no packet has.
    pub(super) left_out: RandomSpacing,
    /// The packets that leave with a mark of the sender's own.
    pub(super) test_marks: RandomSpacing,
}

impl ReceiverTraps {
    pub(super) fn new(random: &Random) -> Self {
        Self {
            left_out: RandomSpacing::new(random.fork("gaps"), LEFT_OUT),
            test_marks: RandomSpacing::new(random.fork("marks"), MARKED),
        }
    }
}

/// Random gaps between packets, which only the sender knows before reports arrive.
#[derive(Debug)]
pub(super) struct RandomSpacing {
    random: Random,
    /// The average number of packets in a gap.
    spacing: u64,
    /// The number of packets until the gap ends.
    left: u64,
}

impl RandomSpacing {
    fn new(mut random: Random, spacing: u64) -> Self {
        let left = draw(&mut random, spacing);
        Self {
            random,
            spacing,
            left,
        }
    }

    /// Returns how many numbers to leave out after a packet, while a receiver that lied is put to the test: one on
    /// average, so that the test ends within a few frames, and any number, so that the receiver cannot know them.
    pub(super) fn test_run(&mut self, ends_frame: bool) -> u32 {
        if ends_frame {
            (self.random.next_u64() | 1 << 8).trailing_zeros()
        } else {
            0
        }
    }

    /// Counts a packet that leaves, and returns true if a gap ends. A number is left out only between frames,
    /// because payload formats may take a missing number within a frame for a loss.
    pub(super) fn is_next(&mut self, ends_frame: bool) -> bool {
        self.left = self.left.saturating_sub(1);
        let is_next = self.left == 0 && ends_frame;
        if is_next {
            self.left = draw(&mut self.random, self.spacing);
        }
        is_next
    }
}

/// Draws a uniform number with the mean `spacing`.
fn draw(random: &mut Random, spacing: u64) -> u64 {
    1 + random.next_u64() % (2 * spacing - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_spread_and_as_many_as_stated() {
        let mut left_out = RandomSpacing::new(Random::new(1, "test"), LEFT_OUT);
        let at: Vec<u64> = (0..500_000).filter(|_| left_out.is_next(true)).collect();
        assert!((950..1_050).contains(&at.len()), "{}", at.len());
        let spacings: std::collections::BTreeSet<_> =
            at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(spacings.len() > 400, "{}", spacings.len());
    }

    #[test]
    fn a_gap_waits_for_the_end_of_a_frame() {
        let mut left_out = RandomSpacing::new(Random::new(1, "test"), LEFT_OUT);
        assert!((0..5_000).all(|_| !left_out.is_next(false)));
        assert!(left_out.is_next(true));
    }
}
