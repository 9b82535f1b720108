//! Decides when a picture is coded with a half or a quarter of its sides.
//!
//! If a picture would need a very coarse scale, half of its sides give a better result. The means and ends of its
//! blocks alone take 1.9 kB at 352x288, all of 380 kb/s at 25 frames a second, and no scale takes less. With half
//! of the sides, interpolated for display, 2,000 bytes give 33.2 dB instead of 26.1 in a talking head (carphone),
//! 32.0 instead of 25.9 in a film (bikes), and 28.9 instead of 24.8 in the scene. The least size is 500 bytes, and
//! 150 with a quarter of the sides. See decision 12.
//!
//! The coarseness of that scale depends on the picture: halving removes detail finer than the half, and coding
//! removes detail finer than the scale. The loss by halving can be measured before anything is coded. Whole and
//! half have equal PSNR at the same size where log2 of the whole's scale is 0.45 of log2 of the mean square that
//! halving removes, plus 0.1. This holds within 0.3 octaves of scale in the root mean square, over the scene and
//! three clips from 176x144 to 1280x720, for whole and half as for half and quarter, while the scale itself varies
//! between 0.2 and 3.4 octaves.

use crate::log2::log2;
use crate::picture::Picture;
use crate::resize::{HALVINGS, halved, lost_by_halving};

/// The octaves of scale for an octave of the mean square that halving removes, above which a picture is better
/// halved.
const HALVING_SLOPE: f64 = 0.45;

/// The octaves by which JFIF's steps, the unit of the scale, are finer than a picture's steps, the unit of halving.
const JFIF_STEP_OCTAVES: f64 = 0.22;

/// Octaves by which the scale is finer with half of the sides, at the same size.
pub(crate) const HALF_SCALE_OCTAVES: f64 = 2.5;

/// The further octaves of scale by which a half is too fine to stay one. They are 1.3 times the bytes or so, so
/// that sides do not change with each picture. Equal PSNR lies between the two bounds, equal SSIM mostly at a few
/// more bytes.
const HYSTERESIS_OCTAVES: f64 = 0.8;

/// A picture and the halves of it that were computed.
pub(crate) struct Halves<'a> {
    picture: &'a Picture,
    halves: Vec<Picture>,
}

impl<'a> Halves<'a> {
    pub(crate) const fn of(picture: &'a Picture) -> Self {
        Self {
            picture,
            halves: Vec::new(),
        }
    }

    /// Returns how often the sides can be halved, at most `halvings` times.
    pub(crate) fn at_most(&mut self, halvings: usize) -> usize {
        while self.halves.len() < halvings {
            let last = self.get(self.halves.len());
            let Some(half) = can_be_halved(last).then(|| halved(last)).flatten() else {
                break;
            };
            self.halves.push(half);
        }
        halvings.min(self.halves.len())
    }

    /// Returns the picture with its sides halved this often, which [must be possible](Self::at_most).
    pub(crate) fn get(&self, halvings: usize) -> &Picture {
        match halvings.checked_sub(1) {
            Some(index) => &self.halves[index],
            None => self.picture,
        }
    }

    /// Returns the better number of halvings, given the present number and the scale in octaves above the tables of
    /// Annex K.
    pub(crate) fn better(&self, halvings: usize, scale: f64) -> usize {
        let picture = self.get(halvings);
        // A picture from which halving removes nothing has the least possible bound.
        let may_be_coarse =
            scale > JFIF_STEP_OCTAVES && halvings < HALVINGS && can_be_halved(picture);
        if may_be_coarse && scale > coarse(picture) {
            return halvings + 1;
        }
        match halvings.checked_sub(1) {
            Some(less)
                if scale < coarse(self.get(less)) - HALF_SCALE_OCTAVES - HYSTERESIS_OCTAVES =>
            {
                less
            }
            _ => halvings,
        }
    }
}

/// Returns the octaves of scale above which a picture is better halved.
fn coarse(picture: &Picture) -> f64 {
    HALVING_SLOPE * log2(lost_by_halving(picture)) + JFIF_STEP_OCTAVES
}

/// Returns true if the sides of the half are multiples of eight, which RFC 2435 can carry.
fn can_be_halved(picture: &Picture) -> bool {
    !picture.data().is_empty()
        && picture.width().is_multiple_of(16)
        && picture.height().is_multiple_of(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{BLACK, WHITE};

    #[test]
    fn jfif_step_spans_255_from_black_to_white() {
        let octaves = log2(255.0 / f64::from(WHITE - BLACK));
        assert!((JFIF_STEP_OCTAVES - octaves).abs() < 0.005, "{octaves}");
    }

    /// Returns a picture of alternating columns that differ by `apart`, of which halving leaves the mean.
    fn columns(apart: u8) -> Picture {
        let mut picture = Picture::new(64, 64);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = apart * (i % 2) as u8;
        }
        picture
    }

    #[test]
    fn picture_is_halved_when_coding_costs_more() {
        // A mean square of 4 is two octaves, and one of 1,024 ten.
        for (apart, bound) in [(4, 1.12), (64, 4.72)] {
            let picture = columns(apart);
            let halves = Halves::of(&picture);
            assert_eq!(halves.better(0, bound - 0.01), 0);
            assert_eq!(halves.better(0, bound + 0.01), 1);
        }
    }

    #[test]
    fn half_becomes_whole_at_a_finer_scale() {
        // A mean square of 64 is six octaves.
        let picture = columns(16);
        let mut halves = Halves::of(&picture);
        assert_eq!(halves.at_most(1), 1);
        let back = 2.92 - HALF_SCALE_OCTAVES - HYSTERESIS_OCTAVES;
        assert_eq!(halves.better(1, back + 0.01), 1);
        assert_eq!(halves.better(1, back - 0.01), 0);
    }

    #[test]
    fn half_is_halved_again_but_no_quarter() {
        let picture = columns(64);
        let mut halves = Halves::of(&picture);
        assert_eq!(halves.at_most(2), 2);
        assert_eq!(halves.better(1, 1.5), 2);
        assert_eq!(halves.better(2, 9.0), 2);
        let sides = [0, 1, 2].map(|halvings| halves.get(halvings).width());
        assert_eq!(sides, [64, 32, 16]);
    }

    #[test]
    fn sides_without_valid_half_are_not_halved() {
        for (size, most) in [((184, 128), 0), ((96, 80), 1), ((0, 0), 0)] {
            let picture = Picture::new(size.0, size.1);
            let mut halves = Halves::of(&picture);
            assert_eq!(halves.at_most(2), most);
            assert_eq!(halves.better(most, 9.0), most);
        }
    }
}
