//! Seeded textures of the scene, in integers alone so that every machine draws the same.

use crate::picture::{BLACK, WHITE};
use crate::source::random::Random;

/// A rectangle of samples.
#[derive(Clone, Debug)]
pub(super) struct Texture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) samples: Vec<u8>,
}

/// The parameters of a texture: layers of value noise, each with half the cell of the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// The samples between lattice points of the finest and of the coarsest layer, which are powers of two.
    pub(super) cells: (usize, usize),
    /// The peak of the finest layer, in 1/16 of a sample's step.
    pub(super) finest: i32,
    /// The percentage by which each coarser layer is multiplied.
    pub(super) growth: i32,
    /// The mean level.
    pub(super) level: i32,
}

impl Texture {
    pub(super) fn noise(width: usize, height: usize, grain: Grain, random: &mut Random) -> Self {
        let mut sums = vec![grain.level * 16; width * height];
        let (mut cell, mut peak) = (grain.cells.0, grain.finest);
        while cell <= grain.cells.1 {
            add_layer(&mut sums, width, cell, peak, random);
            cell *= 2;
            peak = peak * grain.growth / 100;
        }
        Self {
            width,
            height,
            samples: sums
                .iter()
                .map(|sum| (sum / 16).clamp(BLACK.into(), WHITE.into()) as u8)
                .collect(),
        }
    }

    /// Returns `count` samples of a row, from column `x`; the texture is large enough by construction.
    pub(super) fn row(&self, x: usize, y: usize, count: usize) -> &[u8] {
        &self.samples[y * self.width + x..][..count]
    }
}

/// Adds a layer of noise between lattice points `cell` apart, blended smoothly.
fn add_layer(sums: &mut [i32], width: usize, cell: usize, peak: i32, random: &mut Random) {
    let points = width / cell + 2;
    let mut lattice = || -> Vec<i32> { (0..points).map(|_| random.between(-peak, peak)).collect() };
    let (mut above, mut below) = (lattice(), lattice());
    // The weight is 3t² - 2t³, in 1/256.
    let weights: Vec<i32> = (0..cell)
        .map(|i| {
            let t = (i * 256 / cell) as i32;
            (3 * t * t - 2 * t * t / 256 * t) / 256
        })
        .collect();
    for (y, row) in sums.chunks_mut(width).enumerate() {
        if y > 0 && y % cell == 0 {
            above = core::mem::replace(&mut below, lattice());
        }
        let down = weights[y % cell];
        let edge: Vec<i32> = above
            .iter()
            .zip(&below)
            .map(|(a, b)| a * 256 + (b - a) * down)
            .collect();
        for (run, ends) in row.chunks_mut(cell).zip(edge.windows(2)) {
            for (sum, across) in run.iter_mut().zip(&weights) {
                *sum += (ends[0] + (ends[1] - ends[0]) / 256 * across) / 256;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texture_varies_about_its_level() {
        let grain = Grain {
            cells: (2, 16),
            finest: 64,
            growth: 150,
            level: 100,
        };
        let texture = Texture::noise(65, 33, grain, &mut Random::new(3));
        let mean = texture.samples.iter().map(|&s| f64::from(s)).sum::<f64>() / (65.0 * 33.0);
        assert!((90.0..110.0).contains(&mean), "{mean}");
        assert_ne!(texture.row(0, 0, 65), texture.row(0, 32, 65));
    }
}
