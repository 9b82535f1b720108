//! Codecs: pictures to coded pictures and back, each behind two traits.

pub mod dv;
pub mod h264;
pub mod mjpeg;
pub mod raw;
mod stream;
mod thinning;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::frame::{CodedPicture, Picture};
use crate::policy::FrameTarget;
use crate::rate_target;
use crate::reassemble::Payload;

pub use self::stream::StreamDecoder;

/// A codec, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// Motion JPEG (RFC 2435): each frame by itself, of any size asked for.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mjpeg, Self::Raw, Self::H264, Self::Dv];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mjpeg => "mjpeg",
            Self::Raw => "raw",
            Self::H264 => "h264",
            Self::Dv => "dv",
        }
    }

    /// True if it codes any picture; DV is only sent by a source that has it.
    pub const fn codes_pictures(self) -> bool {
        !matches!(self, Self::Dv)
    }

    /// True if its frames are of the size that they are, whatever is asked for.
    pub const fn has_own_size(self) -> bool {
        matches!(self, Self::Raw | Self::Dv)
    }

    /// What it can do, in a line.
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

    /// Its name in a session description.
    pub const fn encoding(self) -> &'static str {
        match self {
            Self::Mjpeg => "JPEG",
            Self::Raw => "raw",
            Self::H264 => "H264",
            Self::Dv => "DV",
        }
    }

    /// The payload type: the static one (RFC 3551 §6), or else a dynamic one.
    pub const fn payload_type(self) -> u8 {
        match self {
            Self::Mjpeg => 26,
            Self::Raw => 96,
            Self::H264 => 97,
            Self::Dv => 98,
        }
    }

    /// What its packets carry, of pictures of this size.
    pub fn payload(self, (width, height): (usize, usize)) -> Option<Payload> {
        match self {
            Self::Mjpeg => Some(Payload::Jpeg),
            Self::Raw => Payload::raw(width, height),
            Self::H264 => h264::is_possible(width, height).then_some(Payload::H264),
            Self::Dv => dv::system((width, height)).map(|system| Payload::Dv {
                system,
                audio: true,
            }),
        }
    }

    /// What a session description says of pictures of this size beside the codec's name: the media type's
    /// parameters (RFC 4175 §6.1, RFC 6184 §8.1, RFC 6469 §3.2), if it has any.
    pub fn parameters(self, size: (usize, usize)) -> Option<String> {
        match self {
            Self::Mjpeg => None,
            Self::Raw => self.payload(size)?.raw_parameters(),
            Self::H264 => h264::parameters(size),
            Self::Dv => dv::system(size).map(dv::parameters),
        }
    }

    /// The size nearest to this one that it can send.
    pub fn nearest_size(self, (width, height): (usize, usize)) -> (usize, usize) {
        match self {
            Self::Mjpeg => (mjpeg::nearest_side(width), mjpeg::nearest_side(height)),
            Self::Raw => raw::nearest_size(width, height),
            Self::H264 => h264::nearest_size(width, height),
            Self::Dv => dv::nearest_size(height),
        }
    }

    /// The sizes that it can send, in words.
    pub const fn possible_sizes(self) -> &'static str {
        match self {
            Self::Mjpeg => mjpeg::POSSIBLE_SIZES,
            Self::Raw => raw::POSSIBLE_SIZES,
            Self::H264 => h264::POSSIBLE_SIZES,
            Self::Dv => dv::POSSIBLE_SIZES,
        }
    }

    /// A new encoder, for pictures that come every `interval`.
    pub fn encoder(self, interval: Duration) -> Box<dyn VideoEncoder> {
        match self {
            Self::Mjpeg => Box::new(rate_target::Encoder::new()),
            Self::Raw => Box::new(raw::Encoder::new(interval)),
            Self::H264 => Box::new(h264::Encoder::default()),
            Self::Dv => Box::new(dv::Encoder::new(interval)),
        }
    }

    /// A new decoder.
    pub fn decoder(self) -> Box<dyn VideoDecoder> {
        match self {
            Self::Mjpeg => Box::new(mjpeg::Decoder::new()),
            Self::Raw => Box::new(raw::Decoder::default()),
            Self::H264 => Box::new(h264::Decoder::default()),
            Self::Dv => Box::new(dv::Decoder::default()),
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

/// No codec has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCodec;

impl fmt::Display for UnknownCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Codec::ALL.map(Codec::name).join(", ");
        write!(f, "no such codec; there are {names}")
    }
}

