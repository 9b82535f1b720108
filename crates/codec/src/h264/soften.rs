//! Sizes between two quantisers, by softer pictures, which have fewer bytes.
//!
//! A step of the quantiser is a third of an octave of bytes, and a whole one where little moves: from one to
//! the next, all that was just too faint to be coded is coded. There is nothing between for a picture as it is.
//! But what it comes down to is detail too faint for the next coarser quantiser, so a picture with that detail
//! a little fainter lies between the two.
//!
//! It costs detail: where every picture may be softened, the luma of carphone at 0.75 bits a pixel has 1.1 dB less
//! than where none is, and the scene's 0.9. So it is done only between quantisers that are far apart.

use evenkeel_h264::{Planes, Qp};

/// By how many sixteenths of the way to the mean of its neighbours a sample of luma may be drawn.
const MAX_SIXTEENTHS: usize = 4;

/// What so many sixteenths come to, as shares of a step of the quantiser: the medians of carphone, Big Buck
/// Bunny and the scene, coded at a quarter of a bit a pixel and less.
const STEP_FRACTIONS: [f64; MAX_SIXTEENTHS + 1] = [0.0, 0.2, 0.36, 0.49, 0.6];

/// How a picture is coded: its quantiser, and by how much it is softened before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fineness {
    pub(super) qp: Qp,
    sixteenths: usize,
}

impl Fineness {
    /// A quantiser as it is.
    pub(super) const fn sharp(qp: Qp) -> Self {
        Self { qp, sixteenths: 0 }
    }

    /// The nearest quantiser to this one that there is, or what lies between two.
    pub(super) fn nearest(value: f64) -> Self {
        let whole = value.floor();
        let finer = Qp::nearest(whole);
        let share = value - whole;
        let off = |other: f64| (share - other).abs();
        let shares = STEP_FRACTIONS.iter().copied().enumerate();
        let nearest = shares.min_by(|(_, a), (_, b)| off(*a).total_cmp(&off(*b)));
        let within = f64::from(Qp::FINEST.get()) <= value && value < f64::from(Qp::COARSEST.get());
        match nearest {
            Some((sixteenths, best)) if within && off(best) < off(1.0) => Self {
                qp: finer,
                sixteenths,
            },
            _ => Self::sharp(Qp::nearest(value)),
        }
    }

    /// As a quantiser that there may not be.
    pub(super) fn value(self) -> f64 {
        f64::from(self.qp.get()) + STEP_FRACTIONS.get(self.sixteenths).copied().unwrap_or(0.0)
    }

    /// The picture to code with the quantiser, with its luma in `soft` if it is softened.
    pub(super) fn picture<'a>(self, picture: &Planes<'a>, soft: &'a mut Vec<u8>) -> Planes<'a> {
        let mut planes = *picture;
        if self.sixteenths > 0 {
            soften(planes.samples[0], planes.width, self.sixteenths, soft);
            planes.samples[0] = soft;
        }
        planes
    }
}

/// Draws each sample towards the mean of the nine around it, weighed 1 2 1 both ways; those at the edges stay.
///
/// In 16 bits and whole slices, for the compiler to take many samples at once.
fn soften(luma: &[u8], width: usize, sixteenths: usize, soft: &mut Vec<u8>) {
    soft.clear();
    soft.extend_from_slice(luma);
    let mut columns = vec![0_i16; width];
    let rows = luma.windows(3 * width).step_by(width);
    for (rows, soft) in rows.zip(soft.chunks_exact_mut(width).skip(1)) {
        let (above, rest) = rows.split_at(width);
        let (row, below) = rest.split_at(width);
        let samples = above.iter().zip(row).zip(below);
        for (sum, ((above, row), below)) in columns.iter_mut().zip(samples) {
            *sum = i16::from(*above) + 2 * i16::from(*row) + i16::from(*below);
        }
        let [left, middle, right] = [0, 1, 2].map(|at| columns.get(at..).unwrap_or_default());
        let neighbours = left.iter().zip(middle).zip(right);
        let inner = soft.get_mut(1..).unwrap_or_default();
        for (sample, ((left, middle), right)) in inner.iter_mut().zip(neighbours) {
            let value = i16::from(*sample);
            // At most 16 * 255 times 4, either way.
            let drawn = (left + 2 * middle + right - 16 * value) * sixteenths as i16 + 128;
            // Between the least and the greatest of the nine.
            *sample = (value + (drawn >> 8)) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fineness_is_the_nearest_that_there_is() {
        for (value, expected) in [
            (30.0, 30.0),
            (30.09, 30.0),
            (30.11, 30.2),
            (30.58, 30.6),
            (30.79, 30.6),
            (30.81, 31.0),
            (9.7, 10.0),
            (50.9, 51.0),
            (60.0, 51.0),
            (-1e9, 10.0),
        ] {
            assert_eq!(Fineness::nearest(value).value(), expected, "{value}");
        }
    }

    #[test]
    fn detail_becomes_fainter_and_nothing_else_changes() {
        let flat = vec![90; 8 * 6];
        let mut dot = flat.clone();
        dot[3 * 8 + 4] = 154;
        let mut soft = Vec::new();
        soften(&flat, 8, 4, &mut soft);
        assert_eq!(soft, flat);
        soften(&dot, 8, 4, &mut soft);
        // Three quarters of the way to the mean of the nine, 64/4, are left out: 64 - 48/4.
        assert_eq!(soft[3 * 8 + 4], 142);
        assert_eq!(
            [soft[3 * 8 + 5], soft[2 * 8 + 4], soft[4 * 8 + 3]],
            [92, 92, 91]
        );
        // Edges stay as they are.
        let edge: Vec<u8> = (0..8 * 6)
            .map(|at| if at % 8 == 0 { 200 } else { 90 })
            .collect();
        soften(&edge, 8, 4, &mut soft);
        assert!(soft.chunks(8).all(|row| row[0] == 200 && row[7] == 90));
    }
}
