//! The DCT coefficients of a picture, computed once and coded at several scales.

use super::dct::{self, AAN, Block};
use super::range::NominalRange;
use super::tables::ZIGZAG;
use crate::picture::Picture;

/// The fraction in which coefficients are stored. The DCT of 8-bit samples stays within ±1024 (it preserves the
/// norm, and 64 samples of ±128 have 1024), so sixteenths are the finest fraction for i16 that has room for the
/// quantiser's rounding.
pub(super) const FRACTION: u16 = 16;

/// Blocks of an MCU in 4:2:0: four of luma, one each of Cb and Cr.
pub(super) const BLOCKS: usize = 6;

/// A block's coefficients in zigzag order, in units of 1/[`FRACTION`].
pub(super) type Coded = [i16; 64];

/// The coefficients of a picture, in the order in which 4:2:0 JPEG codes its blocks.
#[derive(Clone, Debug, Default)]
pub struct Coefficients {
    width: u16,
    height: u16,
    blocks: Vec<[Coded; BLOCKS]>,
}

impl Coefficients {
    /// Replaces the coefficients by the transform of `picture`, whose sides must fit in 16 bits, and reuses the
    /// memory.
    ///
    /// Blocks that cross the right or lower edge repeat the last column or row, which costs the fewest bits.
    pub fn transform(&mut self, picture: &Picture) {
        self.width = picture.width() as u16;
        self.height = picture.height() as u16;
        self.blocks.clear();
        let chroma = (picture.chroma_width(), picture.chroma_height());
        let luma = (picture.width(), picture.height());
        let [y, cb, cr] = picture.planes();
        let y = Plane(y, luma, &Scaled::LUMA);
        let [cb, cr] = [cb, cr].map(|plane| Plane(plane, chroma, &Scaled::CHROMA));
        for row in (0..luma.1).step_by(16) {
            for column in (0..luma.0).step_by(16) {
                let half = (column / 2, row / 2);
                self.blocks.push([
                    y.block(column, row),
                    y.block(column + 8, row),
                    y.block(column, row + 8),
                    y.block(column + 8, row + 8),
                    cb.block(half.0, half.1),
                    cr.block(half.0, half.1),
                ]);
            }
        }
    }

    /// Returns the width and height of the picture.
    pub(super) fn size(&self) -> (u16, u16) {
        (self.width, self.height)
    }

    /// Returns the number of MCUs in the picture.
    pub fn mcu_count(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the MCUs, row by row.
    pub(super) fn mcus(&self) -> &[[Coded; BLOCKS]] {
        &self.blocks
    }
}

/// The samples of a plane, their columns and rows, and the factors of their coefficients.
struct Plane<'a>(&'a [u8], (usize, usize), &'static Scaled);

impl Plane<'_> {
    fn block(&self, x: usize, y: usize) -> Coded {
        let Self(samples, (width, height), Scaled { range, descale }) = *self;
        let mut block: Block = [[0.0; 8]; 8];
        for (i, row) in block.iter_mut().enumerate() {
            let line = &samples[(y + i).min(height - 1) * width..][..width];
            if let Some(inside) = line.get(x..x + 8) {
                for (value, &sample) in row.iter_mut().zip(inside) {
                    *value = range.distance(sample);
                }
            } else {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = range.distance(line[(x + j).min(width - 1)]);
                }
            }
        }
        dct::forward(&mut block);
        zigzag(&block, descale)
    }
}

/// Converts a block to the order and the unit of [`Coded`].
fn zigzag(transposed: &Block, descale: &Block) -> Coded {
    let mut rounded = [0_i16; 64];
    for ((to, from), factor) in rounded
        .iter_mut()
        .zip(transposed.as_flattened())
        .zip(descale.as_flattened())
    {
        *to = round(from * factor);
    }
    TRANSPOSED_ZIGZAG.map(|at| rounded[usize::from(at)])
}

/// Rounds to the nearest integer, for |value| < 2²²: the sum's last bit is then worth one, so the addition rounds
/// and the integer is in the low bits. A cast would saturate each lane by itself.
fn round(value: f32) -> i16 {
    const TOP: f32 = 12_582_912.0; // 1.5 · 2²³
    ((value + TOP).to_bits() as i32).wrapping_sub(TOP.to_bits() as i32) as i16
}

/// The range of a kind of component, and the factors that give its coefficients in units of 1/[`FRACTION`].
struct Scaled {
    range: NominalRange,
    descale: Block,
}

impl Scaled {
    const LUMA: Self = Self::new(NominalRange::LUMA);
    const CHROMA: Self = Self::new(NominalRange::CHROMA);

    const fn new(range: NominalRange) -> Self {
        let mut descale = [[0.0; 8]; 8];
        let mut v = 0;
        while v < 8 {
            let mut u = 0;
            while u < 8 {
                descale[v][u] = FRACTION as f32 * range.gain / (8.0 * AAN[v] * AAN[u]);
                u += 1;
            }
            v += 1;
        }
        Self { range, descale }
    }
}

/// [`ZIGZAG`] for a block stored column by column.
const TRANSPOSED_ZIGZAG: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < 64 {
        order[i] = (ZIGZAG[i] % 8) * 8 + ZIGZAG[i] / 8;
        i += 1;
    }
    order
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_the_nearest_integer() {
        for (value, nearest) in [(0.4, 0), (0.6, 1), (-0.6, -1), (16_384.2, 16_384)] {
            assert_eq!(round(value), nearest);
        }
    }

    #[test]
    fn a_flat_picture_has_only_its_mean() {
        let mut picture = Picture::new(17, 5);
        picture.planes_mut()[0].fill(235);
        let mut coefficients = Coefficients::default();
        coefficients.transform(&picture);
        assert_eq!(coefficients.mcus().len(), 2);
        for mcu in coefficients.mcus() {
            for (i, block) in mcu.iter().enumerate() {
                let mean = if i < 4 { 127 * 8 * 16 } else { 0 };
                assert_eq!((block[0], &block[1..]), (mean, &[0; 63][..]));
            }
        }
    }

    #[test]
    fn a_horizontal_edge_is_a_vertical_frequency() {
        let mut picture = Picture::new(16, 16);
        picture.planes_mut()[0][..64].fill(200);
        let mut coefficients = Coefficients::default();
        coefficients.transform(&picture);
        let block = coefficients.mcus()[0][0];
        // Zigzag order: 1 is the first horizontal frequency, 2 the first vertical one.
        assert_eq!(block[1], 0);
        assert!(block[2] > 0);
    }
}
