//! DV from cameras and files (IEC 61834, RFC 6469), sent unchanged: whole frames are left out where the path is
//! narrow.
//!
//! Nothing is coded and nothing decoded. The shown picture is a mosaic (`mosaic.rs`). The picture also carries the
//! frame itself, which a recording copies byte for byte.

mod mosaic;
use tfrc::units::Bytes;

use crate::coder::{DecodeError, Decoded, VideoDecoder};
use crate::dif::System;
use crate::own_size::{OwnSize, OwnSizeEncoder};
use crate::picture::{CodedPicture, DvFrame, Picture};

/// The possible sizes in the words of a [`PictureSizeError`](crate::PictureSizeError).
pub(crate) const POSSIBLE_SIZES: &str =
    "DV is sent as a source of raw DV has it, in 720x480 or 720x576";

/// Returns the system whose pictures have this size.
pub fn system(size: (usize, usize)) -> Option<System> {
    let mut systems = System::ALL.into_iter();
    systems.find(|system| system.size() == size)
}

/// Returns the size nearest to this one.
pub(crate) fn nearest_size(height: usize) -> (usize, usize) {
    let [fewer, more] = System::ALL.map(System::size);
    if 2 * height < fewer.1 + more.1 {
        fewer
    } else {
        more
    }
}

/// Returns the picture of a frame of which nothing is missing.
pub(crate) fn picture(frame: DvFrame) -> Picture {
    mosaic::of(&frame).with_dv(frame)
}

/// Sends frames whole or not at all.
pub type Encoder = OwnSizeEncoder<Dv>;

/// The codec of DV frames, whose scanning system sets their size.
#[derive(Debug)]
pub struct Dv;

impl OwnSize for Dv {
    const POSSIBLE_SIZES: &'static str = POSSIBLE_SIZES;

    fn plan(picture: &Picture) -> Option<(Bytes, impl FnOnce() -> CodedPicture)> {
        let frame = picture.dv()?;
        let size = Bytes::from(frame.data.len());
        Some((size, || CodedPicture::Dv(frame.clone())))
    }
}

/// Replaces lost blocks by the blocks of the frame before (RFC 6469 §2.3).
#[derive(Debug, Default)]
pub struct Decoder {
    previous: Option<DvFrame>,
}

impl VideoDecoder for Decoder {
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError> {
        let CodedPicture::Dv(frame) = picture else {
            return Err(DecodeError::OtherCodec);
        };
        let sized = frame.data.len() == frame.system.frame_len();
        let inside = frame.missing.iter().all(|gap| gap.end <= frame.data.len());
        if !sized || !inside {
            return Err(DecodeError::Dv);
        }
        let mut whole = frame.clone();
        let missing = std::mem::take(&mut whole.missing);
        if !missing.is_empty() {
            let previous = self.previous.as_ref();
            let previous = previous.filter(|previous| previous.system == frame.system);
            let previous = previous.ok_or(DecodeError::Dv)?;
            for gap in missing {
                whole.data[gap.clone()].copy_from_slice(&previous.data[gap]);
            }
        }
        self.previous = Some(whole.clone());
        Ok(Decoded {
            picture: self::picture(whole),
            concealed: picture.parts().missing,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{FrameTarget, VideoEncoder as _};
    use crate::test_support::{dv_frame, frame_target};
    use std::time::Duration;
    use tfrc::units::Rate;

    const INTERVAL: Duration = Duration::from_millis(40);

    fn frame(fill: u8) -> DvFrame {
        dv_frame(System::Lines625, fill)
    }

    fn target(rate: f64) -> FrameTarget {
        FrameTarget {
            rate: Rate::from_bits_per_sec(rate),
            ..frame_target(1, 25.0)
        }
    }

    #[test]
    fn frames_are_sent_as_they_are() {
        let shown = picture(frame(9));
        assert_eq!((shown.width(), shown.height()), (720, 576));
        let coded = Encoder::new(INTERVAL).encode(&shown, &target(40e6));
        let coded = coded.unwrap().unwrap();
        assert_eq!(coded.picture, CodedPicture::Dv(frame(9)));
        let decoded = Decoder::default().decode(&coded.picture).unwrap();
        assert_eq!((decoded.picture, decoded.concealed), (shown, 0));
    }

    #[test]
    fn frames_are_left_out_on_narrow_paths() {
        let mut encoder = Encoder::new(INTERVAL);
        let shown = picture(frame(0));
        // All pictures together take 28.8 Mb/s.
        let mut sent = |rate| encoder.encode(&shown, &target(rate)).unwrap().is_some();
        assert_eq!((0..60).filter(|_| sent(15e6)).count(), 30);
    }

    #[test]
    fn lost_blocks_are_those_of_the_frame_before() {
        let mut damaged = frame(2);
        damaged.missing = vec![80..240, 800..880];
        let damaged = CodedPicture::Dv(damaged);
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(&damaged).unwrap_err(), DecodeError::Dv);
        decoder.decode(&CodedPicture::Dv(frame(1))).unwrap();
        let decoded = decoder.decode(&damaged).unwrap();
        assert_eq!(decoded.concealed, 3);
        let shown = decoded.picture.dv().unwrap();
        assert!(shown.missing.is_empty());
        assert_eq!(shown.data[..80], frame(2).data[..80]);
        assert_eq!(shown.data[80..240], frame(1).data[80..240]);
        assert_eq!(shown.data[240..800], frame(2).data[240..800]);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut decoder = Decoder::default();
        let mut cut = frame(0);
        cut.data.pop();
        assert!(decoder.decode(&CodedPicture::Dv(cut)).is_err());
        let plain = Picture::new(720, 576);
        assert!(
            Encoder::new(INTERVAL)
                .encode(&plain, &target(40e6))
                .is_err()
        );
    }
}
