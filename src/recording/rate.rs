//! The frame rate of a stream that does not state it, from the timestamps of its first pictures.

use evenkeel_codec::source::FrameRate;

/// The ticks of video's timestamps in a second (RFC 3551 §5).
pub(super) const TICKS: u32 = 90_000;

/// The pictures whose timestamps give the rate: about a second, in which the jitter of single intervals cancels out.
pub(super) const PICTURES: usize = 25;

/// Returns the frame rate of pictures with these timestamps; `None` if they do not rise.
pub(super) fn of(timestamps: &[u32]) -> Option<FrameRate> {
    let steps = timestamps
        .windows(2)
        .map(|pair| pair[1].wrapping_sub(pair[0]));
    let mut steps: Vec<u32> = steps
        .filter(|&step| (1..=i32::MAX as u32).contains(&step))
        .collect();
    steps.sort_unstable();
    let median = *steps.get(steps.len() / 2)?;
    let divisor = common_divisor(TICKS, median);
    let exact = FrameRate::new(TICKS / divisor, median / divisor)?;
    let nearest = exact.per_second().round();
    // Times of capture jitter, and then the rate is the whole number that somebody set.
    let is_jittered = steps.first() != steps.last();
    let is_near = (exact.per_second() / nearest - 1.0).abs() < RATE_ERROR;
    if is_jittered && is_near {
        FrameRate::new(nearest as u32, 1)
    } else {
        Some(exact)
    }
}

fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The error of a rate that is measured from times of capture, as a share.
const RATE_ERROR: f64 = 0.03;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_that_of_the_timestamps() {
        for (timestamps, expected) in [
            (&[0, 3_600, 7_200, 10_800][..], Some((25, 1))),
            (&[7, 3_010, 6_013], Some((30_000, 1_001))),
            // The second picture is lost, and the counter wraps.
            (&[u32::MAX - 99, 5_900, 8_900, 11_900], Some((30, 1))),
            // Times of capture.
            (&[0, 3_612, 7_195, 10_803, 14_391, 18_010], Some((25, 1))),
            (&[5, 5], None),
            (&[5], None),
        ] {
            let expected = expected.and_then(|(n, d)| FrameRate::new(n, d));
            assert_eq!(of(timestamps), expected);
        }
    }
}
