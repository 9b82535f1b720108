//! The contract of a codec: encoders, decoders, and their errors.

use std::time::Duration;

use tfrc::units::{Bytes, Rate};

use crate::picture::{CodedPicture, Picture};

/// The encoder's target for a captured picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameTarget {
    /// The size to aim at, in coded bytes ([`CodedPicture::size`]).
    pub size: Bytes,
    /// The rate of coded bytes that the path carries, for a codec whose frames have a size of their own.
    pub rate: Rate,
    /// The longest time from capture to display.
    pub deadline: Duration,
    /// True while the deadline is longer than the configured one.
    pub stretched: bool,
    /// True if the picture must not refer to earlier pictures, because one of them is lost.
    pub keyframe: bool,
}

/// Codes the pictures of a stream.
pub trait VideoEncoder: Send {
    /// Codes a picture to the path's target; `None` if the picture is left out for the sake of others.
    ///
    /// # Errors
    /// Returns an error if no picture like this one can ever be coded.
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, EncodeError>;
}

/// The result of an encoder.
#[derive(Clone, Debug)]
pub struct Coded {
    /// The coded picture, as it crosses the wire.
    pub picture: CodedPicture,
    /// The distance of its size from the reachable part of the target, as a share of it.
    pub size_error: f64,
}

/// The reason for which neither this picture nor later ones are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub enum EncodeError {
    /// The codec has no pictures of this size.
    Size(#[from] PictureSizeError),
    /// The encoder has no memory, or fails at any quantiser.
    H264(evenkeel_h264::Error),
}

/// The error that the codec cannot send pictures of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("picture of {width}x{height}: {possible}")]
pub struct PictureSizeError {
    /// The width.
    pub width: usize,
    /// The height.
    pub height: usize,
    /// The sizes that the codec can send.
    pub possible: &'static str,
}

/// Decodes the pictures of a stream.
pub trait VideoDecoder: Send {
    /// Decodes a picture, and conceals its missing or damaged parts.
    ///
    /// # Errors
    /// Returns an error if nothing of the picture can be shown. The decoder is then unchanged.
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError>;
}

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The picture, in I420.
    pub picture: Picture,
    /// The number of missing or damaged [parts](CodedPicture::parts). They are shown as in the picture before, or
    /// black if there is none of this size.
    pub concealed: usize,
}

/// The reason for which a coded picture gives no picture at all. Bytes that do not decode only damage their part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The image contradicts itself.
    #[error(transparent)]
    Jpeg(JpegImageError),
    /// The number of samples contradicts the size.
    #[error("an uncompressed picture has not the samples of its size")]
    Raw,
    /// The units do not decode, or refer to missing pictures.
    #[error(transparent)]
    H264(evenkeel_h264::decoder::DecodeError),
    /// The bytes are no frame of DV, or no earlier frame can fill the holes.
    #[error("a frame of DV without its blocks")]
    Dv,
    /// The picture is of another codec.
    #[error("a picture of another codec")]
    OtherCodec,
}

/// The reason for which an image gives no picture at all. Bytes that do not decode only damage their interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JpegImageError {
    /// A side is 0 or above 2040.
    #[error("image of {width}x{height}: it must be 1x1 to 2040x2040")]
    Size {
        /// The width in the image.
        width: u16,
        /// The height in the image.
        height: u16,
    },
    /// The number of intervals contradicts the size and the restart interval.
    #[error("{found} restart intervals: the image's size needs {expected}")]
    Intervals {
        /// The number of intervals.
        found: usize,
        /// The required number of intervals.
        expected: usize,
    },
}
