//! Quantises and Huffman-codes one restart interval.

use super::coefficients::{BLOCKS, Coded, FRACTION};
use super::tables::{CHROMA_AC, CHROMA_DC, HuffmanSpec, LUMA_AC, LUMA_DC, Scale};

/// The quantisers and codes for both kinds of component.
#[derive(Debug)]
pub(super) struct IntervalCoder {
    luma: Quantiser,
    chroma: Quantiser,
}

impl IntervalCoder {
    pub(super) fn new(scale: Scale) -> Self {
        let (tables, rounding) = (scale.tables(), scale.rounding());
        Self {
            luma: Quantiser::new(&tables.luma, rounding),
            chroma: Quantiser::new(&tables.chroma, rounding),
        }
    }

    /// Appends the entropy-coded bytes of `mcus`, aligned with ones (ITU-T T.81 §F.1.2.3).
    pub(super) fn code(&self, mcus: &[[Coded; BLOCKS]], out: &mut Vec<u8>) {
        let mut bits = BitWriter::new(out);
        let mut predicted = [0_i16; 3];
        for mcu in mcus {
            for (i, block) in mcu.iter().enumerate() {
                let component = i.saturating_sub(3);
                let (quantiser, codes) = if component == 0 {
                    (&self.luma, &LUMA_CODES)
                } else {
                    (&self.chroma, &CHROMA_CODES)
                };
                let levels = quantiser.quantise(block);
                let difference = levels[0] - predicted[component];
                predicted[component] = levels[0];
                code_block(&mut bits, codes, difference, &levels);
            }
        }
        bits.align();
    }
}

fn code_block(bits: &mut BitWriter<'_>, codes: &Codes, difference: i16, levels: &[i16; 64]) {
    bits.put_level(&codes.dc, 0, difference);
    // The mean is coded already.
    let mut left = nonzero(levels) & !1;
    let mut coded = 0;
    while left != 0 {
        let at = left.trailing_zeros();
        left &= left - 1;
        let mut run = at - coded - 1;
        coded = at;
        while run > 15 {
            bits.put(codes.ac[ZERO_RUN]);
            run -= 16;
        }
        bits.put_level(&codes.ac, (run << 4) as usize, levels[at as usize]);
    }
    if coded != 63 {
        bits.put(codes.ac[END_OF_BLOCK]);
    }
}

/// The symbols of a run of sixteen zeros, and of zeros up to the end (ITU-T T.81 §F.1.2.2.1).
const ZERO_RUN: usize = 0xF0;
const END_OF_BLOCK: usize = 0;

/// Returns one bit for each level that is not zero.
fn nonzero(levels: &[i16; 64]) -> u64 {
    let flags = levels.map(|level| u8::from(level != 0));
    let (eights, _) = flags.as_chunks::<8>();
    let mut mask = 0;
    for (i, eight) in eights.iter().enumerate() {
        // The product brings the low bit of every byte, in order, to the top byte.
        let top = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= top << (8 * i);
    }
    mask
}

/// Divides coefficients by a table: the mean is rounded to the nearest, the others by the scale's rounding.
///
/// A division is two multiplications that keep the upper half: by 2^(16+s)/d, which has 16 significant bits if 2^s
/// < d ≤ 2^(s+1), and by 2^(16-s).
#[derive(Debug)]
struct Quantiser {
    added: [u16; 64],
    reciprocal: [u16; 64],
    shift: [u16; 64],
}

impl Quantiser {
    fn new(table: &[u8; 64], rounding: u16) -> Self {
        let divisors = table.map(|q| FRACTION * u16::from(q.max(1)));
        let exponent = |divisor: u16| (divisor - 1).ilog2();
        let part = |d: u16| (u32::from(d) * u32::from(rounding) / 256) as u16;
        let mut added = divisors.map(part);
        added[0] = divisors[0] / 2;
        Self {
            added,
            reciprocal: divisors
                .map(|d| (1_u32 << (16 + exponent(d))).div_ceil(u32::from(d)) as u16),
            shift: divisors.map(|d| 1 << (16 - exponent(d))),
        }
    }

    fn quantise(&self, block: &Coded) -> [i16; 64] {
        let mut levels = [0; 64];
        for i in 0..64 {
            let magnitude = block[i].unsigned_abs() + self.added[i];
            let quotient = high_product(high_product(magnitude, self.reciprocal[i]), self.shift[i]);
            // Baseline codes AC levels of ten bits; only a divisor of 1 can exceed them.
            let level = quotient.min(1023) as i16;
            let sign = block[i] >> 15;
            levels[i] = (level ^ sign) - sign;
        }
        levels
    }
}

fn high_product(a: u16, b: u16) -> u16 {
    ((u32::from(a) * u32::from(b)) >> 16) as u16
}

