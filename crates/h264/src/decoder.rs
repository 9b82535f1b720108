//! A decoder of whole access units, with the checks that a hostile stream must pass first.
//!
//! OpenH264 is C++. No Rust rule holds inside of it: a fault of its parsing could be used by whoever
//! writes the stream, up to code of theirs in this process. It is fuzzed by its makers and runs in
//! browsers, but a receiver that hears strangers should run as a process with few rights. What can be
//! done on this side is done here: it is given only the kinds of NAL units that a stream of frames
//! needs, never a unit of its scalable extension; nothing before a sequence parameter set that
//! [`Sps`] could read, whose picture has at most [`MAX_PIXELS`] and [`MAX_REFERENCES`]; and no access
//! unit above [`MAX_ACCESS_UNIT`]. Its memory and time are bounded by these. The size of what it gives
//! is checked again.

use std::fmt;

use openh264::OpenH264API;
use openh264::decoder::{self, DecodedYUV, DecoderConfig, Flush};
use openh264::formats::YUVSource as _;
use openh264_sys2::dsOutOfMemory;

use crate::nal::{KEYFRAME_SLICE, PPS, SLICE, SPS, unit_type};
use crate::sps::{Colour, Sps};

/// The most samples of luma: a picture of 3840x2160, in whole macroblocks.
pub const MAX_PIXELS: u32 = 3_840 * 2_160;

/// The most pictures that a stream may have us keep (H.264 §A.3.1 h).
pub const MAX_REFERENCES: u32 = 16;

/// The most bytes of an access unit: what raw samples of the largest picture would take.
pub const MAX_ACCESS_UNIT: usize = MAX_PIXELS as usize * 3 / 2;

/// Decodes a stream of access units.
pub struct Decoder {
    inner: decoder::Decoder,
    /// The colours of the last parameter set; `None` before the first that we could read.
    colour: Option<Colour>,
    /// The access unit as a byte stream (H.264 Annex B).
    stream: Vec<u8>,
}

/// A decoded picture, in planar 4:2:0 without padding; cropping has been applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Columns of luma, an even number.
    pub width: usize,
    /// Rows of luma, an even number.
    pub height: usize,
    /// Y, then Cb, then Cr.
    pub samples: Vec<u8>,
    /// The meaning of the samples.
    pub colour: Colour,
}

/// Why an access unit has no picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Its parameters are of a stream that we do not decode, or larger than we decode.
    #[error("H.264 that is not 4:2:0 frames of 8 bit up to 3840x2160")]
    Parameters,
    /// It has more bytes than any picture.
    #[error("an access unit of H.264 larger than any picture")]
    Oversized,
    /// There were no parameter sets yet.
    #[error("H.264 without parameter sets")]
    NoParameters,
    /// It is damaged, or refers to a picture that is missing.
    #[error("a damaged picture of H.264, or one without its reference")]
    Damaged,
    /// OpenH264 has no memory.
    #[error(
        "OpenH264 has too little memory for pictures of this size; free memory, or receive smaller pictures"
    )]
    Memory,
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("colour", &self.colour)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder that has seen nothing.
    ///
    /// # Errors
    /// If OpenH264 has no memory.
    pub fn new() -> Result<Self, DecodeError> {
        // Without concealment: what it makes of a damaged picture would be taken for whole.
        let config = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
        let inner = decoder::Decoder::with_api_config(OpenH264API::from_source(), config);
        Ok(Self {
            inner: inner.map_err(|_| DecodeError::Memory)?,
            colour: None,
            stream: Vec::new(),
        })
    }

    /// Decodes the NAL units of an access unit, without start codes; `None` if they hold no picture.
    ///
    /// # Errors
    /// As [`DecodeError`] says. The next keyframe decodes, whatever came before.
    pub fn decode<'a>(
        &mut self,
        units: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<Decoded>, DecodeError> {
        self.stream.clear();
        for unit in units {
            self.take(unit)?;
        }
        if self.stream.is_empty() {
            return Ok(None);
        }
        let colour = self.colour.ok_or(DecodeError::NoParameters)?;
        let decoded = self.inner.decode(&self.stream);
        decoded
            .map_err(|error| refusal(error.native_code()))?
            .map(|picture| copy(&picture, colour))
            .transpose()
    }

    /// Adds a NAL unit to the byte stream, if it is one that a stream of frames needs.
    fn take(&mut self, unit: &[u8]) -> Result<(), DecodeError> {
        match unit.first().map(|&header| unit_type(header)) {
            Some(SPS) => {
                let sps = Sps::parse(unit).ok_or(DecodeError::Parameters)?;
                let pixels = sps.width.checked_mul(sps.height);
                let fits = pixels.is_some_and(|pixels| (1..=MAX_PIXELS).contains(&pixels));
                if !fits || sps.references > MAX_REFERENCES {
                    return Err(DecodeError::Parameters);
                }
                self.colour = Some(sps.colour);
            }
            Some(SLICE | KEYFRAME_SLICE | PPS) => {}
            _ => return Ok(()),
        }
        if self.colour.is_none() {
            return Err(DecodeError::NoParameters);
        }
        if self.stream.len() + unit.len() > MAX_ACCESS_UNIT {
            return Err(DecodeError::Oversized);
        }
        self.stream.extend_from_slice(&[0, 0, 0, 1]);
        self.stream.extend_from_slice(unit);
        Ok(())
    }
}

/// The meaning of a state of OpenH264's decoder, in which each fault is a bit.
fn refusal(state: i64) -> DecodeError {
    if state & i64::from(dsOutOfMemory) != 0 {
        DecodeError::Memory
    } else {
        DecodeError::Damaged
    }
}

fn copy(picture: &DecodedYUV<'_>, colour: Colour) -> Result<Decoded, DecodeError> {
    let (width, height) = picture.dimensions();
    let strides = picture.strides();
    let even = width.is_multiple_of(2) && height.is_multiple_of(2);
    if !even || width * height > MAX_PIXELS as usize {
        return Err(DecodeError::Parameters);
    }
    let mut samples = Vec::with_capacity(width * height * 3 / 2);
    for (plane, stride, width, height) in [
        (picture.y(), strides.0, width, height),
        (picture.u(), strides.1, width / 2, height / 2),
        (picture.v(), strides.2, width / 2, height / 2),
    ] {
        for row in plane.chunks(stride).take(height) {
            samples.extend_from_slice(row.get(..width).ok_or(DecodeError::Damaged)?);
        }
    }
    (samples.len() == width * height * 3 / 2)
        .then_some(Decoded {
            width,
            height,
            samples,
            colour,
        })
        .ok_or(DecodeError::Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_without_memory_is_no_damage() {
        let damaged = i64::from(openh264_sys2::dsBitstreamError);
        assert_eq!(refusal(damaged), DecodeError::Damaged);
        let exhausted = damaged | i64::from(dsOutOfMemory);
        assert_eq!(refusal(exhausted), DecodeError::Memory);
    }
}
