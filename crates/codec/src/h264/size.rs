//! Predicts the size of a picture with another quantiser.
//!
//! Six steps of the quantiser double its step size. The bytes of new content fall by a sixth or a fifth of an
//! octave a step. Content that the reference already has differs: only the error of the reference is coded, which
//! is about half a step of the reference's quantiser. A coarser quantiser codes none of that error, a finer one
//! nearly all of it. log2 of bytes therefore falls steepest at the quantiser of the reference, and the more so the
//! less is new: by half an octave a step where little moves, by one where nothing moves, and as for new content a
//! few steps to either side. This law held for 9,000 pictures of three clips and the scene, each coded with a dozen
//! quantisers from the same reference.

use tfrc::units::Bytes;

use super::change::Change;
use crate::log2::log2;

/// Octaves of bytes per step far from the reference's quantiser.
const FAR_SLOPE: f64 = 0.2;

/// Additional octaves per step at the reference's quantiser, in a picture without anything new.
const PEAK_SLOPE: f64 = 1.0;

/// The mean difference of luma at which half of the additional octaves remain.
const HALVING_CHANGE: f64 = 1.5;

/// The steps from the reference's quantiser at which a quarter of the additional octaves remains.
const QUARTERING_STEPS: f64 = 4.0;

/// The additional octaves of a picture, at the reference's quantiser, for each octave by which its change is
/// larger. Films repeat a picture once a second, and the picture after that is like those before.
const CHANGE_GAIN: f64 = 0.3;

/// The mean difference of luma that counts as none, since it is noise.
pub(super) const STILL_DIFFERENCE: f64 = 0.15;

/// Bounds on the steepness of a stream and of one picture, as a multiple of the usual steepness.
const STEEPNESS_BOUNDS: (f64, f64) = (0.5, 2.5);

/// The weight of one picture's steepness, measured over two steps, beside earlier ones. A steepness over fewer
/// steps has more rounding error.
const STEEPNESS_GAIN: f64 = 0.4;
const MIN_SLOPE_STEPS: f64 = 2.0;

/// The counterpart of [`MIN_SLOPE_STEPS`] between strips and the whole picture, whose ratio of bytes is not exactly
/// known; then the share of it from which the measured slope counts alone.
const MIN_STRIP_SLOPE_STEPS: f64 = 2.5;
const STRIP_WEIGHT_BOUND: f64 = 0.5;

/// A range that includes every quantiser.
const QUANTISER_RANGE: (f64, f64) = (0.0, 64.0);

/// Halvings of the range, after which a quantiser is known to a hundredth of a step.
const SEARCH_HALVINGS: u32 = 13;

/// The sizes of pictures of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The ratio of this stream's steepness to the usual steepness.
    steepness: f64,
    /// The change from the reference to the picture.
    change: Change,
    /// The quantiser of the reference.
    reference: f64,
    /// A quantiser, and log2 of the picture's bytes with it.
    known: (f64, f64),
    /// The part of the picture that was coded for this.
    coded: Coded,
    /// The same two values for the coding before, of the same picture.
    before: Option<((f64, f64), Coded)>,
}

/// The part of a picture that was coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coded {
    Nothing,
    Part,
    Whole,
}

impl Sizes {
    /// Creates a guess without measurements: pictures of this many pixels have a bit a pixel at quantiser 26.
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

    /// Turns to the next picture, with its change from the one before, which was coded with this quantiser.
    pub(super) fn turn_to(&mut self, change: Change, reference: f64) {
        // At its reference's quantiser each picture has the size that the last picture had at its own reference's
        // quantiser. Two corrections follow: the steps between the two, and the additional change.
        let (quantiser, octaves) = self.known;
        let at_reference = octaves - self.steepness * self.fall(quantiser, self.reference);
        let apart = self.steepness * FAR_SLOPE * (self.reference - reference);
        let new = CHANGE_GAIN * change.octaves_above(self.change, STILL_DIFFERENCE);
        *self = Self {
            change,
            reference,
            known: (reference, at_reference + apart + new),
            coded: Coded::Nothing,
            before: None,
            ..*self
        };
    }

    /// Returns the quantiser for a size, as a fraction between two real ones.
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

    /// Returns log2 of the picture's bytes with this quantiser.
    pub(super) fn octaves(&self, quantiser: f64) -> f64 {
        self.known.1 + self.steepness * self.fall(quantiser, self.known.0)
    }

    /// Records the size that a trial of some strips predicts for this quantiser.
    pub(super) fn expect(&mut self, quantiser: f64, size: Bytes) {
        self.known = (quantiser, log2(size.as_f64().max(1.0)));
        self.coded = Coded::Part;
    }

    /// Records the picture's size with this quantiser.
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

    /// Returns the steepness of the picture between its two codings, and the weight of this measurement.
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

    /// Returns the steepness from the known size towards another.
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

    /// Returns the octaves from one quantiser to another.
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

    const NO_CHANGE: Change = Change(0.0);

    /// Returns the bytes of pictures that lose `slope` octaves a step.
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
            (NO_CHANGE, 29.5, 1.09),
            (NO_CHANGE, 20.0, 0.29),
            (NO_CHANGE, 40.0, 0.26),
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
        for change in [NO_CHANGE, Change::ALL] {
            let mut sizes = Sizes::guess(352 * 288);
            sizes.turn_to(change, 30.0);
            sizes.observe(32.0, Bytes::new(1_000));
            sizes.observe(29.0, Bytes::new(8_000));
            for (size, quantiser) in [(1_000, 32.0), (8_000, 29.0)] {
                let estimate = sizes.quantiser(Bytes::new(size));
                assert!((estimate - quantiser).abs() < 0.02, "{estimate}");
            }
            assert!((29.5..31.5).contains(&sizes.quantiser(Bytes::new(2_828))));
        }
    }

    #[test]
    fn distant_strip_coding_shows_the_slope() {
        let estimate = |steps| {
            let mut sizes = Sizes::guess(352 * 288);
            sizes.turn_to(Change(1e9), 30.0);
            // The picture is twice as steep as new content is expected to be.
            sizes.expect(30.0 + steps, weight(0.4, 30.0 + steps));
            sizes.observe(30.0, weight(0.4, 30.0));
            // The next picture may differ.
            assert_eq!(sizes.steepness, 1.0);
            sizes.quantiser(weight(0.4, 26.0))
        };
        assert!((estimate(2.5) - 26.0).abs() < 0.1, "{}", estimate(2.5));
        assert!(estimate(0.2) < 23.5, "{}", estimate(0.2));
    }

    #[test]
    fn steepness_is_learnt_from_pictures_coded_twice() {
        // The picture is twice as steep as new content is expected to be, and unlike the one before.
        let mut sizes = Sizes::guess(352 * 288);
        for _ in 0..20 {
            sizes.turn_to(Change(1e9), 30.0);
            for quantiser in [28.0, 31.0] {
                sizes.observe(quantiser, weight(0.4, quantiser));
            }
        }
        sizes.turn_to(Change(1e9), 30.0);
        sizes.observe(28.0, weight(0.4, 28.0));
        let estimate = sizes.quantiser(weight(0.4, 34.0));
        assert!((estimate - 34.0).abs() < 0.2, "{estimate}");
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
