//! Decodes access units to pictures, as long as all references are complete.

use evenkeel_h264::Decoder as Coder;
use evenkeel_h264::decoder::DecodeError as Refused;

use super::colour;
use crate::coder::{DecodeError, Decoded, VideoDecoder};
use crate::picture::{AccessUnit, CodedPicture, Picture};

/// Shows whole pictures, and nothing between a damaged one and the next keyframe, because later pictures would
/// repeat and smear the damage.
#[derive(Debug, Default)]
pub struct Decoder {
    coder: Option<Coder>,
    /// True if everything since the last keyframe was decoded.
    intact: bool,
}

impl Decoder {
    fn take(&mut self, access_unit: &AccessUnit) -> Result<Option<Picture>, Refused> {
        if !access_unit.is_whole() || !(self.intact || access_unit.is_keyframe()) {
            self.intact = false;
            return Err(Refused::Damaged);
        }
        // The flag is set again once the picture has decoded.
        self.intact = false;
        let coder = match &mut self.coder {
            Some(coder) => coder,
            none => none.insert(Coder::new()?),
        };
        let decoded = coder.decode(access_unit.units.iter().flatten().map(Vec::as_slice))?;
        self.intact = true;
        let picture = decoded.map(|mut picture| {
            let size = (picture.width, picture.height);
            colour::convert(&mut picture.samples, size, picture.colour);
            Picture::from_data(picture.width, picture.height, picture.samples)
                .ok_or(Refused::Damaged)
        });
        picture.transpose()
    }
}

impl VideoDecoder for Decoder {
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError> {
        let CodedPicture::H264(picture) = picture else {
            return Err(DecodeError::OtherCodec);
        };
        let mut last = Err(Refused::Damaged);
        for access_unit in &picture.access_units {
            last = self.take(access_unit);
        }
        let picture = last.and_then(|picture| picture.ok_or(Refused::Damaged));
        Ok(Decoded {
            picture: picture.map_err(DecodeError::H264)?,
            concealed: 0,
        })
    }
}
