//! Reading the bits of a parameter set: H.264 §7.2 and §9.1.

/// Reads a NAL unit's payload bit by bit; every read is `None` once the bits are used up.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    /// Without emulation prevention bytes.
    bytes: Vec<u8>,
    /// Bits read.
    at: usize,
}

impl Bits {
    /// The payload of a NAL unit, its header byte left out.
    pub(crate) fn new(payload: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(payload.len());
        let mut zeros = 0;
        for &byte in payload {
            // §7.3.1: 00 00 03 encodes 00 00.
            if zeros >= 2 && byte == 3 {
                zeros = 0;
                continue;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            bytes.push(byte);
        }
        Self { bytes, at: 0 }
    }

    /// u(n), for n up to 32.
    pub(crate) fn bits(&mut self, n: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..n {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// u(1).
    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.bits(1)? == 1)
    }

    /// ue(v).
    pub(crate) fn unsigned(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros == 32 {
                return None;
            }
        }
        Some(((1_u64 << zeros) - 1) as u32 + self.bits(zeros)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_golomb_codes_are_read() {
        // 1 | 010 | 011 | 00100 | 00101, as table 9-2 has them.
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        for value in 0..5 {
            assert_eq!(bits.unsigned(), Some(value));
        }
        assert_eq!(bits.unsigned(), None);
    }

    #[test]
    fn emulation_prevention_is_undone() {
        let mut bits = Bits::new(&[0, 0, 3, 1, 0, 0, 3]);
        assert_eq!(bits.bits(24), Some(1));
        assert_eq!(bits.bits(16), Some(0));
        assert_eq!(bits.flag(), None);
    }

    #[test]
    fn largest_code_is_read_and_longer_refused() {
        let largest = [0, 0, 3, 0, 1, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Bits::new(&largest).unsigned(), None.or(Some(u32::MAX - 1)));
        assert_eq!(Bits::new(&[0; 40]).unsigned(), None);
    }
}
