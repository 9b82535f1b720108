//! Measures how much of a picture is new, before it is coded.

use crate::log2::log2;
use crate::picture::Picture;

/// The distance between compared luma samples in columns and rows, which compares 6,000 of CIF.
const GRID: usize = 4;

/// The mean difference of luma between a picture and the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change(pub(super) f64);

impl Change {
    /// The change of a picture without a reference.
    pub(super) const ALL: Self = Self(255.0);

    /// Returns by how many octaves this change exceeds another, where differences below `still` count as none; 0 if
    /// either picture has no reference.
    pub(super) fn octaves_above(self, other: Self, still: f64) -> f64 {
        if self == Self::ALL || other == Self::ALL {
            return 0.0;
        }
        let [here, there] = [self, other].map(|of| log2((of.0 + still) / still));
        here - there
    }
}

/// Compares successive pictures of one size.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The compared samples of the last picture.
    last: Vec<u8>,
}

impl Watch {
    /// Returns the change from the last picture to the next.
    pub(super) fn next(&mut self, picture: &Picture) -> Change {
        let [luma, ..] = picture.planes();
        let rows = luma.chunks_exact(picture.width()).step_by(GRID);
        let samples: Vec<u8> = rows
            .flat_map(|row| row.iter().step_by(GRID).copied())
            .collect();
        let last = std::mem::replace(&mut self.last, samples);
        if last.len() != self.last.len() || last.is_empty() {
            return Change::ALL;
        }
        let pairs = last.iter().zip(&self.last);
        let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        Change(sum as f64 / last.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(level: u8) -> Picture {
        Picture::from_data(16, 8, vec![level; Picture::samples(16, 8)]).unwrap()
    }

    #[test]
    fn changes_are_compared_above_what_is_noise() {
        for (change, other, octaves) in [
            (Change(3.0), Change(1.0), 1.0),
            (Change(0.0), Change(7.0), -3.0),
            (Change(0.0), Change(0.0), 0.0),
            (Change(3.0), Change::ALL, 0.0),
            (Change::ALL, Change(3.0), 0.0),
        ] {
            let measured = change.octaves_above(other, 1.0);
            assert!((measured - octaves).abs() < 0.01, "{measured}");
        }
    }

    #[test]
    fn a_change_is_the_mean_difference() {
        let mut watch = Watch::default();
        assert_eq!(watch.next(&grey(100)), Change::ALL);
        assert_eq!(watch.next(&grey(100)), Change(0.0));
        assert_eq!(watch.next(&grey(110)), Change(10.0));
        assert_eq!(watch.next(&grey(60)), Change(50.0));
    }
}
