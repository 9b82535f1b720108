//! Sequence numbers of 16 bits, extended so that they never wrap (RFC 3550 appendix A.1).

/// A jump forward of this many packets is no loss but a stray packet, or a sender that restarted.
/// RFC 3550's MAX_DROPOUT: eleven seconds of a 3 Mb/s stream.
const MAX_DROPOUT: u16 = 3_000;
/// A packet this far behind the highest is late, and further behind it is stray. RFC 3550 says 100;
/// a fast path reorders by more (75,000 packets/s, 10 ms).
const MAX_MISORDER: u16 = 1_000;

/// Turns 16-bit sequence numbers into 64-bit ones that count on across the wrap.
///
/// A number far from the others is refused until its successor confirms it: one forged or damaged
/// packet must not move the highest number, while a sender whose packets were lost for long is
/// believed at its second packet.
#[derive(Clone, Debug, Default)]
pub struct Extender {
    highest: Option<u64>,
    suspect: Option<u16>,
}

impl Extender {
    /// A new extender; the first number that it sees becomes 65,536 more than it is, so that packets
    /// reordered before it have room below.
    pub const fn new() -> Self {
        Self {
            highest: None,
            suspect: None,
        }
    }

    /// The extended number, or `None` for one that is too far from the others to believe yet.
    pub fn extend(&mut self, seq: u16) -> Option<u64> {
        let Some(highest) = self.highest else {
            let first = 0x1_0000 + u64::from(seq);
            self.highest = Some(first);
            return Some(first);
        };
        let ahead = seq.wrapping_sub(highest as u16);
        if ahead < MAX_DROPOUT || self.suspect == Some(seq) {
            let extended = highest + u64::from(ahead);
            self.highest = Some(extended);
            self.suspect = None;
            return Some(extended);
        }
        let behind = ahead.wrapping_neg();
        if behind <= MAX_MISORDER {
            return highest.checked_sub(u64::from(behind));
        }
        self.suspect = Some(seq.wrapping_add(1));
        None
    }

    /// The highest extended number so far.
    pub const fn highest(&self) -> Option<u64> {
        self.highest
    }
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
}
