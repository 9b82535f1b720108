//! How near a picture is to its original, and how to sum many numbers up in one.

use crate::frame::Picture;

/// Peak signal-to-noise ratio of the luma, in decibels; infinite if the pictures are equal.
///
/// `None` if their sizes differ. Equation 7.1 of the thesis: 10·log10(255² / mean squared error).
pub fn luma_psnr(original: &Picture, shown: &Picture) -> Option<f64> {
    let size = |p: &Picture| (p.width(), p.height());
    if size(original) != size(shown) || original.data().is_empty() {
        return None;
    }
    Some(psnr(original.planes()[0], shown.planes()[0]))
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    // Squares of a few hundred samples fit in 32 bits, in which the compiler works on many at once.
    const RUN: usize = 512;
    let squares: u64 = a
        .chunks(RUN)
        .zip(b.chunks(RUN))
        .map(|(a, b)| {
            let run: u32 = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| u32::from(a.abs_diff(b)) * u32::from(a.abs_diff(b)))
                .sum();
            u64::from(run)
        })
        .sum();
    let mean = squares as f64 / a.len() as f64;
    10.0 * (255.0 * 255.0 / mean).log10()
}

/// The value below or at which a share of the samples lies, by nearest rank: the smallest sample
/// that at least `percent` per cent of them do not exceed.
///
/// `None` without samples. `percent` is clamped to 0 to 100, 0 giving the smallest; samples that are
/// not numbers are ranked last (or first, if negative).
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    let mut ranked = samples.to_vec();
    ranked.sort_unstable_by(f64::total_cmp);
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * ranked.len() as f64).ceil() as usize;
    ranked.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_pictures_are_infinitely_near() {
        let picture = Picture::new(5, 3);
        assert_eq!(luma_psnr(&picture, &picture), Some(f64::INFINITY));
    }

    #[test]
    fn one_step_everywhere_is_48_decibels() {
        let original = Picture::new(640, 480);
        let mut shown = original.clone();
        shown.planes_mut()[0].iter_mut().for_each(|s| *s += 1);
        let psnr = luma_psnr(&original, &shown).expect("same size");
        assert!((psnr - 48.1308).abs() < 1e-4, "{psnr}");
    }

    #[test]
    fn the_largest_error_is_no_overflow() {
        let mut original = Picture::new(64, 64);
        let mut shown = original.clone();
        original.planes_mut()[0].fill(0);
        shown.planes_mut()[0].fill(255);
        assert_eq!(luma_psnr(&original, &shown), Some(0.0));
    }

    #[test]
    fn sizes_that_differ_cannot_be_compared() {
        assert_eq!(luma_psnr(&Picture::new(4, 8), &Picture::new(8, 4)), None);
        assert_eq!(luma_psnr(&Picture::new(0, 0), &Picture::new(0, 0)), None);
    }

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let samples = [15.0, 50.0, 20.0, 40.0, 35.0];
        for (percent, value) in [
            (0.0, 15.0),
            (30.0, 20.0),
            (40.0, 20.0),
            (50.0, 35.0),
            (100.0, 50.0),
        ] {
            assert_eq!(percentile(&samples, percent), Some(value), "{percent}");
        }
        assert_eq!(percentile(&[], 50.0), None);
    }
}
