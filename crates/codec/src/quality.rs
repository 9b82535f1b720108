//! Measures how similar a picture is to its original, and summarises many numbers.

use std::array;

use crate::picture::Picture;
use crate::resize::fitted;

/// Returns the peak signal-to-noise ratio of the luma, in decibels; infinite if the pictures are equal.
///
/// A picture with a half or a quarter of the original's sides is compared as it is shown. Returns `None` if the
/// sizes differ otherwise. Equation 7.1 of the thesis: 10·log10(255² / mean squared error).
pub fn luma_psnr(original: &Picture, shown: &Picture) -> Option<f64> {
    let shown = fitted(shown, (original.width(), original.height()))?;
    if original.data().is_empty() {
        return None;
    }
    Some(psnr(original.planes()[0], shown.planes()[0]))
}

fn psnr(a: &[u8], b: &[u8]) -> f64 {
    // The squares of a few hundred samples fit in 32 bits, for which the compiler vectorises the loop.
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

/// Returns the structural similarity of the luma: 1 if the pictures are equal.
///
/// The definition is of Wang, Bovik, Sheikh, Simoncelli: "Image quality assessment: from error visibility to
/// structural similarity", 2004. The result is the mean over windows of 8x8 samples, four apart, each sample of the
/// same weight.
///
/// A picture with a half or a quarter of the original's sides is compared as it is shown. Returns `None` if the
/// sizes differ otherwise, or if they are smaller than a window.
pub fn luma_ssim(original: &Picture, shown: &Picture) -> Option<f64> {
    let (width, height) = (original.width(), original.height());
    let shown = fitted(shown, (width, height))?;
    if width < WINDOW || height < WINDOW {
        return None;
    }
    let (a, b) = (original.planes()[0], shown.planes()[0]);
    // A window is four blocks and each block belongs to four windows, so blocks are summed once.
    let bands = a
        .chunks_exact(STEP * width)
        .zip(b.chunks_exact(STEP * width));
    let mut bands = bands.map(|(a, b)| blocks(a, b, width));
    let mut above = bands.next()?;
    let (mut sum, mut count) = (0.0, 0u32);
    for below in bands {
        for left in 0..width / STEP - 1 {
            let of_two = |blocks: &[u32]| blocks[left] + blocks[left + 1];
            let of_four = |term: usize| of_two(&above[term]) + of_two(&below[term]);
            sum += similarity(array::from_fn(of_four));
            count += 1;
        }
        above = below;
    }
    Some(sum / f64::from(count))
}

/// The columns and rows of a window.
const WINDOW: usize = 8;

/// The distance from a window to the next one, which is also the side of a block.
const STEP: usize = WINDOW / 2;

/// Returns Σa, Σb, Σa², Σb², Σab of each block, in lines of `width` samples. The sum of 64 squares of 8 bits fits.
fn blocks(a: &[u8], b: &[u8], width: usize) -> [Vec<u32>; 5] {
    [
        sums(a, b, width, |a, _| a),
        sums(a, b, width, |_, b| b),
        sums(a, b, width, |a, _| a * a),
        sums(a, b, width, |_, b| b * b),
        sums(a, b, width, |a, b| a * b),
    ]
}

/// Sums one term over each block.
fn sums(a: &[u8], b: &[u8], width: usize, term: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    // A whole line is summed at a time, so that the compiler vectorises the loop.
    let mut columns = vec![0; width];
    for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
        for (sum, (&a, &b)) in columns.iter_mut().zip(a.iter().zip(b)) {
            *sum += term(a.into(), b.into());
        }
    }
    let blocks = columns.chunks_exact(STEP);
    blocks.map(|columns| columns.iter().sum()).collect()
}

/// Returns equation 13 of the paper for one window.
fn similarity(sums: [u32; 5]) -> f64 {
    const N: f64 = (WINDOW * WINDOW) as f64;
    /// The constants (K1·L)² and (K2·L)².
    const C1: f64 = 2.55 * 2.55;
    const C2: f64 = 7.65 * 7.65;
    let [mean_a, mean_b, aa, bb, ab] = sums.map(|sum| f64::from(sum) / N);
    let covariance = ab - mean_a * mean_b;
    let variances = (aa - mean_a * mean_a) + (bb - mean_b * mean_b);
    let luminance = (2.0 * mean_a * mean_b + C1) / (mean_a * mean_a + mean_b * mean_b + C1);
    luminance * (2.0 * covariance + C2) / (variances + C2)
}

/// Returns a percentile by nearest rank: the smallest sample that at least `percent` per cent of the samples do not
/// exceed.
///
/// Returns `None` without samples. `percent` is clamped to 0 to 100, where 0 gives the smallest sample. Samples
/// that are not numbers are ranked last (or first, if negative).
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
        assert_eq!(luma_ssim(&Picture::new(16, 8), &Picture::new(8, 16)), None);
        assert_eq!(luma_ssim(&Picture::new(8, 7), &Picture::new(8, 7)), None);
    }

    /// Returns a picture of 8x8 whose luma alternates from column to column.
    fn columns(even: u8, odd: u8) -> Picture {
        let mut picture = Picture::new(8, 8);
        for pair in picture.planes_mut()[0].chunks_exact_mut(2) {
            pair.copy_from_slice(&[even, odd]);
        }
        picture
    }

    #[test]
    fn similarity_is_that_of_the_paper_by_hand() {
        let ssim = |a: &Picture, b: &Picture| luma_ssim(a, b).expect("same size");
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-12;
        let (c1, c2) = (6.5025, 58.5225);
        let picture = columns(90, 110);
        assert!(near(ssim(&picture, &picture), 1.0));
        // In flat pictures only the luminance differs.
        let flat = ssim(&columns(100, 100), &columns(110, 110));
        assert!(near(flat, (22_000.0 + c1) / (22_100.0 + c1)));
        // With half the contrast the variances are 100 and 25, and the covariance 50.
        let faded = ssim(&picture, &columns(95, 105));
        assert!(near(faded, (100.0 + c2) / (125.0 + c2)));
        // With reversed contrast the covariance is -100.
        let negative = ssim(&picture, &columns(110, 90));
        assert!(near(negative, (-200.0 + c2) / (200.0 + c2)));
    }

    #[test]
    fn similarity_is_the_mean_over_windows() {
        // The three windows are equal, half equal, and all of another grey.
        let original = Picture::new(16, 8);
        let mut shown = original.clone();
        for line in shown.planes_mut()[0].chunks_exact_mut(16) {
            line[8..].fill(200);
        }
        let window = |from: usize| {
            let cut = |picture: &Picture| {
                let mut part = Picture::new(8, 8);
                let lines = picture.planes()[0].chunks_exact(16);
                for (to, line) in part.planes_mut()[0].chunks_exact_mut(8).zip(lines) {
                    to.copy_from_slice(&line[from..from + 8]);
                }
                part
            };
            luma_ssim(&cut(&original), &cut(&shown)).expect("same size")
        };
        let mean = (window(0) + window(4) + window(8)) / 3.0;
        let whole = luma_ssim(&original, &shown).expect("same size");
        assert!((whole - mean).abs() < 1e-12, "{whole} {mean}");
        assert!(window(0) > 0.999 && window(4) < 0.5 && window(8) < 0.5);
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
