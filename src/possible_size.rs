//! Proposes a size for pictures whose own size a codec cannot send.

use std::cmp::Reverse;

use evenkeel_codec::Codec;

/// The columns and rows of a picture.
type Size = (usize, usize);

/// The share by which pictures may look wider or taller than they are before a smaller size is better.
const MAX_UNSEEN_DISTORTION: f64 = 0.01;

/// Returns the nearest size that can be sent. Where that would distort pictures, because only the larger side
/// shrinks, returns the size of at least three quarters of it that best keeps their shape.
pub(crate) fn possible_size(codec: Codec, size: Size) -> Size {
    let nearest = codec.nearest_size(size);
    if distortion(size, nearest) <= MAX_UNSEEN_DISTORTION {
        return nearest;
    }
    let (width, height) = size;
    let of_width = |columns: usize| {
        let rows = (2 * columns * height + width) / (2 * width);
        codec.nearest_size((columns, rows.max(1)))
    };
    // The width is the largest that the height permits.
    let widest = nearest.0.min(nearest.1 * width / height).max(1);
    ((widest * 3).div_ceil(4)..=widest)
        .map(of_width)
        .chain([nearest])
        .min_by_key(|&possible| {
            let millionths = (distortion(size, possible) * 1e6) as u64;
            (millionths, Reverse(possible.0))
        })
        .unwrap_or(nearest)
}

/// Returns the share by which pictures of the first size look wider or taller with the other size.
fn distortion((width, height): Size, (other_width, other_height): Size) -> f64 {
    let (a, b) = (width * other_height, height * other_width);
    a.max(b) as f64 / a.min(b) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_large_picture_keeps_its_shape() {
        for (codec, size, expected) in [
            (Codec::Mjpeg, (2_560, 1_440), (1_920, 1_080)),
            (Codec::Mjpeg, (1_440, 2_560), (1_080, 1_920)),
            (Codec::Mjpeg, (3_840, 2_160), (1_920, 1_080)),
            (Codec::Mjpeg, (641, 479), (640, 480)),
            (Codec::H264, (5_120, 2_880), (3_840, 2_160)),
            (Codec::H264, (321, 241), (322, 242)),
            (Codec::Raw, (4_096, 2_160), (3_840, 2_025)),
        ] {
            assert_eq!(possible_size(codec, size), expected, "{codec} {size:?}");
        }
    }

    /// A refusal proposes these sizes.
    #[test]
    fn proposed_size_can_be_asked_for_and_sent() {
        for codec in Codec::ALL {
            for size in [(1, 1), (1, 8_192), (8_192, 1), (8_192, 8_192), (641, 3)] {
                let (width, height) = possible_size(codec, size);
                let asked = crate::units::size(&format!("{width}x{height}"));
                assert_eq!(asked, Ok((width, height)), "{codec} {size:?}");
                assert_eq!(codec.nearest_size((width, height)), (width, height));
            }
        }
    }
}
