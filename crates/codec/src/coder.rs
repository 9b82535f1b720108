//! The contract of a codec: encoders, decoders, and their errors.

use std::time::Duration;

use tfrc::units::{Bytes, Rate};

use crate::picture::{CodedPicture, Picture};

/// The encoder's target for a captured picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTarget {
    /// The size to aim at, of the coded bytes ([`CodedPicture::size`]).
    pub size: Bytes,
    /// The rate of coded bytes that the path carries, for a codec whose frames have a size of their own.
    pub rate: Rate,
    /// From capture to display, at the latest.
    pub deadline: Duration,
    /// True while the deadline is longer than the configured one.
    pub stretched: bool,
    /// True if the picture must not refer to earlier pictures, because one of them is lost.
    pub keyframe: bool,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum EncodeError {
    /// The codec has no pictures of this size.
    Size(#[from] PictureSizeError),
    /// There is no memory for the encoder, or it fails at any quantiser.
    H264(evenkeel_h264::Error),
}

/// A picture of a size that the codec cannot send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("picture of {width}x{height}: {possible}")]
pub struct PictureSizeError {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What it could send.
    pub possible: &'static str,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The image contradicts itself.
    #[error(transparent)]
    Jpeg(JpegImageError),
    /// The samples are not as many as the size says.
    #[error("an uncompressed picture has not the samples of its size")]
    Raw,
    /// Its units do not decode, or what they refer to is missing.
    #[error(transparent)]
    H264(evenkeel_h264::decoder::DecodeError),
    /// It is no frame of DV, or there is none before it to fill its holes.
    #[error("a frame of DV without its blocks")]
    Dv,
    /// It is of another codec.
    #[error("a picture of another codec")]
    OtherCodec,
}

/// Why an image has no picture at all. Bytes that do not decode only damage their interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JpegImageError {
    /// A side is 0 or above 2040.
    #[error("image of {width}x{height}: it must be 1x1 to 2040x2040")]
    Size {
        /// Columns claimed.
        width: u16,
        /// Rows claimed.
        height: u16,
    },
    /// The image has not the intervals that its size and restart interval make.
    #[error("{found} restart intervals: the image's size needs {expected}")]
    Intervals {
        /// As many as there are.
        found: usize,
        /// As many as there must be.
        expected: usize,
    },
}
