//! The codecs by name, with the capabilities of each; no other file knows all codecs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::coder::{VideoDecoder, VideoEncoder};
use crate::picture::CodedPicture;
use crate::{dv, h264, mjpeg, rate_target, raw};

/// A codec, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// Motion JPEG (RFC 2435): each frame by itself, of any requested size.
    #[default]
    Mjpeg,
    /// Uncompressed 4:2:2 (RFC 4175): where the path carries less, whole frames are left out.
    Raw,
    /// H.264 (RFC 6184): each frame from the one before it.
    H264,
    /// DV (RFC 6469) from a source that has it already: where the path carries less, whole frames are left out.
    Dv,
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 4] = [Self::Mjpeg, Self::Raw, Self::H264, Self::Dv];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mjpeg => "mjpeg",
            Self::Raw => "raw",
            Self::H264 => "h264",
            Self::Dv => "dv",
        }
    }

    /// Returns true if the codec codes any picture; DV is only sent by a source that has it.
    pub const fn codes_pictures(self) -> bool {
        !matches!(self, Self::Dv)
    }

    /// Returns true if frames have a size of their own, whatever size is requested.
    pub const fn has_own_size(self) -> bool {
        matches!(self, Self::Raw | Self::Dv)
    }

    /// Returns a description of the codec in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Mjpeg => {
                "Motion JPEG, 4:2:0, RFC 2435; follows any frame size, with half or a quarter of the sides where bytes are few; a lost packet costs its rows"
            }
            Self::Raw => {
                "uncompressed 4:2:2, 8 bit, RFC 4175; leaves out whole frames, evenly; a lost packet costs its pixels"
            }
            Self::H264 => {
                "H.264 baseline, 4:2:0, RFC 6184; follows any frame size; a lost packet stops the picture until a keyframe comes"
            }
            Self::Dv => {
                "DV, 25 Mb/s, RFC 6469; only raw DV, as it is, with its sound; leaves out whole frames, evenly; a lost packet costs its blocks; shown as a mosaic, recorded as .dv"
            }
        }
    }

    /// Returns the nearest size to this one that the codec can send.
    pub fn nearest_size(self, (width, height): (usize, usize)) -> (usize, usize) {
        match self {
            Self::Mjpeg => (mjpeg::nearest_side(width), mjpeg::nearest_side(height)),
            Self::Raw => raw::nearest_size(width, height),
            Self::H264 => h264::nearest_size(width, height),
            Self::Dv => dv::nearest_size(height),
        }
    }

    /// Returns the sizes that the codec can send, in words.
    pub const fn possible_sizes(self) -> &'static str {
        match self {
            Self::Mjpeg => mjpeg::POSSIBLE_SIZES,
            Self::Raw => raw::POSSIBLE_SIZES,
            Self::H264 => h264::POSSIBLE_SIZES,
            Self::Dv => dv::POSSIBLE_SIZES,
        }
    }

    /// Creates an encoder for pictures that are captured every `interval`.
    pub fn encoder(self, interval: Duration) -> Box<dyn VideoEncoder> {
        match self {
            Self::Mjpeg => Box::new(rate_target::Encoder::new()),
            Self::Raw => Box::new(raw::Encoder::new(interval)),
            Self::H264 => Box::new(h264::Encoder::default()),
            Self::Dv => Box::new(dv::Encoder::new(interval)),
        }
    }

    /// Creates a decoder.
    pub fn decoder(self) -> Box<dyn VideoDecoder> {
        match self {
            Self::Mjpeg => Box::new(mjpeg::Decoder::new()),
            Self::Raw => Box::new(raw::Decoder::default()),
            Self::H264 => Box::new(h264::Decoder::default()),
            Self::Dv => Box::new(dv::Decoder::default()),
        }
    }
}

impl CodedPicture {
    /// Returns the codec of the picture.
    pub const fn codec(&self) -> Codec {
        match self {
            Self::Jpeg(_) => Codec::Mjpeg,
            Self::Raw(_) => Codec::Raw,
            Self::H264(_) => Codec::H264,
            Self::Dv(_) => Codec::Dv,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Codec {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        let found = Self::ALL.into_iter().find(|codec| codec.name() == name);
        found.ok_or(UnknownCodec)
    }
}

/// The error that no codec has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such codec; there are {}", Codec::ALL.map(Codec::name).join(", "))]
pub struct UnknownCodec;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_is_found_by_its_name() {
        for codec in Codec::ALL {
            assert_eq!(codec.name().parse(), Ok(codec));
        }
        let error = "vp9".parse::<Codec>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no such codec; there are mjpeg, raw, h264, dv"
        );
    }
}