/// The code of each symbol: its bits, above its length in five bits.
struct Codes {
    dc: [u32; 256],
    ac: [u32; 256],
}

static LUMA_CODES: Codes = Codes {
    dc: codes(&LUMA_DC),
    ac: codes(&LUMA_AC),
};
static CHROMA_CODES: Codes = Codes {
    dc: codes(&CHROMA_DC),
    ac: codes(&CHROMA_AC),
};

/// Computes codes by ITU-T T.81 §C.2: codes of one length count up, and double from one length to the next.
const fn codes(spec: &HuffmanSpec) -> [u32; 256] {
    let mut table = [0; 256];
    let (mut code, mut symbol, mut length) = (0, 0, 1);
    while length <= 16 {
        let mut n = 0;
        while n < spec.lengths[length - 1] {
            table[spec.symbols[symbol] as usize] = (code << 5) | length as u32;
            code += 1;
            symbol += 1;
            n += 1;
        }
        code <<= 1;
        length += 1;
    }
    table
}

/// Writes bits into bytes, most significant first, with a zero stuffed after each 0xFF.
struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The bits that wait, in the lowest `count` bits.
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            bits: 0,
            count: 0,
        }
    }

    fn put(&mut self, code: u32) {
        self.push(code >> 5, code & 31);
    }

    /// Writes the code of `run` and the level's category, then its bits (ITU-T T.81 §F.1.2.1).
    fn put_level(&mut self, codes: &[u32; 256], run: usize, level: i16) {
        let category = 16 - level.unsigned_abs().leading_zeros();
        let code = codes[run | category as usize];
        // A negative level is coded as one less, in `category` bits.
        let mantissa = (level + (level >> 15)) as u32 & ((1 << category) - 1);
        self.push(((code >> 5) << category) | mantissa, (code & 31) + category);
    }

    /// Writes at most 27 bits: a code of 16 and a DC mantissa of 11.
    fn push(&mut self, bits: u32, count: u32) {
        self.bits = (self.bits << count) | u64::from(bits);
        self.count += count;
        if self.count >= 32 {
            self.count -= 32;
            self.write((self.bits >> self.count) as u32);
        }
    }

    fn write(&mut self, word: u32) {
        let bytes = word.to_be_bytes();
        // True if some byte of `!word` is zero: the common case needs no stuffing.
        let stuffed = (!word).wrapping_sub(0x0101_0101) & word & 0x8080_8080 != 0;
        if stuffed {
            bytes.iter().for_each(|&byte| self.write_byte(byte));
        } else {
            self.out.extend_from_slice(&bytes);
        }
    }

    fn write_byte(&mut self, byte: u8) {
        self.out.push(byte);
        if byte == 0xFF {
            self.out.push(0);
        }
    }

    fn align(&mut self) {
        let padding = (8 - self.count % 8) % 8;
        self.push((1 << padding) - 1, padding);
        while self.count > 0 {
            self.count -= 8;
            self.write_byte((self.bits >> self.count) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantiser_divides_to_the_nearest() {
        for q in 1..=255_u8 {
            let quantiser = Quantiser::new(&[q; 64], 128);
            for value in (-16_384..=16_384_i16).step_by(97) {
                let level = f64::from(quantiser.quantise(&[value; 64])[5]);
                let exact = f64::from(value) / (16.0 * f64::from(q));
                let error = (level - exact).abs();
                assert!(
                    error <= 0.5 || level.abs() == 1023.0,
                    "{value} by {q}: {level}"
                );
            }
        }
    }

    #[test]
    fn each_nonzero_level_has_its_bit() {
        let mut levels = [0; 64];
        for at in [0, 1, 7, 8, 31, 63] {
            levels[at] = -3;
        }
        let expected = [0, 1, 7, 8, 31, 63].iter().map(|&at| 1_u64 << at).sum();
        assert_eq!(nonzero(&levels), expected);
        assert_eq!(nonzero(&[1; 64]), u64::MAX);
    }

    #[test]
    fn an_empty_mcu_takes_four_bytes() {
        let mut out = Vec::new();
        let coder = IntervalCoder::new(Scale::ANNEX_K);
        coder.code(&[[[0; 64]; BLOCKS]], &mut out);
        // The bits are 00 1010 four times, then 00 00 twice.
        assert_eq!(out, [0b0010_1000, 0b1010_0010, 0b1000_1010, 0b0000_0000]);
    }

    #[test]
    fn a_byte_of_ones_is_stuffed() {
        let mut out = Vec::new();
        let mut bits = BitWriter::new(&mut out);
        bits.push(0xFFFF, 16);
        bits.push(0x12FF, 16);
        bits.push(1, 1);
        bits.align();
        assert_eq!(out, [0xFF, 0, 0xFF, 0, 0x12, 0xFF, 0, 0xFF, 0]);
    }
}
