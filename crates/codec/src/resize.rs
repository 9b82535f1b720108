//! Halves and doubles the sides of pictures that have too few bytes for all of their samples.

use std::borrow::Cow;

use crate::picture::Picture;

/// The most times that the sides of a picture may be halved.
pub(crate) const HALVINGS: usize = 2;

/// The distance of sampled rows, odd so that the upper of two rows is sampled as often as the lower.
const LOST_ROWS: usize = 9;

/// Returns the picture with these columns and rows. Its sides must be equal, a half, a quarter, twice or four times
/// as long; else the result is `None`.
///
/// A sender with few bytes for a picture halves its sides (`downscale.rs`). A display and a comparison need the
/// original size.
pub fn fitted(picture: &Picture, size: (usize, usize)) -> Option<Cow<'_, Picture>> {
    let own = (picture.width(), picture.height());
    let times = |(width, height), halvings| (width << halvings, height << halvings);
    let after = |halvings, resize: fn(&Picture) -> Option<Picture>| {
        (0..halvings).try_fold(Cow::Borrowed(picture), |picture, _| {
            resize(&picture).map(Cow::Owned)
        })
    };
    (0..=HALVINGS).find_map(|halvings| {
        if times(own, halvings) == size {
            after(halvings, doubled)
        } else if times(size, halvings) == own {
            after(halvings, halved)
        } else {
            None
        }
    })
}

/// Returns a quarter of the samples, each the mean of four; `None` if a side of the luma or the chroma is odd.
pub(crate) fn halved(picture: &Picture) -> Option<Picture> {
    let (width, height) = (picture.width(), picture.height());
    if width == 0 || height == 0 || !width.is_multiple_of(4) || !height.is_multiple_of(4) {
        return None;
    }
    let mut half = Picture::new(width / 2, height / 2);
    let widths = [width, width / 2, width / 2];
    let planes = picture.planes().into_iter().zip(half.planes_mut());
    for ((from, to), width) in planes.zip(widths) {
        let rows = from.chunks_exact(2 * width);
        for (two, row) in rows.zip(to.chunks_exact_mut(width / 2)) {
            halve_rows(two, row);
        }
    }
    Some(half)
}

/// Returns four samples for each, interpolated: three quarters of the nearest and one of the next, in both
/// directions. The result has the position of the picture that was [`halved`]. Returns `None` if a side is odd,
/// because the chroma would have a sample too many.
fn doubled(picture: &Picture) -> Option<Picture> {
    let (width, height) = (picture.width(), picture.height());
    if width == 0 || height == 0 || !width.is_multiple_of(2) || !height.is_multiple_of(2) {
        return None;
    }
    let mut double = Picture::new(2 * width, 2 * height);
    let chroma = (picture.chroma_width(), picture.chroma_height());
    let sizes = [(width, height), chroma, chroma];
    let planes = picture.planes().into_iter().zip(double.planes_mut());
    for ((from, to), (width, height)) in planes.zip(sizes) {
        double_plane(from, to, width, height);
    }
    Some(double)
}

fn double_plane(from: &[u8], to: &mut [u8], width: usize, height: usize) {
    let line = |y: usize| &from[y * width..][..width];
    let mut between = Vec::new();
    for (y, row) in to.chunks_exact_mut(2 * width).enumerate() {
        let (near, next) = sources(y, height);
        double_row(line(near), line(next), &mut between, row);
    }
}

/// Returns the two rows of `height` between which a row of the double lies: the nearest and the next.
fn sources(y: usize, height: usize) -> (usize, usize) {
    let near = y / 2;
    match y % 2 {
        0 => (near, near.saturating_sub(1)),
        _ => (near, (near + 1).min(height - 1)),
    }
}

/// Writes a row of the double; `between` is a buffer for the vertical interpolation, in quarters of a sample.
fn double_row(near: &[u8], next: &[u8], between: &mut Vec<u16>, row: &mut [u8]) {
    let samples = near.iter().zip(next);
    between.clear();
    between.extend(samples.map(|(near, next)| 3 * u16::from(*near) + u16::from(*next)));
    let last = between.len() - 1;
    for (x, pair) in row.chunks_exact_mut(2).enumerate() {
        let before = between[x.saturating_sub(1)];
        let after = between[(x + 1).min(last)];
        let sample = |next: u16| ((3 * between[x] + next + 8) / 16) as u8;
        pair[0] = sample(before);
        pair[1] = sample(after);
    }
}

