//! The tables that RFC 2435 fixes: quantisation at any scale, Huffman codes, zigzag order.

use core::ops::RangeInclusive;

use crate::picture::QuantTables;

/// Row-major position of each coefficient of a block, in zigzag order (ITU-T T.81, figure 5).
#[rustfmt::skip]
pub(super) const ZIGZAG: [u8; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Table K.1 of ITU-T T.81, row-major.
#[rustfmt::skip]
const LUMA: [u8; 64] = [
    16, 11, 10, 16,  24,  40,  51,  61,
    12, 12, 14, 19,  26,  58,  60,  55,
    14, 13, 16, 24,  40,  57,  69,  56,
    14, 17, 22, 29,  51,  87,  80,  62,
    18, 22, 37, 56,  68, 109, 103,  77,
    24, 35, 55, 64,  81, 104, 113,  92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103,  99,
];

/// Table K.2 of ITU-T T.81, row-major.
#[rustfmt::skip]
const CHROMA: [u8; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99,
    18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
];

/// The coarseness of quantisation: the factor on the tables of ITU-T T.81 Annex K, of any value.
///
/// The tables in use always have a Q of 1 to 99 in RFC 2435, so a packet states them in one byte, and a
/// frame that lost its first packet still has them. Their sizes are up to a third of a frame's size apart. Factors
/// between two tables use the finer one and another rounding, which moves the bound below which a coefficient
/// becomes zero to where the factor would have it. Nearly all of a frame's size depends on the number of zeros.
/// Only in fine tables the remaining levels matter too, so from Q = 96 to 92 the bound moves further.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Scale(f64);

/// The share of its divisor below which a coefficient becomes zero, at the scales of the tables but for
/// [`FINE_QS`].
///
/// Half would round to the nearest, but small levels cost more than they give. At equal sizes from 0.25 to 1.6 bits
/// a pixel, on the three clips and the scene, 0.6 has 0.0 to 0.4 dB more luma PSNR than 0.5, most of it at the low
/// rates; 0.65 has no more.
const ZERO_BOUND: f64 = 0.6;

/// The Qs that would leave a gap of 5 to 7 % in size with a bound at [`ZERO_BOUND`]. The gap would lie after the
/// sizes of the tables before them; with coarser tables it is at most 4 %.
///
/// Between two tables the bound moves by their ratio. This makes up for the zeros of the next tables, but not for
/// their smaller levels, of which coarse tables have few.
const FINE_QS: RangeInclusive<u8> = 92..=96;

/// The first bound of [`FINE_QS`] tables, which rounds every level to the nearest. That is finer than
/// [`ZERO_BOUND`], so the pictures that fill the gap have more of the original than those below it.
const FINE_ZERO_BOUND: f64 = 0.5;

impl Scale {
    /// The tables as Annex K prints them: quality 50.
    pub const ANNEX_K: Self = Self(1.0);
    /// Q = 98, divisors of 1 to 5: the largest frames. (Q = 99 halves the factor, too far to bridge.)
    pub const FINEST: Self = Self(0.04);
    /// One and a half times Q = 2, whose divisors are 250 and 255: the smallest frames.
    pub const COARSEST: Self = Self(37.5);

    /// Creates a scale from a factor, clamped to [[`Scale::FINEST`], [`Scale::COARSEST`]]; NaN becomes the
    /// coarsest.
    pub fn new(factor: f64) -> Self {
        if factor < Self::COARSEST.0 {
            Self(factor.max(Self::FINEST.0))
        } else {
            Self::COARSEST
        }
    }

    /// Returns the scale of a quality in the JPEG library of the IJG and in RFC 2435 Appendix A.
    pub fn from_quality(quality: f64) -> Self {
        Self::new(if quality < 50.0 {
            50.0 / quality.max(1.0)
        } else {
            2.0 - quality / 50.0
        })
    }

    /// Returns the factor.
    pub const fn factor(self) -> f64 {
        self.0
    }

    /// Returns the quality, from 1.33 ([`Scale::COARSEST`]) to 98 ([`Scale::FINEST`]).
    pub fn quality(self) -> f64 {
        if self.0 > 1.0 {
            50.0 / self.0
        } else {
            100.0 - 50.0 * self.0
        }
    }

    /// Returns the Q of RFC 2435 whose tables are the coarsest that are not coarser than this, from 2 to 98.
    pub fn q(self) -> u8 {
        // Q = 1 has the tables of Q = 2 except for one divisor, 255 instead of 250.
        (2..99)
            .find(|&q| f64::from(percent(q)) / 100.0 <= self.0)
            .unwrap_or(98)
    }

    /// Gives the tables of [`Scale::q`].
    pub fn tables(self) -> QuantTables {
        rfc2435_tables(self.q())
    }

    /// Returns the part of a divisor, in 1/256, that is added to a coefficient before the division truncates it.
    pub(super) fn rounding(self) -> u16 {
        let q = self.q();
        let share = |q| f64::from(percent(q)) / 100.0;
        let mut bound = ZERO_BOUND * (self.0 / share(q));
        if FINE_QS.contains(&q) {
            let left = (share(q - 1) - self.0) / (share(q - 1) - share(q));
            bound -= (ZERO_BOUND - FINE_ZERO_BOUND) * left;
        }
        ((1.0 - bound) * 256.0 + 0.5) as u16
    }
}

/// Returns the tables of `q` in RFC 2435 §4.2, clamped to 1 to 99, by the integer arithmetic of its Appendix A.
pub fn rfc2435_tables(q: u8) -> QuantTables {
    let percent = percent(q);
    let scaled = |base: &[u8; 64]| {
        ZIGZAG.map(|at| {
            let value = (u32::from(base[usize::from(at)]) * percent + 50) / 100;
            value.clamp(1, 255) as u8
        })
    };
    QuantTables {
        luma: scaled(&LUMA),
        chroma: scaled(&CHROMA),
    }
}

/// Returns the percentage by which a Q scales the tables of Annex K.
fn percent(q: u8) -> u32 {
    match u32::from(q.clamp(1, 99)) {
        q @ 0..50 => 5_000 / q,
        q => 200 - 2 * q,
    }
}

/// A Huffman code as a DHT segment defines it (ITU-T T.81 §C).
pub(super) struct HuffmanSpec {
    /// The numbers of codes with 1, 2, … 16 bits.
    pub(super) lengths: [u8; 16],
    /// The symbols in the order of their codes.
    pub(super) symbols: &'static [u8],
}

/// Luma DC, table K.3.
pub(super) static LUMA_DC: HuffmanSpec = HuffmanSpec {
    lengths: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

/// Chroma DC, table K.4.
pub(super) static CHROMA_DC: HuffmanSpec = HuffmanSpec {
    lengths: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};

/// Luma AC, table K.5.
pub(super) static LUMA_AC: HuffmanSpec = HuffmanSpec {
    lengths: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
    symbols: &LUMA_AC_SYMBOLS,
};

/// Chroma AC, table K.6.
pub(super) static CHROMA_AC: HuffmanSpec = HuffmanSpec {
    lengths: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
    symbols: &CHROMA_AC_SYMBOLS,
};

#[rustfmt::skip]
static LUMA_AC_SYMBOLS: [u8; 162] = [
    0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
    0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0,
    0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28,
    0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
    0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69,
    0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
    0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
    0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5,
    0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
    0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
    0xf9, 0xfa,
];

#[rustfmt::skip]
static CHROMA_AC_SYMBOLS: [u8; 162] = [
    0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
    0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0,
    0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26,
    0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
    0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
    0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
    0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5,
    0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
    0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
    0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
    0xf9, 0xfa,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_and_scale_convert_both_ways() {
        for quality in [2.0, 10.0, 50.0, 75.0, 97.0] {
            let back = Scale::from_quality(quality).quality();
            assert!((back - quality).abs() < 1e-9, "{quality} became {back}");
        }
        assert_eq!(Scale::from_quality(50.0), Scale::ANNEX_K);
        assert_eq!(Scale::new(f64::NAN), Scale::COARSEST);
    }

    #[test]
    fn tables_are_never_coarser_than_the_scale() {
        for (factor, q) in [
            (0.04, 98),
            (0.059, 98),
            (0.06, 97),
            (1.0, 50),
            (1.66, 30),
            (37.5, 2),
        ] {
            assert_eq!(Scale::new(factor).q(), q, "{factor}");
        }
        assert!(
            Scale::COARSEST
                .tables()
                .luma
                .iter()
                .all(|&divisor| divisor >= 250)
        );
    }

    /// Returns the part of its divisor below which a coefficient becomes zero.
    fn bound(scale: Scale) -> f64 {
        1.0 - f64::from(scale.rounding()) / 256.0
    }

    #[test]
    fn zero_bound_stays_in_proportion_to_scale() {
        let mut factor = Scale::FINEST.factor();
        while factor < Scale::COARSEST.factor() {
            let scale = Scale::new(factor);
            if !FINE_QS.contains(&scale.q()) {
                let bound = bound(scale) * f64::from(percent(scale.q())) / 100.0;
                assert!(
                    (bound / factor - ZERO_BOUND).abs() < 0.01,
                    "{factor}: {bound}"
                );
            }
            factor *= 1.01;
        }
    }

    #[test]
    fn zero_bound_of_fine_tables_is_continuous() {
        for q in FINE_QS {
            let [from, to] = [q, q - 1].map(|q| f64::from(percent(q)) / 100.0);
            let bounds = [from, (from + to) / 2.0, to - 1e-9].map(|at| bound(Scale::new(at)));
            let ratio = to / from;
            let expected = [
                FINE_ZERO_BOUND,
                (FINE_ZERO_BOUND + ZERO_BOUND * ratio) / 2.0,
                ZERO_BOUND * ratio,
            ];
            for (bound, expected) in bounds.iter().zip(expected) {
                assert!((bound - expected).abs() < 0.003, "{q}: {bounds:?}");
            }
        }
    }

    #[test]
    fn annex_k_begins_in_zigzag_order() {
        assert_eq!(Scale::ANNEX_K.tables().luma[..6], [16, 11, 12, 14, 12, 10]);
    }

    #[test]
    fn huffman_code_has_a_symbol_for_each_length() {
        for spec in [&LUMA_DC, &LUMA_AC, &CHROMA_DC, &CHROMA_AC] {
            let codes: usize = spec.lengths.iter().map(|&n| usize::from(n)).sum();
            assert_eq!(codes, spec.symbols.len());
        }
    }
}
