//! Reads the bits and the Huffman codes of one interval.

use super::tables::{CHROMA_AC, CHROMA_DC, HuffmanSpec, LUMA_AC, LUMA_DC};

/// The error that an interval ends early, or has a code that the standard tables do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damaged;

/// The bits of an interval, most significant first, without the zeros stuffed after 0xFF.
pub(super) struct BitReader<'a> {
    left: &'a [u8],
    /// The buffered bits, the next one highest; below the `count` valid ones are zeros.
    bits: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(interval: &'a [u8]) -> Self {
        Self {
            left: interval,
            bits: 0,
            count: 0,
        }
    }

    /// Buffers at least 32 bits, unless the interval or, at a marker, its coding ends.
    fn fill(&mut self) {
        while self.count <= 56 {
            let (byte, used) = match *self.left {
                [0xFF, 0, ..] => (0xFF, 2),
                [0xFF, ..] | [] => return,
                [byte, ..] => (byte, 1),
            };
            self.left = &self.left[used..];
            self.bits |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    fn consume(&mut self, count: u32) -> Result<(), Damaged> {
        self.count = self.count.checked_sub(count).ok_or(Damaged)?;
        self.bits <<= count;
        Ok(())
    }

    /// Reads a symbol of `code`.
    fn symbol(&mut self, code: &HuffmanDecoder) -> Result<u8, Damaged> {
        if self.count < 32 {
            self.fill();
        }
        let entry = code.short[(self.bits >> (64 - LOOKUP_BITS)) as usize];
        let (symbol, length) = if entry == 0 {
            code.long_symbol((self.bits >> 48) as u16)?
        } else {
            (entry as u8, u32::from(entry >> 8))
        };
        self.consume(length)?;
        Ok(symbol)
    }

    /// Reads a level of `category` bits, at most 15, which follow a symbol (ITU-T T.81 §F.2.2.1).
    fn level(&mut self, category: u32) -> Result<i32, Damaged> {
        if category == 0 {
            return Ok(0);
        }
        let bits = (self.bits >> (64 - category)) as i32;
        self.consume(category)?;
        // A first bit of 0 marks a negative level.
        let negative = bits >> (category - 1) == 0;
        Ok(if negative {
            bits + 1 - (1 << category)
        } else {
            bits
        })
    }

    /// Reads a block's levels in zigzag order into `levels`, which are zeros, and returns the position of the last
    /// one.
    ///
    /// The first level is the difference from the mean of the block before.
    pub(super) fn block(
        &mut self,
        codes: &BlockDecoder,
        levels: &mut [i32; 64],
    ) -> Result<usize, Damaged> {
        let category = self.symbol(&codes.dc)?;
        levels[0] = self.level(category.into())?;
        let (mut at, mut last) = (1, 0);
        while at < 64 {
            let symbol = self.symbol(&codes.ac)?;
            let (run, category) = (usize::from(symbol >> 4), symbol & 15);
            if category == 0 {
                if run != 15 {
                    break;
                }
                at += 16;
                continue;
            }
            at += run;
            let level = self.level(category.into())?;
            *levels.get_mut(at).ok_or(Damaged)? = level;
            last = at;
            at += 1;
        }
        Ok(last)
    }
}

/// The two codes of a component.
pub(super) struct BlockDecoder {
    dc: HuffmanDecoder,
    ac: HuffmanDecoder,
}

pub(super) static LUMA: BlockDecoder = BlockDecoder {
    dc: HuffmanDecoder::new(&LUMA_DC),
    ac: HuffmanDecoder::new(&LUMA_AC),
};
pub(super) static CHROMA: BlockDecoder = BlockDecoder {
    dc: HuffmanDecoder::new(&CHROMA_DC),
    ac: HuffmanDecoder::new(&CHROMA_AC),
};

/// The longest code that is looked up at once: all but the rarest, in 1 kB a code.
const LOOKUP_BITS: u32 = 9;

struct HuffmanDecoder {
    /// The length and symbol by the next [`LOOKUP_BITS`] bits; 0 where the code is longer.
    short: [u16; 1 << LOOKUP_BITS],
    /// The first longer code for each length 1 to 16, aligned left to 16 bits.
    above: [u32; 16],
    /// The index of the first symbol of each length, less its code.
    offset: [i32; 16],
    symbols: &'static [u8],
}

impl HuffmanDecoder {
    const fn new(spec: &HuffmanSpec) -> Self {
        let mut decoder = Self {
            short: [0; 1 << LOOKUP_BITS],
            above: [0; 16],
            offset: [0; 16],
            symbols: spec.symbols,
        };
        let (mut code, mut place, mut length) = (0_u32, 0, 1);
        while length <= 16 {
            decoder.offset[length - 1] = place as i32 - code as i32;
            let mut n = 0;
            while n < spec.lengths[length - 1] {
                if length <= LOOKUP_BITS as usize {
                    let entry = ((length as u16) << 8) | spec.symbols[place] as u16;
                    let rest = LOOKUP_BITS as usize - length;
                    let mut tail = 0;
                    while tail < 1 << rest {
                        decoder.short[((code as usize) << rest) | tail] = entry;
                        tail += 1;
                    }
                }
                code += 1;
                place += 1;
                n += 1;
            }
            decoder.above[length - 1] = code << (16 - length);
            code <<= 1;
            length += 1;
        }
        decoder
    }

    /// Returns the symbol whose code of more than [`LOOKUP_BITS`] bits begins `bits`, and its length.
    fn long_symbol(&self, bits: u16) -> Result<(u8, u32), Damaged> {
        for length in LOOKUP_BITS + 1..=16 {
            let i = length as usize - 1;
            if u32::from(bits) < self.above[i] {
                let code = i32::from(bits >> (16 - length));
                let symbol = self.symbols.get((code + self.offset[i]) as usize);
                return Ok((*symbol.ok_or(Damaged)?, length));
            }
        }
        Err(Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_whether_short_or_long() {
        // Luma AC: 00 is 0x01, 1111111110000010 is 0x09, the first of its length but four.
        let mut reader = BitReader::new(&[0x3F, 0xE0, 0x80]);
        assert_eq!(reader.symbol(&LUMA.ac), Ok(0x01));
        assert_eq!(reader.symbol(&LUMA.ac), Ok(0x09));
    }

    #[test]
    fn a_code_of_ones_only_is_damage() {
        let mut reader = BitReader::new(&[0xFF, 0, 0xFF, 0, 0xFF, 0]);
        assert_eq!(reader.symbol(&LUMA.ac), Err(Damaged));
    }

    #[test]
    fn levels_have_their_sign_in_the_first_bit() {
        // The levels are 5 for 101, -5 for 010, and -1 for 0.
        let mut reader = BitReader::new(&[0b1010_1000]);
        reader.fill();
        assert_eq!(reader.level(3), Ok(5));
        assert_eq!(reader.level(3), Ok(-5));
        assert_eq!(reader.level(1), Ok(-1));
        assert_eq!(reader.level(2), Err(Damaged));
    }

    #[test]
    fn reading_stops_at_a_marker() {
        let mut reader = BitReader::new(&[0xFF, 0, 0xFF, 0xD9, 1, 2, 3]);
        reader.fill();
        assert_eq!((reader.count, reader.bits >> 56), (8, 0xFF));
    }
}
