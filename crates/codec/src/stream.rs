//! The decoder of a stream whose codec may change as it runs.

use crate::codec::Codec;
use crate::coder::{DecodeError, Decoded, VideoDecoder};
use crate::picture::CodedPicture;

/// Decodes the pictures of any codec, one codec at a time. A change begins a new decoder without earlier pictures.
pub struct StreamDecoder {
    codec: Codec,
    decoder: Box<dyn VideoDecoder>,
}

impl StreamDecoder {
    /// Creates a decoder of a stream that begins with this codec.
    pub fn new(codec: Codec) -> Self {
        Self {
            codec,
            decoder: codec.decoder(),
        }
    }
}

impl VideoDecoder for StreamDecoder {
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError> {
        if picture.codec() != self.codec {
            *self = Self::new(picture.codec());
        }
        self.decoder.decode(picture)
    }
}
