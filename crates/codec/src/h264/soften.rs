//! Reaches sizes between two quantisers by softer pictures, which have fewer bytes.
//!
//! A step of the quantiser is a third of an octave of bytes, and a whole one where little moves. All detail that
//! was just too faint is coded from one quantiser to the next, and an unchanged picture has no size between them. A
//! picture with that detail a little fainter lies between the two.
//!
//! Softening costs detail: where every picture may be softened, the luma of carphone at 0.75 bits a pixel has 1.1
//! dB less than without softening, and the scene 0.9. Pictures are therefore softened only between quantisers that
//! are far apart.

use evenkeel_h264::{Planes, Qp};

/// The most sixteenths of the way to the mean of its neighbours by which a sample of luma is moved.
const MAX_SIXTEENTHS: usize = 4;

/// The effect of each number of sixteenths as a share of a quantiser step: the medians of carphone, Big Buck Bunny
/// and the scene, coded at a quarter of a bit a pixel and less.
const STEP_FRACTIONS: [f64; MAX_SIXTEENTHS + 1] = [0.0, 0.2, 0.36, 0.49, 0.6];

/// The parameters of a coded picture: its quantiser, and its softening before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fineness {
    pub(super) qp: Qp,
    sixteenths: usize,
}

impl Fineness {
    /// Returns a quantiser without softening.
    pub(super) const fn sharp(qp: Qp) -> Self {
        Self { qp, sixteenths: 0 }
    }

    /// Returns the nearest quantiser to this value, or a softened one between two.
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

    /// Returns the equivalent quantiser, which may be a fraction.
    pub(super) fn value(self) -> f64 {
        f64::from(self.qp.get()) + STEP_FRACTIONS.get(self.sixteenths).copied().unwrap_or(0.0)
    }

    /// Returns the picture to code with the quantiser; `soft` receives its luma if it is softened.
    pub(super) fn picture<'a>(self, picture: &Planes<'a>, soft: &'a mut Vec<u8>) -> Planes<'a> {
        let mut planes = *picture;
        if self.sixteenths > 0 {
            soften(planes.samples[0], planes.width, self.sixteenths, soft);
            planes.samples[0] = soft;
        }
        planes
    }
}

/// Moves each sample towards the mean of the nine around it, weighted 1 2 1 both ways; samples at the edges stay.
///
/// The arithmetic has 16 bits and whole slices, so that the compiler vectorises it.
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
            // The value is at most 16 * 255 times 4, either way.
            let drawn = (left + 2 * middle + right - 16 * value) * sixteenths as i16 + 128;
            // The result lies between the least and the greatest of the nine.
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
        // The dot is 64 above the rest and its mean 64/4 above: a quarter of the way there leaves 64 - 48/4.
        assert_eq!(soft[3 * 8 + 4], 142);
        assert_eq!(
            [soft[3 * 8 + 5], soft[2 * 8 + 4], soft[4 * 8 + 3]],
            [92, 92, 91]
        );
        // Edges remain unchanged.
        let edge: Vec<u8> = (0..8 * 6)
            .map(|at| if at % 8 == 0 { 200 } else { 90 })
            .collect();
        soften(&edge, 8, 4, &mut soft);
        assert!(soft.chunks(8).all(|row| row[0] == 200 && row[7] == 90));
    }
}
