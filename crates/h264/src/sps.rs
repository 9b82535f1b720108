//! What a sequence parameter set says of the memory that its stream needs: H.264 §7.3.2.1.

use crate::bits::Bits;

/// A sequence parameter set, as far as it bounds what is decoded.
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
}

/// Profiles whose parameter sets have the part on chroma and bit depth (§7.3.2.1.1).
const HIGH_PROFILES: [u8; 4] = [100, 110, 122, 244];

impl Sps {
    /// Reads a NAL unit. `None` unless it is a sequence parameter set of 8-bit 4:2:0 frames: what we
    /// decode.
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let (&header, payload) = unit.split_first()?;
        if header & 0x1f != 7 {
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
        let _log2_max_frame_num = bits.unsigned()?;
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
        frames_only.then_some(Self {
            profile,
            width,
            height,
            references,
        })
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
            }
        }
    }
}
