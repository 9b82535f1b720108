//! What a picture will weigh with another quantiser.
//!
//! Six steps of the quantiser double its steps, and what is new in a picture falls by a sixth of an octave or a
//! fifth for each. What is in the reference already, but for its error, is different: that error is about half
//! a step of the reference's quantiser. A quantiser that is coarser sees none of it, one that is finer nearly
//! all. So log2 of bytes falls steepest at the quantiser of the reference, and the more so the less is
//! new: by half an octave for a step where little moves, by one where nothing does, and a few steps to either
//! side as for what is new. This held of 9,000 pictures of three clips and the scene, each coded with a dozen
//! quantisers from the same reference.

use tfrc::units::Bytes;

use super::change::Change;
use crate::log2::log2;

/// Octaves of bytes per step far from the reference's quantiser.
const FAR_SLOPE: f64 = 0.2;

/// Additional octaves per step at the reference's quantiser, in a picture without anything new.
const PEAK_SLOPE: f64 = 1.0;

/// The mean difference of luma at which half of the additional octaves are left.
const HALVING_CHANGE: f64 = 1.5;

/// Steps from the reference's quantiser at which a quarter of the additional octaves is left.
const QUARTERING_STEPS: f64 = 4.0;

/// Octaves that a picture weighs more, with the reference's quantiser, for each octave by which it differs more: films
/// repeat a picture once a second, and the one after that is like those before.
const CHANGE_GAIN: f64 = 0.3;

/// A mean difference of luma up to this counts as none, since it is noise.
pub(super) const STILL: f64 = 0.15;

/// Bounds on the steepness of a stream and of one picture, as a multiple of the usual steepness.
const STEEPNESS_BOUNDS: (f64, f64) = (0.5, 2.5);

/// What the steepness of one picture, seen over two steps, counts for beside those before it; one seen over
/// fewer tells more of rounding.
const STEEPNESS_GAIN: f64 = 0.4;
const MIN_SLOPE_STEPS: f64 = 2.0;

/// As [`MIN_SLOPE_STEPS`], between a part of the picture and the whole, where how many times the part's bytes the whole has
/// is not quite known; and the share of that from which it is gone by alone.
const MIN_STRIP_SLOPE_STEPS: f64 = 2.5;
const STRIP_WEIGHT_BOUND: f64 = 0.5;

/// A range that includes every quantiser.
const QUANTISER_RANGE: (f64, f64) = (0.0, 64.0);

/// Halvings of the range, after which a quantiser is known to a hundredth of a step.
const SEARCH_HALVINGS: u32 = 13;

/// Sizes of pictures of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The ratio of this stream's steepness to the usual steepness.
    steepness: f64,
    /// How much of the picture is new.
    change: Change,
    /// The quantiser of its reference.
    reference: f64,
    /// A quantiser, and log2 of what the picture weighs with it.
    known: (f64, f64),
    /// What of the picture was coded so.
    coded: Coded,
    /// As the two above, when the same picture was coded before.
    before: Option<((f64, f64), Coded)>,
}

/// How much of a picture was coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coded {
    Nothing,
    Part,
    Whole,
}

impl Sizes {
    /// Nothing is known yet but a guess: pictures of this many pixels weigh a bit a pixel at 26.
    pub(super) fn guess(pixels: usize) -> Self {
        Self {
            steepness: 1.0,
            change: Change::ALL,
            reference: 26.0,
            known: (26.0, log2((pixels / 8).max(1) as f64)),
            coded: Coded::Nothing,
            before: None,
        }
    }

    /// The next picture differs by so much from the one before, which was coded with this quantiser.
    pub(super) fn turn_to(&mut self, change: Change, reference: f64) {
        // At the reference's quantiser it would weigh what the last one did at its reference's, but for the step
        // between the two and what more of it is new.
        let (quantiser, octaves) = self.known;
        let at_reference = octaves - self.steepness * self.fall(quantiser, self.reference);
        let apart = self.steepness * FAR_SLOPE * (self.reference - reference);
        let new = CHANGE_GAIN * change.octaves_above(self.change, STILL);
        *self = Self {
            change,
            reference,
            known: (reference, at_reference + apart + new),
            coded: Coded::Nothing,
            before: None,
            ..*self
        };
    }

    /// The quantiser that gives a size, if there were one between any two.
    pub(super) fn quantiser(&self, size: Bytes) -> f64 {
        let octaves = log2(size.as_f64().max(1.0));
        let steepness = self.steepness_towards(octaves);
        let (mut finer, mut coarser) = QUANTISER_RANGE;
        for _ in 0..SEARCH_HALVINGS {
            let middle = (finer + coarser) / 2.0;
            if self.known.1 + steepness * self.fall(middle, self.known.0) > octaves {
                finer = middle;
            } else {
                coarser = middle;
            }
        }
        (finer + coarser) / 2.0
    }

    /// log2 of what the picture weighs with this quantiser.
    pub(super) fn octaves(&self, quantiser: f64) -> f64 {
        self.known.1 + self.steepness * self.fall(quantiser, self.known.0)
    }

    /// Records the size that a trial of some strips predicts for this quantiser.
    pub(super) fn expect(&mut self, quantiser: f64, size: Bytes) {
        self.known = (quantiser, log2(size.as_f64().max(1.0)));
        self.coded = Coded::Part;
    }

    /// The picture has this size with that quantiser.
    pub(super) fn observe(&mut self, quantiser: f64, size: Bytes) {
        self.before = (self.coded != Coded::Nothing).then_some((self.known, self.coded));
        self.known = (quantiser, log2(size.as_f64().max(1.0)));
        let wholly = self.coded == Coded::Whole;
        self.coded = Coded::Whole;
        if let Some((seen, weight)) = self.seen().filter(|_| wholly) {
            let seen = seen.clamp(STEEPNESS_BOUNDS.0, STEEPNESS_BOUNDS.1);
            self.steepness += STEEPNESS_GAIN * weight * (seen - self.steepness);
        }
    }

