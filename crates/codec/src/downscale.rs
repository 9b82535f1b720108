//! When a picture is coded with half of its sides, or a quarter.
//!
//! A picture that would need a very coarse scale is better with half of its sides: its blocks' means and ends alone take
//! 1.9 kB at 352x288, all of 380 kb/s at 25 frames a second, and less cannot be had. Coded with half of the sides and shown
//! interpolated, 2,000 bytes give 33.2 dB in place of 26.1 in a talking head (carphone), 32.0 and 25.9 in a film (bikes),
//! 28.9 and 24.8 in the scene; the least is 500 bytes, with a quarter of the sides 150. See decision 12.
//!
//! How coarse that scale is depends on the picture: halving takes what is finer than the half shows, and coding what is
//! finer than the scale. The first can be measured before anything is coded. Whole and half have equal PSNR at the same size
//! where log2 of the whole's scale is 0.45 of log2 of the mean square that halving takes, and 0.1: within 0.3 octaves of
//! scale in the root mean square, over the scene and three clips from 176x144 to 1280x720, of whole and half as of half and
//! quarter, where the scale itself lies anywhere between 0.2 and 3.4 octaves.

use crate::log2::log2;
use crate::picture::Picture;
use crate::resize::{HALVINGS, halved, lost_by_halving};

/// Octaves of scale for an octave of the mean square that halving takes, above which a picture is better halved.
const HALVING_SLOPE: f64 = 0.45;

/// Octaves by which JFIF's steps, which the scale counts, are finer than a picture's, which halving is measured in.
const JFIF_STEP_OCTAVES: f64 = 0.22;

/// Octaves by which the scale is finer with half of the sides, at the same size.
pub(crate) const HALF_SCALE_OCTAVES: f64 = 2.5;

/// Octaves of scale, beyond these, by which a half is too fine to stay one: 1.3 times the bytes or so, so that sides do not
/// change with each picture. Equal PSNR lies between the two bounds, equal SSIM mostly at a few more bytes.
const HYSTERESIS_OCTAVES: f64 = 0.8;

/// A picture and its halves, as far as they were asked for.
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

    /// How often the sides can be halved, if not so often.
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

    /// The picture with its sides halved so often, which [they can be](Self::at_most).
    pub(crate) fn get(&self, halvings: usize) -> &Picture {
        match halvings.checked_sub(1) {
            Some(index) => &self.halves[index],
            None => self.picture,
        }
    }

    /// How often the sides are better halved, if they are halved so often now and the scale is that many octaves above the
    /// tables of Annex K.
    pub(crate) fn better(&self, halvings: usize, scale: f64) -> usize {
        let picture = self.get(halvings);
        // The least bound is what halving has if it takes nothing.
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

/// Octaves of scale above which a picture is better halved.
fn coarse(picture: &Picture) -> f64 {
    HALVING_SLOPE * log2(lost_by_halving(picture)) + JFIF_STEP_OCTAVES
}

/// True if the sides of the half are multiples of eight, which RFC 2435 can carry.
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

    /// Columns in turn so far apart, of which halving leaves the mean.
    fn columns(apart: u8) -> Picture {
        let mut picture = Picture::new(64, 64);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = apart * (i % 2) as u8;
        }
        picture
    }

    #[test]
    fn picture_is_halved_when_coding_costs_more() {
        // A mean square of 4 is two octaves, of 1,024 ten.
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
