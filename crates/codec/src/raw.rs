//! Uncompressed pictures as RFC 4175 carries them: 4:2:2, 8 bit.
//!
//! The samples of a [`Picture`] have half the chroma rows: each chroma row is sent with both of its luma rows, and
//! the receiver takes their mean.

use tfrc::units::Bytes;

use crate::coder::{DecodeError, Decoded, VideoDecoder};
use crate::own_size::{OwnSize, OwnSizeEncoder};
use crate::picture::{BLACK, CodedPicture, GREY, Picture, RawPicture};

/// The possible sizes in the words of a [`PictureSizeError`](crate::PictureSizeError).
pub(crate) const POSSIBLE_SIZES: &str =
    "uncompressed video has an even width, and at most the pixels of 3840x2160";

/// The most pixels of an uncompressed picture. A receiver has a picture in its full size in memory before the picture is
/// whole.
const MAX_PIXELS: usize = 3_840 * 2_160;

/// The longest side that fits into the 15 bits of RFC 4175 §4.2.
const MAX_SIDE: usize = 0x7fff;

/// Returns the width and height of uncompressed pictures of this size; `None` if there are none.
pub fn dimensions(width: usize, height: usize) -> Option<(u16, u16)> {
    let possible = 1..=MAX_SIDE;
    let fits = possible.contains(&width) && possible.contains(&height);
    (fits && width.is_multiple_of(2) && width * height <= MAX_PIXELS)
        .then_some((width as u16, height as u16))
}

/// Returns the nearest size to this one that can be sent.
pub(crate) fn nearest_size(width: usize, height: usize) -> (usize, usize) {
    let width = width.clamp(2, 3_840).next_multiple_of(2);
    (width, height.clamp(1, MAX_PIXELS / width))
}

/// Sends pictures whole or not at all.
pub type Encoder = OwnSizeEncoder<Uncompressed>;

/// The codec of uncompressed pictures, whose samples set their size.
#[derive(Debug)]
pub struct Uncompressed;

impl OwnSize for Uncompressed {
    const POSSIBLE_SIZES: &'static str = POSSIBLE_SIZES;

    fn plan(picture: &Picture) -> Option<(Bytes, impl FnOnce() -> CodedPicture)> {
        let (width, height) = dimensions(picture.width(), picture.height())?;
        let size = Bytes::from(2 * picture.width() * picture.height());
        let code = move || {
            CodedPicture::Raw(RawPicture {
                width,
                height,
                data: pack(picture),
                missing: Vec::new(),
            })
        };
        Some((size, code))
    }
}

/// Converts I420 to Cb Y Cr Y.
fn pack(picture: &Picture) -> Vec<u8> {
    let (width, chroma_width) = (picture.width(), picture.chroma_width());
    let [luma, cb, cr] = picture.planes();
    let mut data = vec![0; 2 * luma.len()];
    let rows = data
        .chunks_exact_mut(2 * width)
        .zip(luma.chunks_exact(width));
    for (row, (out, luma)) in rows.enumerate() {
        let chroma = row / 2 * chroma_width..(row / 2 + 1) * chroma_width;
        let chroma = cb[chroma.clone()].iter().zip(&cr[chroma]);
        let pairs = out.chunks_exact_mut(4).zip(luma.chunks_exact(2));
        for ((out, luma), (&cb, &cr)) in pairs.zip(chroma) {
            out.copy_from_slice(&[cb, luma[0], cr, luma[1]]);
        }
    }
    data
}

/// Converts Cb Y Cr Y to I420.
fn unpack(width: usize, height: usize, data: &[u8]) -> Picture {
    let mut picture = Picture::new(width, height);
    let chroma_width = picture.chroma_width();
    let [luma, cb, cr] = picture.planes_mut();
    for (out, row) in luma
        .chunks_exact_mut(width)
        .zip(data.chunks_exact(2 * width))
    {
        for (out, group) in out.chunks_exact_mut(2).zip(row.chunks_exact(4)) {
            out.copy_from_slice(&[group[1], group[3]]);
        }
    }
    let chroma = cb
        .chunks_exact_mut(chroma_width)
        .zip(cr.chunks_exact_mut(chroma_width));
    for ((cb, cr), rows) in chroma.zip(data.chunks(4 * width)) {
        // The last of an odd number of rows stands alone.
        let (upper, lower) = rows.split_at(2 * width);
        let lower = if lower.is_empty() { upper } else { lower };
        let groups = upper.chunks_exact(4).zip(lower.chunks_exact(4));
        for ((cb, cr), (upper, lower)) in cb.iter_mut().zip(cr).zip(groups) {
            *cb = mean(upper[0], lower[0]);
            *cr = mean(upper[2], lower[2]);
        }
    }
    picture
}