    /// How steep the picture was between its two codings, and how much that tells.
    fn seen(&self) -> Option<(f64, f64)> {
        let (before, coded) = self.before?;
        let steps = if coded == Coded::Part {
            MIN_STRIP_SLOPE_STEPS
        } else {
            MIN_SLOPE_STEPS
        };
        let expected = self.fall(self.known.0, before.0);
        let weight = (self.known.0 - before.0).abs() / steps;
        (expected != 0.0).then(|| ((self.known.1 - before.1) / expected, weight.min(1.0)))
    }

    /// How steep it is from what is known towards a size.
    fn steepness_towards(&self, octaves: f64) -> f64 {
        let Some(((seen, weight), (before, coded))) = self.seen().zip(self.before) else {
            return self.steepness;
        };
        let between = (octaves - before.1) * (octaves - self.known.1) <= 0.0;
        if between && seen > 0.0 && (coded == Coded::Whole || weight >= STRIP_WEIGHT_BOUND) {
            return seen;
        }
        let seen = seen.clamp(STEEPNESS_BOUNDS.0, STEEPNESS_BOUNDS.1);
        self.steepness + weight * (seen - self.steepness)
    }

    /// Octaves from one quantiser to another.
    fn fall(&self, to: f64, from: f64) -> f64 {
        let near = PEAK_SLOPE * HALVING_CHANGE / (HALVING_CHANGE + self.change.0);
        let of = |quantiser: f64| {
            let steps = quantiser - self.reference;
            -FAR_SLOPE * steps - near * steps / (1.0 + steps.abs() / QUARTERING_STEPS)
        };
        of(to) - of(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Change = Change(0.0);

    /// What pictures weigh in bytes: so many octaves less for each step.
    fn weight(slope: f64, quantiser: f64) -> Bytes {
        Bytes::new(2_f64.powf(20.0 - slope * quantiser) as u64)
    }

    #[test]
    fn step_is_steepest_at_the_quantiser_of_reference() {
        let step = |change, quantiser| {
            let mut sizes = Sizes::guess(352 * 288);
            sizes.turn_to(change, 30.0);
            sizes.octaves(quantiser) - sizes.octaves(quantiser + 1.0)
        };
        for (change, quantiser, expected) in [
            (NOTHING, 29.5, 1.09),
            (NOTHING, 20.0, 0.29),
            (NOTHING, 40.0, 0.26),
            (Change(1.5), 29.5, 0.64),
            (Change(12.0), 29.5, 0.3),
            (Change::ALL, 29.5, 0.2),
        ] {
            let step = step(change, quantiser);
            assert!(
                (step - expected).abs() < 0.02,
                "{change:?} {quantiser}: {step}"
            );
        }
    }

    #[test]
    fn two_codings_of_a_picture_are_both_used() {
        for change in [NOTHING, Change::ALL] {
            let mut sizes = Sizes::guess(352 * 288);
            sizes.turn_to(change, 30.0);
            sizes.observe(32.0, Bytes::new(1_000));
            sizes.observe(29.0, Bytes::new(8_000));
            for (size, quantiser) in [(1_000, 32.0), (8_000, 29.0)] {
                let told = sizes.quantiser(Bytes::new(size));
                assert!((told - quantiser).abs() < 0.02, "{told}");
            }
            assert!((29.5..31.5).contains(&sizes.quantiser(Bytes::new(2_828))));
        }
    }

    #[test]
    fn distant_strip_coding_shows_the_slope() {
        let told = |steps| {
            let mut sizes = Sizes::guess(352 * 288);
            sizes.turn_to(Change(1e9), 30.0);
            // Twice as steep as what is new is expected to be.
            sizes.expect(30.0 + steps, weight(0.4, 30.0 + steps));
            sizes.observe(30.0, weight(0.4, 30.0));
            // Another picture may be otherwise.
            assert_eq!(sizes.steepness, 1.0);
            sizes.quantiser(weight(0.4, 26.0))
        };
        assert!((told(2.5) - 26.0).abs() < 0.1, "{}", told(2.5));
        assert!(told(0.2) < 23.5, "{}", told(0.2));
    }

    #[test]
    fn steepness_is_learnt_from_pictures_coded_twice() {
        // Twice as steep as what is new is expected to be, and no picture like the one before.
        let mut sizes = Sizes::guess(352 * 288);
        for _ in 0..20 {
            sizes.turn_to(Change(1e9), 30.0);
            for quantiser in [28.0, 31.0] {
                sizes.observe(quantiser, weight(0.4, quantiser));
            }
        }
        sizes.turn_to(Change(1e9), 30.0);
        sizes.observe(28.0, weight(0.4, 28.0));
        let told = sizes.quantiser(weight(0.4, 34.0));
        assert!((told - 34.0).abs() < 0.2, "{told}");
    }

    #[test]
    fn absurd_sizes_give_a_quantiser_all_the_same() {
        let mut sizes = Sizes::guess(0);
        assert!((sizes.quantiser(Bytes::ZERO) - 26.0).abs() < 0.02);
        assert!(sizes.quantiser(Bytes::new(u64::MAX)) < 0.02);
        sizes.observe(10.0, Bytes::new(1 << 40));
        sizes.observe(51.0, Bytes::ZERO);
        sizes.observe(51.0, Bytes::new(1 << 40));
        assert!(sizes.quantiser(Bytes::ZERO) > 63.9);
    }
}
