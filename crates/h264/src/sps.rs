//! What a sequence parameter set says of the memory that its stream needs, and of how its pictures are
//! counted: H.264 §7.3.2.1.

use crate::bits::Bits;
use crate::nal::{KEYFRAME_SLICE, SLICE, SPS, unit_type};

/// A sequence parameter set, as far as it bounds what is decoded and tells whether a picture is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sps {
    /// Its profile.
    pub profile: u8,
    /// Columns of the coded picture, before cropping: a multiple of 16.
    pub width: u32,
    /// Rows of the coded picture, before cropping: a multiple of 16.
    pub height: u32,
    /// Pictures that may be referred to.
    pub references: u32,
    /// Bits of frame_num, which counts the pictures that may be referred to: 4 to 16.
    pub frame_num_bits: u32,
    /// The colours of its pictures.
    pub colour: Colour,
}

/// The meaning of samples, as a parameter set states it (H.264 §E.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// matrix_coefficients (table E-5): 1 is BT.709, 5 and 6 are BT.601, 2 is unspecified.
    pub matrix: u8,
    /// video_full_range_flag: levels from 0 to 255.
    pub is_full_range: bool,
}

impl Colour {
    const UNSPECIFIED: Self = Self {
        matrix: 2,
        is_full_range: false,
    };

    /// Reads what follows frame_mbs_only_flag, as far as the colours.
    fn parse(bits: &mut Bits) -> Option<Self> {
        let mut colour = Self::UNSPECIFIED;
        let _direct_8x8_inference = bits.flag()?;
        if bits.flag()? {
            for _side in 0..4 {
                bits.unsigned()?;
            }
        }
        let has_vui = bits.flag()?;
        if !has_vui {
            return Some(colour);
        }
        let has_aspect_ratio = bits.flag()?;
        if has_aspect_ratio && bits.bits(8)? == EXTENDED_SAR {
            bits.bits(32)?;
        }
        let has_overscan = bits.flag()?;
        if has_overscan {
            bits.flag()?;
        }
        let has_signal_type = bits.flag()?;
        if has_signal_type {
            let _video_format = bits.bits(3)?;
            colour.is_full_range = bits.flag()?;
            let has_description = bits.flag()?;
            if has_description {
                let _primaries_and_transfer = bits.bits(16)?;
                colour.matrix = bits.bits(8)? as u8;
            }
        }
        Some(colour)
    }
}

/// The aspect_ratio_idc that a width and a height follow (table E-1).
const EXTENDED_SAR: u32 = 255;

/// Profiles whose parameter sets have the part on chroma and bit depth (§7.3.2.1.1).
const HIGH_PROFILES: [u8; 4] = [100, 110, 122, 244];

/// Bytes of a slice in which its frame_num stands: three numbers of up to 63 bits come before, and emulation
/// prevention adds a half.
const SLICE_HEADER: usize = 40;

