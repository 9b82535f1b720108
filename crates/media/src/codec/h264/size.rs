//! What a picture will weigh: log2 of its bytes is nearly a line over the quantiser.
//!
//! The line is steep where the picture is much like its reference, because what a finer quantiser adds
//! is not in the reference either: a third of an octave for a step. What is new in a picture falls
//! like a keyframe does, and a picture that weighs more than twice what it should is mostly new.

use evenkeel_h264::Qp;
use tfrc::units::Bytes;

use crate::rate_target::log2;

/// log2 of bytes for a step, before anything is known, and the slopes believed.
const FIRST_SLOPE: f64 = -0.35;
const SLOPES: (f64, f64) = (-0.6, -0.15);

/// The slope of what is new: beyond an octave too much.
const NEW_SLOPE: f64 = -0.13;

/// How much steeper it is towards finer quantisers than that of the reference.
const FINER: f64 = 1.15;

/// What a slope seen over four steps counts for beside those before it; one seen over fewer tells more of
/// rounding.
const SLOPE_GAIN: f64 = 0.25;
const SLOPE_STEPS: f64 = 4.0;

/// Sizes of pictures of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// log2 of bytes, for a step of the quantiser.
    slope: f64,
    /// The quantiser that gave a size, and log2 of that.
    known: (f64, f64),
}

impl Sizes {
    /// Nothing is known yet but a guess: pictures of this many pixels weigh a bit a pixel at 26.
    pub(super) fn guess(pixels: usize) -> Self {
        Self {
            slope: FIRST_SLOPE,
            known: (26.0, log2((pixels / 8).max(1) as f64)),
        }
    }

    /// The quantiser that comes nearest to a size.
    pub(super) fn quantiser(&self, size: Bytes) -> Qp {
        let (quantiser, known) = self.known;
        let octaves = log2(size.as_f64().max(1.0)) - known;
        let steps = if octaves > 0.0 {
            octaves / (self.slope * FINER)
        } else {
            octaves.max(-1.0) / self.slope + (octaves + 1.0).min(0.0) / NEW_SLOPE
        };
        Qp::nearest(quantiser + steps)
    }

    /// A picture has this size with that quantiser.
    pub(super) fn observe(&mut self, quantiser: Qp, size: Bytes) {
        self.known = (f64::from(quantiser.get()), log2(size.as_f64().max(1.0)));
    }

    /// The same picture as the one observed before has this size with another quantiser.
    pub(super) fn observe_again(&mut self, quantiser: Qp, size: Bytes) {
        let before = self.known;
        self.observe(quantiser, size);
        let (steps, octaves) = (self.known.0 - before.0, self.known.1 - before.1);
        if steps != 0.0 && octaves.abs() < 1.0 {
            let slope = (octaves / steps).clamp(SLOPES.0, SLOPES.1);
            let weight = SLOPE_GAIN * (steps.abs() / SLOPE_STEPS).min(1.0);
            self.slope += weight * (slope - self.slope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_learnt_from_pictures_coded_twice() {
        // 20 % more bytes for each step.
        let size = |quantiser: Qp| Bytes::new((1e6 / 1.2_f64.powi(quantiser.get().into())) as u64);
        let mut sizes = Sizes::guess(352 * 288);
        for _ in 0..40 {
            for quantiser in [20.0, 32.0] {
                let (one, other) = (Qp::nearest(quantiser), Qp::nearest(quantiser + 3.0));
                sizes.observe(one, size(one));
                sizes.observe_again(other, size(other));
            }
        }
        for quantiser in 33..38 {
            let quantiser = Qp::nearest(f64::from(quantiser));
            assert_eq!(sizes.quantiser(size(quantiser)), quantiser);
        }
    }

    #[test]
    fn absurd_sizes_give_a_quantiser_all_the_same() {
        let mut sizes = Sizes::guess(0);
        assert_eq!(sizes.quantiser(Bytes::ZERO), Qp::nearest(26.0));
        assert_eq!(sizes.quantiser(Bytes::new(u64::MAX)), Qp::FINEST);
        sizes.observe(Qp::FINEST, Bytes::new(1 << 40));
        sizes.observe_again(Qp::COARSEST, Bytes::ZERO);
        assert_eq!(sizes.quantiser(Bytes::ZERO), Qp::COARSEST);
    }
}
