//! The 8x8 discrete cosine transform and its inverse.
//!
//! Both are the factorisation of Arai, Agui and Nakajima (1988): five multiplications a line, with row and column
//! factors left to the quantiser (see [`AAN`]). Single precision with + − × alone gives the same coefficients on
//! every machine. The code works on rows of eight, so that the compiler vectorises it.

/// The samples or coefficients of a block, row-major.
pub(super) type Block = [[f32; 8]; 8];

/// The factor that the factorisation leaves on line `k`: cos(kπ/16)·√2, and 1 for k = 0.
///
/// A coefficient of [`forward`] is the DCT's times `8 · AAN[row] · AAN[column]`; [`inverse`] takes the DCT's times
/// `AAN[row] · AAN[column] / 8`.
pub(super) const AAN: [f32; 8] = [
    1.0,
    1.387_039_8,
    1.306_563,
    1.175_875_6,
    1.0,
    0.785_694_96,
    0.541_196_1,
    0.275_899_38,
];

/// Transforms a block. The result is **transposed**: `[column][row]`.
pub(super) fn forward(block: &mut Block) {
    forward_columns(block);
    transpose(block);
    forward_columns(block);
}

/// Computes the samples of a block from its **transposed** coefficients: `[column][row]`.
pub(super) fn inverse(block: &mut Block) {
    inverse_columns(block);
    transpose(block);
    inverse_columns(block);
}

fn transpose(block: &mut Block) {
    let from = *block;
    for (y, row) in block.iter_mut().enumerate() {
        for (x, value) in row.iter_mut().enumerate() {
            *value = from[x][y];
        }
    }
}

#[expect(clippy::needless_range_loop, reason = "eight rows at one column")]
fn forward_columns(d: &mut Block) {
    for x in 0..8 {
        let (sum07, diff07) = (d[0][x] + d[7][x], d[0][x] - d[7][x]);
        let (sum16, diff16) = (d[1][x] + d[6][x], d[1][x] - d[6][x]);
        let (sum25, diff25) = (d[2][x] + d[5][x], d[2][x] - d[5][x]);
        let (sum34, diff34) = (d[3][x] + d[4][x], d[3][x] - d[4][x]);

        let (outer, inner) = (sum07 + sum34, sum16 + sum25);
        let (outer_diff, inner_diff) = (sum07 - sum34, sum16 - sum25);
        let turned = (inner_diff + outer_diff) * core::f32::consts::FRAC_1_SQRT_2;
        d[0][x] = outer + inner;
        d[4][x] = outer - inner;
        d[2][x] = outer_diff + turned;
        d[6][x] = outer_diff - turned;

        let (low, middle, high) = (diff34 + diff25, diff25 + diff16, diff16 + diff07);
        let shared = (low - high) * 0.382_683_43;
        let low = low * 0.541_196_1 + shared;
        let high = high * 1.306_563 + shared;
        let middle = middle * core::f32::consts::FRAC_1_SQRT_2;
        let (plus, minus) = (diff07 + middle, diff07 - middle);
        d[5][x] = minus + low;
        d[3][x] = minus - low;
        d[1][x] = plus + high;
        d[7][x] = plus - high;
    }
}

#[expect(clippy::needless_range_loop, reason = "eight rows at one column")]
fn inverse_columns(c: &mut Block) {
    for x in 0..8 {
        let (sum04, diff04) = (c[0][x] + c[4][x], c[0][x] - c[4][x]);
        let sum26 = c[2][x] + c[6][x];
        let diff26 = (c[2][x] - c[6][x]) * core::f32::consts::SQRT_2 - sum26;
        let (even0, even3) = (sum04 + sum26, sum04 - sum26);
        let (even1, even2) = (diff04 + diff26, diff04 - diff26);

        let (sum53, diff53) = (c[5][x] + c[3][x], c[5][x] - c[3][x]);
        let (sum17, diff17) = (c[1][x] + c[7][x], c[1][x] - c[7][x]);
        let shared = (diff53 + diff17) * 1.847_759;
        let odd0 = sum17 + sum53;
        let odd1 = shared - diff53 * 2.613_126 - odd0;
        let odd2 = (sum17 - sum53) * core::f32::consts::SQRT_2 - odd1;
        let odd3 = shared - diff17 * 1.082_392_2 - odd2;

        c[0][x] = even0 + odd0;
        c[7][x] = even0 - odd0;
        c[1][x] = even1 + odd1;
        c[6][x] = even1 - odd1;
        c[2][x] = even2 + odd2;
        c[5][x] = even2 - odd2;
        c[3][x] = even3 + odd3;
        c[4][x] = even3 - odd3;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f64::consts::PI;
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    /// Computes the definition of ITU-T T.81 §A.3.3.
    fn by_definition(samples: &Block, v: usize, u: usize) -> f64 {
        let c = |k: usize| if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
        let mut sum = 0.0;
        for (y, row) in samples.iter().enumerate() {
            for (x, &sample) in row.iter().enumerate() {
                sum += f64::from(sample)
                    * ((2 * x + 1) as f64 * u as f64 * PI / 16.0).cos()
                    * ((2 * y + 1) as f64 * v as f64 * PI / 16.0).cos();
            }
        }
        0.25 * c(u) * c(v) * sum
    }

    fn texture() -> Block {
        let mut random = SplitMix64::seed_from_u64(1);
        core::array::from_fn(|_| {
            core::array::from_fn(|_| f32::from((random.next_u64() >> 56) as u8) - 128.0)
        })
    }

    #[test]
    fn the_factors_are_the_cosines_they_stand_for() {
        for (k, &factor) in AAN.iter().enumerate().skip(1) {
            let exact = (k as f64 * PI / 16.0).cos() * 2.0_f64.sqrt();
            assert!((f64::from(factor) - exact).abs() < 1e-6);
        }
    }

    #[test]
    fn the_fast_transform_is_the_standards() {
        let samples = texture();
        let mut fast = samples;
        forward(&mut fast);
        for v in 0..8 {
            for u in 0..8 {
                let value = fast[u][v] / (8.0 * AAN[u] * AAN[v]);
                let exact = by_definition(&samples, v, u);
                assert!(
                    (f64::from(value) - exact).abs() < 1e-3,
                    "row {v} column {u}: {value} is not {exact}"
                );
            }
        }
    }

    #[test]
    fn the_inverse_gives_the_samples_back() {
        let samples = texture();
        let mut block = samples;
        forward(&mut block);
        // The division converts the scale of `forward` to the scale of `inverse`.
        block.as_flattened_mut().iter_mut().for_each(|c| *c /= 64.0);
        inverse(&mut block);
        for (a, b) in samples.iter().flatten().zip(block.iter().flatten()) {
            assert!((a - b).abs() < 1e-3, "{a} became {b}");
        }
    }
}
