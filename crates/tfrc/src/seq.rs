//! Extends 16-bit sequence numbers so that they never wrap (RFC 3550 appendix A.1).

/// A packet at most this far behind the highest is late, and one further behind is stray. RFC 3550 has 100, but a
/// fast path reorders by more (75,000 packets/s, 10 ms).
const MAX_MISORDER: u16 = 1_000;
/// A forward jump of this many packets is a stray packet or a restarted sender, not a loss. RFC 3550 has 3,000, but
/// after a single forged packet that far ahead all others would be stray.
const MAX_DROPOUT: u16 = MAX_MISORDER;

/// Turns 16-bit sequence numbers into 64-bit ones that count on across the wrap.
///
/// A number far from the others is refused until its successor confirms it. One forged or damaged packet must not
/// move the highest number far, while a sender whose packets were lost for long is believed at its second packet in a
/// row.
#[derive(Clone, Debug, Default)]
pub struct Extender {
    highest: Option<u64>,
    suspect: Option<u16>,
}

impl Extender {
    /// Creates an extender whose first number becomes 65,536 larger, so that packets reordered before it have room
    /// below.
    pub const fn new() -> Self {
        Self {
            highest: None,
            suspect: None,
        }
    }

    /// Returns the extended number, or `None` for one that is too far from the others to believe yet.
    pub fn extend(&mut self, seq: u16) -> Option<u64> {
        let Some(highest) = self.highest else {
            let first = 0x1_0000 + u64::from(seq);
            self.highest = Some(first);
            return Some(first);
        };
        let suspect = self.suspect.take();
        let ahead = seq.wrapping_sub(highest as u16);
        if ahead < MAX_DROPOUT || suspect == Some(seq) {
            let extended = highest + u64::from(ahead);
            self.highest = Some(extended);
            return Some(extended);
        }
        let behind = ahead.wrapping_neg();
        if behind <= MAX_MISORDER {
            return highest.checked_sub(u64::from(behind));
        }
        self.suspect = Some(seq.wrapping_add(1));
        None
    }

    /// Returns true if numbers are missing between two extended ones that no loss explains.
    pub const fn is_jump(before: u64, after: u64) -> bool {
        after.saturating_sub(before) >= MAX_DROPOUT as u64
    }

    /// Returns the highest extended number so far.
    pub const fn highest(&self) -> Option<u64> {
        self.highest
    }
}

/// Records which numbers arrived, among those that an [`Extender`] still accepts.
#[derive(Clone, Debug, Default)]
pub struct ReceivedNumbers {
    highest: u64,
    /// A bit for each number from the highest back, at the number modulo the length of the ring.
    bits: [u64; WORDS],
}

/// The words that hold one bit for each number that may still arrive, and for the highest.
const WORDS: usize = (MAX_MISORDER as usize + 1).div_ceil(64);

impl ReceivedNumbers {
    /// Records a number; returns false if it had arrived before or is too old to decide.
    pub fn insert(&mut self, number: u64) -> bool {
        let count = 64 * WORDS as u64;
        if number > self.highest {
            // These bits belonged to numbers that are now too old.
            let from = (self.highest + 1).max(number.saturating_sub(count - 1));
            for skipped in from..=number {
                let (word, bit) = place(skipped);
                self.bits[word] &= !bit;
            }
            self.highest = number;
        } else if self.highest - number >= count {
            return false;
        }
        let (word, bit) = place(number);
        let is_new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        is_new
    }
}

/// Returns the word and the bit of a number.
fn place(number: u64) -> (usize, u64) {
    let word = number / 64 % WORDS as u64;
    (word as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_count_on_across_the_wrap() {
        let mut extender = Extender::new();
        assert_eq!(extender.extend(0xfffe), Some(0x1_fffe));
        assert_eq!(extender.extend(0xffff), Some(0x1_ffff));
        assert_eq!(extender.extend(1), Some(0x2_0001));
        assert_eq!(extender.extend(0), Some(0x2_0000));
        assert_eq!(extender.highest(), Some(0x2_0001));
    }

    #[test]
    fn a_packet_before_the_first_has_room_below() {
        let mut extender = Extender::new();
        assert_eq!(extender.extend(0), Some(0x1_0000));
        assert_eq!(extender.extend(0xffff), Some(0xffff));
    }

    #[test]
    fn one_stray_packet_moves_nothing_and_its_successor_confirms_it() {
        let mut extender = Extender::new();
        extender.extend(10);
        assert_eq!(extender.extend(30_000), None);
        assert_eq!(extender.extend(11), Some(0x1_000b));
        assert_eq!(extender.extend(40_000), None);
        // The packets of a path that goes on separate the two witnesses.
        assert_eq!(extender.extend(12), Some(0x1_000c));
        assert_eq!(extender.extend(40_001), None);
        assert_eq!(extender.extend(40_000), None);
        assert_eq!(extender.extend(40_001), Some(0x1_0000 + 40_001));
    }

    proptest! {
        #[test]
        fn the_low_bits_are_the_packets_own_and_the_highest_never_falls(seqs in prop::collection::vec(any::<u16>(), 1..200)) {
            let mut extender = Extender::new();
            let mut highest = 0;
            for seq in seqs {
                if let Some(extended) = extender.extend(seq) {
                    prop_assert_eq!(extended as u16, seq);
                }
                prop_assert!(extender.highest().unwrap() >= highest);
                highest = extender.highest().unwrap();
            }
        }
    }

    #[test]
    fn a_number_is_new_once_as_long_as_it_may_come() {
        let mut seen = ReceivedNumbers::default();
        for number in [70_000, 69_000, 70_001, 70_900] {
            assert!(seen.insert(number), "{number}");
            assert!(!seen.insert(number), "{number}");
        }
        assert!(!seen.insert(70_000));
        // The record cannot decide whether this number arrived, and no extender accepts it.
        assert!(!seen.insert(69_000));
        assert!(seen.insert(1_000_000) && seen.insert(999_000) && !seen.insert(1_000_000));
        assert!(seen.insert(u64::MAX) && !seen.insert(u64::MAX));
    }

    proptest! {
        #[test]
        fn what_is_new_is_what_a_set_holds_new(steps in prop::collection::vec((0_u64..3_000, any::<bool>()), 0..200)) {
            let (mut seen, mut set, mut highest) = (ReceivedNumbers::default(), std::collections::BTreeSet::new(), 100_000_u64);
            for (step, back) in steps {
                let number = if back { highest - step % 1_001 } else { highest + step };
                highest = highest.max(number);
                prop_assert_eq!(seen.insert(number), set.insert(number), "{}", number);
            }
        }
    }
}
