//! The nominal range of samples: JFIF's and that of our pictures.
//!
//! JFIF has 0 to 255 for each component, our pictures have what video has (ITU-R BT.601): luma of 16 to 235, chroma of 16 to
//! 240. The transforms are linear, so the change of scale is in their factors and costs nothing. Samples beyond video's
//! range have no place in JFIF.

/// The nominal range of a kind of component in our pictures.
#[derive(Debug)]
pub(super) struct NominalRange {
    lowest: u8,
    highest: u8,
    /// What JFIF has at 128: the transform takes distances from it.
    middle: f32,
    /// How many of JFIF's steps are one of ours.
    pub(super) gain: f32,
}

impl NominalRange {
    pub(super) const LUMA: Self = Self {
        lowest: 16,
        highest: 235,
        middle: 16.0 + 128.0 * 219.0 / 255.0,
        gain: 255.0 / 219.0,
    };
    /// No colour is 128 in both.
    pub(super) const CHROMA: Self = Self {
        lowest: 16,
        highest: 240,
        middle: 128.0,
        gain: 255.0 / 224.0,
    };

    /// A sample's distance from the middle, in our steps.
    pub(super) fn distance(&self, sample: u8) -> f32 {
        f32::from(sample.clamp(self.lowest, self.highest)) - self.middle
    }

    /// The sample nearest to a distance from the middle.
    pub(super) fn sample(&self, distance: f32) -> u8 {
        let (lowest, highest) = (f32::from(self.lowest), f32::from(self.highest));
        (distance + self.middle + 0.5).clamp(lowest, highest) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_white_and_the_strongest_colours_are_the_ends_of_bytes() {
        for range in [NominalRange::LUMA, NominalRange::CHROMA] {
            let jfif = |sample| 128.0 + range.distance(sample) * range.gain;
            // Chroma of 16 to 240 around 128 is 0.5 to 255.5 around it.
            assert!(jfif(range.lowest).abs() < 0.501);
            assert!((jfif(range.highest) - 255.0).abs() < 0.501);
        }
        assert_eq!(NominalRange::CHROMA.distance(128), 0.0);
    }

    #[test]
    fn a_sample_comes_back_and_one_beyond_video_becomes_the_nearest() {
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