impl std::error::Error for UnknownCodec {}

/// Codes the pictures of a stream.
pub trait VideoEncoder: Send {
    /// Codes a picture as the path's target asks; `None` if it is to be left out, for the sake of
    /// those that are sent.
    ///
    /// # Errors
    /// If no picture like this one will ever be coded.
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, EncodeError>;
}

/// A picture that was coded.
#[derive(Clone, Debug)]
pub struct Coded {
    /// What crosses the wire.
    pub picture: CodedPicture,
    /// How far its size is from what was asked for and could be reached, as a share of that.
    pub size_error: f64,
}

/// Why a picture is not coded, nor those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The codec has no pictures of this size.
    Size(PictureSizeError),
    /// There is no memory for the encoder, or it fails at any quantiser.
    H264(evenkeel_h264::Error),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(error) => error.fmt(f),
            Self::H264(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EncodeError {}

impl From<PictureSizeError> for EncodeError {
    fn from(error: PictureSizeError) -> Self {
        Self::Size(error)
    }
}

/// A picture of a size that the codec cannot send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSizeError {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What it could send.
    pub possible: &'static str,
}

impl fmt::Display for PictureSizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            width,
            height,
            possible,
        } = self;
        write!(f, "picture of {width}x{height}: {possible}")
    }
}

impl std::error::Error for PictureSizeError {}

/// Decodes the pictures of a stream.
pub trait VideoDecoder: Send {
    /// Decodes a picture; what is missing or damaged is concealed.
    ///
    /// # Errors
    /// If nothing of it can be shown. The decoder is then unchanged.
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError>;
}

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The picture, in I420.
    pub picture: Picture,
    /// Its [parts](CodedPicture::parts) that were missing or damaged and are shown as they were in the
    /// picture before, or black if there is none of this size.
    pub concealed: usize,
}

/// Why a coded picture has no picture at all. Bytes that do not decode only damage their part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The image contradicts itself.
    Jpeg(mjpeg::DecodeError),
    /// The samples are not as many as the size says.
    Raw,
    /// Its units do not decode, or what they refer to is missing.
    H264(evenkeel_h264::decoder::DecodeError),
    /// It is no frame of DV, or there is none before it to fill its holes.
    Dv,
    /// It is of another codec.
    OtherCodec,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jpeg(error) => error.fmt(f),
            Self::Raw => f.write_str("an uncompressed picture has not the samples of its size"),
            Self::H264(error) => error.fmt(f),
            Self::Dv => f.write_str("a frame of DV without its blocks"),
            Self::OtherCodec => f.write_str("a picture of another codec"),
        }
    }
}

impl std::error::Error for DecodeError {}

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

    #[test]
    fn every_codec_and_repair_packets_have_a_payload_type_of_their_own() {
        let mut types = Codec::ALL.map(Codec::payload_type).to_vec();
        types.push(evenkeel_rtp::session::RepairConfig::PAYLOAD_TYPE);
        let all = types.len();
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), all, "{types:?}");
    }

    #[test]
    fn the_nearest_size_is_one_that_can_be_sent() {
        for codec in Codec::ALL {
            for size in [(1, 1), (641, 479), (1280, 720), (50_000, 3)] {
                let (width, height) = codec.nearest_size(size);
                assert_eq!(codec.nearest_size((width, height)), (width, height));
                assert!(
                    codec.payload((width, height)).is_some(),
                    "{codec} {width}x{height}"
                );
            }
        }
    }
}