fn mean(a: u8, b: u8) -> u8 {
    ((u16::from(a) + u16::from(b)).div_ceil(2)) as u8
}

/// Shows the parts that arrived, and fills the holes from the picture before.
#[derive(Debug, Default)]
pub struct Decoder {
    previous: Option<RawPicture>,
}

impl VideoDecoder for Decoder {
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError> {
        let CodedPicture::Raw(raw) = picture else {
            return Err(DecodeError::OtherCodec);
        };
        let (width, height) = (usize::from(raw.width), usize::from(raw.height));
        let sized = raw.data.len() == 2 * width * height;
        let inside = raw.missing.iter().all(|gap| gap.end <= raw.data.len());
        if dimensions(width, height).is_none() || !sized || !inside {
            return Err(DecodeError::Raw);
        }
        let mut whole = raw.clone();
        let previous = self.previous.take();
        let previous = previous.filter(|p| (p.width, p.height) == (raw.width, raw.height));
        for gap in std::mem::take(&mut whole.missing) {
            match &previous {
                Some(previous) => {
                    whole.data[gap.clone()].copy_from_slice(&previous.data[gap]);
                }
                None => black(&mut whole.data[gap]),
            }
        }
        let decoded = Decoded {
            picture: unpack(width, height, &whole.data),
            concealed: picture.parts().missing,
        };
        self.previous = Some(whole);
        Ok(decoded)
    }
}

/// Fills whole pixel groups with black.
fn black(groups: &mut [u8]) {
    for group in groups.chunks_exact_mut(4) {
        group.copy_from_slice(&[GREY, BLACK, GREY, BLACK]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{FrameTarget, VideoEncoder as _};
    use crate::test_support::frame_target;
    use std::time::Duration;
    use tfrc::units::Rate;

    const INTERVAL: Duration = Duration::from_millis(40);

    fn picture(seed: u8) -> Picture {
        let samples = Picture::samples(6, 5);
        let data = (0..samples)
            .map(|i| (i as u8).wrapping_mul(17) ^ seed)
            .collect();
        Picture::from_data(6, 5, data).unwrap()
    }

    fn target(rate: f64) -> FrameTarget {
        FrameTarget {
            rate: Rate::from_bits_per_sec(rate),
            ..frame_target(1, 25.0)
        }
    }

    fn raw(picture: &Picture) -> RawPicture {
        let coded = Encoder::new(INTERVAL).encode(picture, &target(1e9));
        match coded.unwrap().unwrap().picture {
            CodedPicture::Raw(raw) => raw,
            _ => unreachable!("an encoder has one codec"),
        }
    }

    #[test]
    fn pixels_are_packed_as_rfc_4175_has_them() {
        let picture = Picture::from_data(2, 2, vec![10, 20, 30, 40, 50, 60]).unwrap();
        assert_eq!(raw(&picture).data, [50, 10, 60, 20, 50, 30, 60, 40]);
    }

    #[test]
    fn nothing_is_lost_on_the_way() {
        let decoded = Decoder::default().decode(&CodedPicture::Raw(raw(&picture(0))));
        let decoded = decoded.unwrap();
        assert_eq!((decoded.picture, decoded.concealed), (picture(0), 0));
    }

    #[test]
    fn holes_show_the_picture_before_or_black() {
        let mut coded = raw(&picture(1));
        coded.missing.push(4..16);
        let mut decoder = Decoder::default();
        let decoded = decoder.decode(&CodedPicture::Raw(coded.clone())).unwrap();
        assert_eq!(decoded.concealed, 2);
        assert_eq!(decoded.picture.planes()[0][2..6], [16; 4]);
        decoder
            .decode(&CodedPicture::Raw(raw(&picture(0))))
            .unwrap();
        let decoded = decoder.decode(&CodedPicture::Raw(coded)).unwrap();
        assert_eq!(
            decoded.picture.planes()[0][2..6],
            picture(0).planes()[0][2..6]
        );
    }

    #[test]
    fn pictures_are_left_out_on_narrow_paths() {
        let mut encoder = Encoder::new(INTERVAL);
        // 60 bytes every 40 ms are 12 kb/s.
        let sent = (0..60)
            .filter(|_| {
                encoder
                    .encode(&picture(0), &target(6.5e3))
                    .unwrap()
                    .is_some()
            })
            .count();
        assert_eq!(sent, 30);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let mut coded = raw(&picture(0));
        coded.data.pop();
        let mut decoder = Decoder::default();
        assert!(decoder.decode(&CodedPicture::Raw(coded)).is_err());
        let odd = Picture::new(3, 2);
        assert!(Encoder::new(INTERVAL).encode(&odd, &target(1e9)).is_err());
    }
}
