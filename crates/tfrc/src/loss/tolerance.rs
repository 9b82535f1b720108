//! Losses that do not count as congestion, by the caller's choice.

/// A token bucket of losses that begin no loss event.
///
/// RFC 5348 §5.2 counts every loss. A caller that knows a path's losses at any rate may leave as many out.
// The fields are as small as possible, because a receiver has less than four kilobytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tolerance {
    /// Tolerated losses per packet.
    ratio: f32,
    /// Losses that may still be left out.
    credit: f32,
    /// The lower bits of the number of the packet up to which the credit has grown.
    through: u32,
}

/// Bound on the caller's ratio: beyond it GCC lowers its rate, too (draft-ietf-rmcat-gcc-02 §6).
pub(crate) const MAX_RATIO: f64 = 0.1;
/// Depth of the bucket, in losses: the number of intervals that TFRC averages (RFC 5348 §5.4). A tolerated burst of losses is
/// no longer than the history in which the burst would have counted.
const DEPTH: f32 = 8.0;

impl Tolerance {
    /// Sets the ratio for the packets after `highest`. At zero, below zero or without a number every loss counts.
    pub(super) fn set_ratio(&mut self, ratio: f64, highest: u64) {
        self.grow(highest);
        self.through = highest as u32;
        self.ratio = if ratio > 0.0 {
            ratio.min(MAX_RATIO) as f32
        } else {
            0.0
        };
    }

    /// Returns false if every loss counts.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.ratio > 0.0
    }

    /// Returns true if `count` losses up to packet `last` are left out, and takes them from the credit.
    pub(super) fn covers(&mut self, last: u64, count: u64) -> bool {
        self.grow(last);
        let is_covered = self.is_open() && count as f32 <= self.credit;
        if is_covered {
            self.credit -= count as f32;
        }
        is_covered
    }

    fn grow(&mut self, through: u64) {
        let packets = (through as u32).wrapping_sub(self.through).cast_signed();
        if packets > 0 {
            self.credit = (self.credit + self.ratio * packets as f32).min(DEPTH);
            self.through = through as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_covers_the_ratio_and_no_more() {
        let mut tolerance = Tolerance::default();
        tolerance.set_ratio(0.05, 1_000);
        let covered = |tolerance: &mut Tolerance, every: usize| {
            let losses = (1_001..11_001).step_by(every);
            losses.filter(|seq| tolerance.covers(*seq, 1)).count()
        };
        assert_eq!(covered(&mut tolerance.clone(), 20), 499);
        // At twice the ratio half of the losses are left out.
        assert!((499..=501).contains(&covered(&mut tolerance, 10)));
    }

    #[test]
    fn bursts_beyond_the_depth_count() {
        let mut tolerance = Tolerance::default();
        tolerance.set_ratio(0.1, 0);
        assert!(!tolerance.covers(100_000, 9));
        assert!(tolerance.covers(100_000, 8));
        assert!(!tolerance.covers(100_000, 1));
    }

    #[test]
    fn false_ratios_are_bounded() {
        for (ratio, covered) in [
            (f64::NAN, 0),
            (-1.0, 0),
            (0.0, 0),
            (f64::INFINITY, 100),
            (0.5, 100),
        ] {
            let mut tolerance = Tolerance::default();
            tolerance.set_ratio(ratio, 0);
            let losses = (1..=1_000).filter(|seq| tolerance.covers(*seq, 1));
            assert!(losses.count().abs_diff(covered) <= 1, "{ratio}");
        }
    }

    #[test]
    fn credit_grows_whatever_the_first_number() {
        for first in [0, 1 << 31, u64::from(u32::MAX) - 10, u64::MAX - 1_000] {
            let mut tolerance = Tolerance::default();
            tolerance.set_ratio(0.1, first);
            assert!(!tolerance.covers(first + 1, 1), "{first}");
            assert!(tolerance.covers(first + 100, 8), "{first}");
        }
    }

    #[test]
    fn every_loss_counts_while_the_ratio_is_zero() {
        let mut tolerance = Tolerance::default();
        tolerance.set_ratio(0.1, 0);
        tolerance.set_ratio(0.0, 1_000);
        assert!(!tolerance.covers(1_001, 1));
        tolerance.set_ratio(0.1, 1_002);
        assert!(tolerance.covers(1_003, 8), "credit is kept");
    }
}
