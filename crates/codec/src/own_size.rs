//! The encoder of a codec whose pictures have a size of their own: each picture is coded whole or left out.

use std::marker::PhantomData;
use std::time::Duration;

use tfrc::units::Bytes;

use crate::coder::{Coded, EncodeError, FrameTarget, PictureSizeError, VideoEncoder};
use crate::picture::{CodedPicture, Picture};
use crate::thinning::Thinning;

/// A codec whose pictures have a size of their own.
pub trait OwnSize: Send {
    /// The sizes that the codec can send, in words ([`PictureSizeError::possible`]).
    const POSSIBLE_SIZES: &'static str;

    /// Gives the size of the coded picture, and what codes the picture; `None` if the codec has no picture like this one.
    fn plan(picture: &Picture) -> Option<(Bytes, impl FnOnce() -> CodedPicture)>;
}

/// Codes pictures whole, and leaves out those that the path does not carry.
#[derive(Debug)]
pub struct OwnSizeEncoder<C> {
    thinning: Thinning,
    codec: PhantomData<C>,
}

impl<C: OwnSize> OwnSizeEncoder<C> {
    /// Creates an encoder of pictures that come every `interval`.
    pub fn new(interval: Duration) -> Self {
        Self {
            thinning: Thinning::new(interval),
            codec: PhantomData,
        }
    }
}

impl<C: OwnSize> VideoEncoder for OwnSizeEncoder<C> {
    fn encode(
        &mut self,
        picture: &Picture,
        target: &FrameTarget,
    ) -> Result<Option<Coded>, EncodeError> {
        let Some((size, code)) = C::plan(picture) else {
            let error = PictureSizeError {
                width: picture.width(),
                height: picture.height(),
                possible: C::POSSIBLE_SIZES,
            };
            return Err(error.into());
        };
        if !self.thinning.admits(size, target.rate) {
            return Ok(None);
        }
        Ok(Some(Coded {
            picture: code(),
            // The picture has no other size.
            size_error: 0.0,
        }))
    }
}
