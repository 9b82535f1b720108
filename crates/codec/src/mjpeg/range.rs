//! The nominal ranges of samples, in JFIF and in our pictures.
//!
//! JFIF has 0 to 255 for each component, our pictures have less ([`Picture`](crate::picture::Picture)). The
//! transforms are linear, so their factors change the scale at no cost. Samples beyond video's range do not fit
//! into JFIF and are clamped, which is the only cost.

use crate::picture::{BLACK, CHROMA, GREY, WHITE};

/// The nominal range of a kind of component in our pictures.
#[derive(Debug)]
pub(super) struct NominalRange {
    lowest: u8,
    highest: u8,
    /// The level of our pictures for JFIF's 128, from which the transform takes distances.
    middle: f32,
    /// The number of JFIF's steps in one step of video range.
    pub(super) gain: f32,
}

impl NominalRange {
    pub(super) const LUMA: Self = Self {
        lowest: BLACK,
        highest: WHITE,
        middle: BLACK as f32 + 128.0 * (WHITE - BLACK) as f32 / 255.0,
        gain: 255.0 / (WHITE - BLACK) as f32,
    };
    /// Greys are 128 in both ranges.
    pub(super) const CHROMA: Self = Self {
        lowest: CHROMA.0,
        highest: CHROMA.1,
        middle: GREY as f32,
        gain: 255.0 / (CHROMA.1 - CHROMA.0) as f32,
    };

    /// Returns a sample's distance from the middle, in our steps.
    pub(super) fn distance(&self, sample: u8) -> f32 {
        f32::from(sample.clamp(self.lowest, self.highest)) - self.middle
    }

    /// Returns the sample nearest to a distance from the middle.
    pub(super) fn sample(&self, distance: f32) -> u8 {
        let (lowest, highest) = (f32::from(self.lowest), f32::from(self.highest));
        (distance + self.middle + 0.5).clamp(lowest, highest) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongest_colours_are_the_ends_of_bytes() {
        for range in [NominalRange::LUMA, NominalRange::CHROMA] {
            let jfif = |sample| 128.0 + range.distance(sample) * range.gain;
            // Chroma of 16 to 240 around 128 is 0.5 to 255.5 around it.
            assert!(jfif(range.lowest).abs() < 0.501);
            assert!((jfif(range.highest) - 255.0).abs() < 0.501);
        }
        assert_eq!(NominalRange::CHROMA.distance(GREY), 0.0);
    }

    #[test]
    fn samples_survive_and_are_clamped_beyond_video() {
        for range in [NominalRange::LUMA, NominalRange::CHROMA] {
            for sample in 0..=u8::MAX {
                let back = range.sample(range.distance(sample));
                assert_eq!(back, sample.clamp(range.lowest, range.highest));
            }
            assert_eq!(range.sample(1e9), range.highest);
            assert_eq!(range.sample(-1e9), range.lowest);
        }
    }
}