impl Sps {
    /// Reads a NAL unit. `None` unless it is a sequence parameter set of 8-bit 4:2:0 frames: what we
    /// decode.
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let (&header, payload) = unit.split_first()?;
        if unit_type(header) != SPS {
            return None;
        }
        let mut bits = Bits::new(payload);
        let profile = bits.bits(8)? as u8;
        // Constraints and level.
        bits.bits(16)?;
        (bits.unsigned()? < 32).then_some(())?;
        if HIGH_PROFILES.contains(&profile) {
            let chroma = bits.unsigned()?;
            let depths = (bits.unsigned()?, bits.unsigned()?);
            // Lossless, or with scaling lists: beyond what we read.
            let special = bits.flag()? || bits.flag()?;
            if chroma != 1 || depths != (0, 0) || special {
                return None;
            }
        } else if ![66, 77, 88].contains(&profile) {
            return None;
        }
        let frame_num_bits = 4 + bits.unsigned().filter(|&more| more <= 12)?;
        match bits.unsigned()? {
            0 => drop(bits.unsigned()?),
            1 => {
                bits.flag()?;
                // Signed numbers, as long as unsigned ones.
                bits.unsigned()?;
                bits.unsigned()?;
                let cycle = bits.unsigned()?;
                (cycle <= 255).then_some(())?;
                for _ in 0..cycle {
                    bits.unsigned()?;
                }
            }
            2 => {}
            _ => return None,
        }
        let references = bits.unsigned()?;
        let _gaps_allowed = bits.flag()?;
        let width = bits.unsigned()?.checked_add(1)?.checked_mul(16)?;
        let height = bits.unsigned()?.checked_add(1)?.checked_mul(16)?;
        let frames_only = bits.flag()?;
        // The decoder needs none of what follows.
        let colour = Colour::parse(&mut bits).unwrap_or(Colour::UNSPECIFIED);
        frames_only.then_some(Self {
            profile,
            width,
            height,
            references,
            frame_num_bits,
            colour,
        })
    }

    /// The frame_num of the picture of this slice (§7.3.3). `None` unless the NAL unit is a slice.
    pub fn frame_num(&self, unit: &[u8]) -> Option<u32> {
        let (&header, payload) = unit.split_first()?;
        if !matches!(unit_type(header), SLICE | KEYFRAME_SLICE) {
            return None;
        }
        let mut bits = Bits::new(&payload[..payload.len().min(SLICE_HEADER)]);
        let _first_macroblock = bits.unsigned()?;
        let _kind = bits.unsigned()?;
        let _picture_parameter_set = bits.unsigned()?;
        bits.bits(self.frame_num_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 352x288, baseline, as x264 writes it.
    const CIF: [u8; 10] = [0x67, 0x42, 0xc0, 0x0d, 0xd9, 0x01, 0x60, 0x96, 0xc0, 0x40];

    #[test]
    fn the_size_of_a_stream_is_read() {
        let sps = Sps::parse(&CIF).unwrap();
        assert_eq!((sps.profile, sps.width, sps.height), (66, 352, 288));
    }

    /// 1280x720, BT.709 in full range, as x264 writes it.
    const BT709: [u8; 27] = [
        0x67, 0x42, 0xc0, 0x1f, 0xd9, 0x00, 0x50, 0x05, 0xbb, 0x01, 0x6e, 0x04, 0x04, 0x02, 0x80,
        0x00, 0x03, 0x00, 0x80, 0x00, 0x00, 0x19, 0x07, 0x8c, 0x19, 0x24, 0x00,
    ];

    #[test]
    fn colours_are_read_where_they_are_stated() {
        let colour = Sps::parse(&BT709).map(|sps| sps.colour);
        let stated = Colour {
            matrix: 1,
            is_full_range: true,
        };
        assert_eq!(colour, Some(stated));
        let unstated = [&CIF[..], &BT709[..12]];
        for unit in unstated {
            let colour = Sps::parse(unit).map(|sps| sps.colour);
            assert_eq!(colour, Some(Colour::UNSPECIFIED));
        }
    }

    /// Of the 31 before the count begins anew, with 5 bits.
    #[test]
    fn the_count_of_a_slice_is_read() {
        let sps = Sps {
            frame_num_bits: 5,
            ..Sps::parse(&CIF).unwrap()
        };
        // Macroblock 0 (1), a P slice (00110), parameter set 0 (1), frame_num (10011).
        let slice = [0x41, 0b1001_1011, 0b0011_0000];
        assert_eq!(sps.frame_num(&slice), Some(19));
        assert_eq!(sps.frame_num(&slice[..2]), None);
        assert_eq!(sps.frame_num(&[0x67, 0x9b, 0x30]), None);
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        for len in 0..7 {
            assert_eq!(Sps::parse(&CIF[..len]), None, "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let unit = [&[0x67, 66][..], &bytes].concat();
            if let Some(sps) = Sps::parse(&unit) {
                prop_assert!(sps.width.is_multiple_of(16) && sps.height.is_multiple_of(16));
                let slice = [&[0x41][..], &bytes].concat();
                prop_assert!(sps.frame_num(&slice).is_none_or(|num| num < 1 << 16));
            }
        }
    }
}