/// Makes a row of the half from two consecutive rows.
fn halve_rows(two: &[u8], row: &mut [u8]) {
    let (above, below) = two.split_at(two.len() / 2);
    let squares = above.chunks_exact(2).zip(below.chunks_exact(2));
    for (sample, (a, b)) in row.iter_mut().zip(squares) {
        let sum = u16::from(a[0]) + u16::from(a[1]) + u16::from(b[0]) + u16::from(b[1]);
        *sample = ((sum + 2) / 4) as u8;
    }
}

/// Returns the mean square that luma would lose if it were [`halved`] and shown at its old size, by a sample of
/// rows; 0 for odd sides.
pub(crate) fn lost_by_halving(picture: &Picture) -> f64 {
    let (width, height) = (picture.width(), picture.height());
    if width == 0 || height == 0 || !width.is_multiple_of(2) || !height.is_multiple_of(2) {
        return 0.0;
    }
    let luma = picture.planes()[0];
    let two = |y: usize| &luma[2 * y * width..][..2 * width];
    let [mut near, mut next] = [vec![0; width / 2], vec![0; width / 2]];
    let (mut between, mut shown) = (Vec::new(), vec![0; width]);
    let (mut squares, mut samples) = (0_u64, 0);
    let rows = luma.chunks_exact(width).enumerate();
    for (y, row) in rows.step_by(LOST_ROWS) {
        let (nearest, other) = sources(y, height / 2);
        halve_rows(two(nearest), &mut near);
        halve_rows(two(other), &mut next);
        double_row(&near, &next, &mut between, &mut shown);
        let square = |(a, b): (&u8, &u8)| u32::from(a.abs_diff(*b)).pow(2);
        // The sum fits, because sides are short.
        squares += u64::from(row.iter().zip(&shown).map(square).sum::<u32>());
        samples += row.len();
    }
    squares as f64 / samples as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(width: usize, height: usize) -> Picture {
        let mut picture = Picture::new(width, height);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = (3 * (i % width) + 2 * (i / width)) as u8;
        }
        picture
    }

    #[test]
    fn slope_survives_resizing_except_at_edges() {
        let picture = ramp(32, 24);
        let half = halved(&picture).unwrap();
        assert_eq!((half.width(), half.height()), (16, 12));
        let back = fitted(&half, (32, 24)).unwrap();
        assert_eq!(back.planes()[1..], picture.planes()[1..]);
        for y in 1..23 {
            for x in 1..31 {
                let [old, new] = [&picture, &*back].map(|p| p.planes()[0][y * 32 + x]);
                assert!(old.abs_diff(new) <= 1, "{old} {new} at {x}, {y}");
            }
        }
    }

    #[test]
    fn each_half_is_the_mean_of_four() {
        let picture = Picture::from_data(
            4,
            4,
            [vec![1; 8], vec![4; 8], vec![7, 8, 9, 9, 2, 2, 2, 2]].concat(),
        );
        let half = halved(&picture.unwrap()).unwrap();
        assert_eq!(half.data(), [1, 1, 4, 4, 8, 2]);
    }

    #[test]
    fn halving_loss_is_the_difference_after_doubling() {
        // Alternating columns differ by 40: the half has only their mean.
        let mut picture = Picture::new(32, 36);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = 100 + 40 * (i % 2) as u8;
        }
        assert_eq!(lost_by_halving(&picture), 400.0);
        assert!(lost_by_halving(&ramp(32, 36)) < 2.0);
        for (width, height) in [(0, 0), (1, 9), (2, 1), (3, 3)] {
            assert_eq!(lost_by_halving(&Picture::new(width, height)), 0.0);
        }
    }

    #[test]
    fn only_halves_and_quarters_are_made_to_fit() {
        let picture = ramp(16, 8);
        for size in [(16, 8), (32, 16), (64, 32), (8, 4)] {
            let fitted = fitted(&picture, size).unwrap();
            assert_eq!((fitted.width(), fitted.height()), size);
        }
        for size in [(128, 64), (32, 8), (16, 9), (0, 0), (2, 1), (usize::MAX, 1)] {
            assert!(fitted(&picture, size).is_none(), "{size:?}");
        }
        for odd in [Picture::new(5, 3), Picture::new(0, 0)] {
            let (width, height) = (odd.width(), odd.height());
            assert!(fitted(&odd, (2 * width, 2 * height + 2)).is_none());
            assert!(doubled(&odd).is_none() && halved(&odd).is_none());
        }
    }
}
