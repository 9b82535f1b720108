//! The picture: from a source through a codec to a sink, without any network.
//!
//! ```text
//! source ──► Picture ──► VideoEncoder ──► CodedPicture ──► VideoDecoder ──► Picture ──► sink
//! ```
//!
//! - [`picture`] has the picture in its two forms: samples, and the coded bytes.
//! - [`source`] and [`sink`] read pictures from a scene, a presenter, a file or a camera, and write them.
//! - `coder.rs` has the contract of a codec, `codec.rs` the codecs by name, `stream.rs` a decoder that follows a
//!   change of codec.
//! - [`mjpeg`], [`h264`], [`raw`] and [`dv`] are the codecs. None of them depends on another one.
//! - [`rate_target`] is the encoder of M-JPEG that hits a size; `downscale.rs` decides when it halves the sides.
//! - [`own_size`] is the encoder of codecs whose pictures have a size of their own; `thinning.rs` chooses the
//!   pictures that are sent.
//! - [`dif`] has the blocks of DV, [`resize`] changes sizes, [`quality`] measures PSNR and SSIM.
//!
//! A new codec is a file of its own, a variant of [`Codec`] and one of [`picture::CodedPicture`].
#![forbid(unsafe_code)]

mod codec;
mod coder;
pub mod dif;
mod downscale;
pub mod dv;
pub mod h264;
mod log2;
pub mod mjpeg;
pub mod own_size;
pub mod picture;
pub mod quality;
pub mod rate_target;
pub mod raw;
pub mod resize;
pub mod sink;
pub mod source;
mod stream;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
mod thinning;

pub use codec::{Codec, UnknownCodec};
pub use coder::{
    Coded, DecodeError, Decoded, EncodeError, FrameTarget, JpegImageError, PictureSizeError,
    VideoDecoder, VideoEncoder,
};
pub use stream::StreamDecoder;
