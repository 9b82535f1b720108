//! The picture in its two forms: samples, and the coded form for the wire.

use std::ops::Range;
use std::sync::Arc;

use tfrc::units::Bytes;

use crate::dif::{BLOCK, System};

/// The luma of black in video (ITU-R BT.601 and BT.709).
pub const BLACK: u8 = 16;
/// The luma of white.
pub const WHITE: u8 = 235;
/// The chroma of greys.
pub const GREY: u8 = 128;
/// The chroma of the strongest colours, in both directions.
pub const CHROMA: (u8, u8) = (16, 240);
/// The rows from which pictures of files and peers without a matrix have BT.709's, as in players.
pub(crate) const HD_ROWS: usize = 720;

/// A picture in planar 4:2:0 (I420): luma, then Cb, then Cr, each without padding.
///
/// Odd sizes are permitted; the chroma planes are rounded up. Pixels are square. Colours have the matrix of BT.601, which
/// is JFIF's, at any size. Levels have the meaning of video: [`BLACK`] to [`WHITE`], and [`CHROMA`] around [`GREY`]. Samples of files and peers may lie beyond these levels; they remain
/// unchanged except in M-JPEG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    data: Vec<u8>,
    dv: Option<Arc<DvFrame>>,
}

impl Picture {
    /// Creates a black picture.
    pub fn new(width: usize, height: usize) -> Self {
        let mut data = vec![BLACK; Self::samples(width, height)];
        data[width * height..].fill(GREY);
        Self {
            width,
            height,
            data,
            dv: None,
        }
    }

    /// Creates a picture from its samples; `None` unless there are exactly [`Picture::samples`] of them.
    pub fn from_data(width: usize, height: usize, data: Vec<u8>) -> Option<Self> {
        (data.len() == Self::samples(width, height)).then_some(Self {
            width,
            height,
            data,
            dv: None,
        })
    }

    /// Returns the same picture with the frame of DV from which it was read or received.
    pub fn with_dv(self, frame: DvFrame) -> Self {
        Self {
            dv: Some(Arc::new(frame)),
            ..self
        }
    }

    /// Returns the frame of DV from which the picture was read, for uses that copy the frame.
    pub fn dv(&self) -> Option<&DvFrame> {
        self.dv.as_deref()
    }

    /// Returns the number of samples of a picture of this size, all planes together.
    pub const fn samples(width: usize, height: usize) -> usize {
        width * height + 2 * width.div_ceil(2) * height.div_ceil(2)
    }

    /// Returns the columns of luma.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Returns the rows of luma.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Returns the columns of each chroma plane.
    pub const fn chroma_width(&self) -> usize {
        self.width.div_ceil(2)
    }

    /// Returns the rows of each chroma plane.
    pub const fn chroma_height(&self) -> usize {
        self.height.div_ceil(2)
    }

    /// Returns all samples: Y, Cb, Cr.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns the planes Y, Cb, Cr.
    pub fn planes(&self) -> [&[u8]; 3] {
        let (luma, chroma) = self.data.split_at(self.width * self.height);
        let (cb, cr) = chroma.split_at(chroma.len() / 2);
        [luma, cb, cr]
    }

    /// Returns the planes Y, Cb, Cr for writing.
    pub fn planes_mut(&mut self) -> [&mut [u8]; 3] {
        let (luma, chroma) = self.data.split_at_mut(self.width * self.height);
        let half = chroma.len() / 2;
        let (cb, cr) = chroma.split_at_mut(half);
        [luma, cb, cr]
    }
}

/// The chroma sampling of a coded image: the two types of RFC 2435.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// Type 0: 4:2:2, an MCU is 16x8.
    Yuv422,
    /// Type 1: 4:2:0, an MCU is 16x16.
    Yuv420,
}

/// Quantisation tables for luma and chroma, in zigzag order, 8 bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantTables {
    /// The table of the luma component.
    pub luma: [u8; 64],
    /// The table of both chroma components.
    pub chroma: [u8; 64],
}

/// A baseline JPEG image with the standard Huffman tables, as its restart intervals.
///
/// The intervals cross the wire. Each decodes by itself, so a lost packet costs only the rows that it carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JpegImage {
    /// The width, a positive number below 2041 (RFC 2435 §3.1.5).
    pub width: u16,
    /// The height, a positive number below 2041.
    pub height: u16,
    /// Chroma sampling.
    pub sampling: Sampling,
    /// The tables with which the image was quantised.
    pub tables: QuantTables,
    /// The MCUs in an interval (the last may have fewer); 0 if the image is one piece.
    pub restart_interval: u16,
    /// The entropy-coded bytes of each interval, byte-aligned, without the RST marker that follows. `None` if the
    /// network lost the interval.
    pub intervals: Vec<Option<Vec<u8>>>,
}

impl JpegImage {
    /// Returns the MCUs in the whole image.
    pub fn mcus(&self) -> usize {
        let mcu_height = match self.sampling {
            Sampling::Yuv422 => 8,
            Sampling::Yuv420 => 16,
        };
        usize::from(self.width).div_ceil(16) * usize::from(self.height).div_ceil(mcu_height)
    }

    /// Returns the size of the entropy-coded segment: the intervals and the two-byte markers between them.
    pub fn scan_size(&self) -> Bytes {
        let coded: usize = self.intervals.iter().flatten().map(Vec::len).sum();
        Bytes::from(coded + 2 * self.intervals.len().saturating_sub(1))
    }

    /// Returns true if no interval is missing.
    pub fn is_whole(&self) -> bool {
        self.intervals.iter().all(Option::is_some)
    }
}

/// An uncompressed picture in packed 4:2:2, 8 bit, as RFC 4175 carries it: Cb Y Cr Y for each two
/// pixels, line by line, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPicture {
    /// The width, an even number.
    pub width: u16,
    /// The height.
    pub height: u16,
    /// The samples: two bytes a pixel.
    pub data: Vec<u8>,
    /// The bytes of `data` that the network lost, in ascending order; their values have no meaning.
    pub missing: Vec<Range<usize>>,
}

impl RawPicture {
    /// Returns the bytes of a line.
    pub fn stride(&self) -> usize {
        2 * usize::from(self.width)
    }
}

/// A frame of DV in the form of files and of RFC 6469: DIF blocks, including the blocks of sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DvFrame {
    /// The scanning system.
    pub system: System,
    /// All blocks, each in its place: [`System::frame_len`] bytes.
    pub data: Vec<u8>,
    /// The bytes of the blocks that the network lost, in ascending order; their values have no meaning.
    pub missing: Vec<Range<usize>>,
}

/// A picture of H.264 as RFC 6184 carries it: its NAL units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessUnit {
    /// The NAL units in decoding order, without start codes; `None` where the network lost some.
    pub units: Vec<Option<Vec<u8>>>,
}

impl AccessUnit {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.units.iter().flatten().map(Vec::len).sum()
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.units.iter().all(Option::is_some)
    }

    /// Returns true if the picture refers to none before it (a slice of type 5, H.264 table 7-1).
    pub fn is_keyframe(&self) -> bool {
        self.has(5)
    }

    /// Returns true if the unit has the parameter sets of the sequence and of pictures. A decoder cannot decode a
    /// keyframe without them.
    pub fn has_parameters(&self) -> bool {
        self.has(7) && self.has(8)
    }

    /// Returns true if the unit has a NAL unit of this type (H.264 table 7-1).
    fn has(&self, kind: u8) -> bool {
        let mut units = self.units.iter().flatten();
        units.any(|unit| unit.first().is_some_and(|header| header & 0x1f == kind))
    }
}

/// The pictures of H.264 that a decoder needs from its last picture to the next one shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct H264Picture {
    /// The pictures in decoding order: those that arrived too late to be shown, and the one that is shown.
    pub access_units: Vec<AccessUnit>,
}

/// A picture in the form of its codec, as it crosses the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodedPicture {
    /// Motion JPEG (RFC 2435).
    Jpeg(JpegImage),
    /// Uncompressed video (RFC 4175).
    Raw(RawPicture),
    /// H.264 (RFC 6184).
    H264(H264Picture),
    /// DV (RFC 6469).
    Dv(DvFrame),
}

/// The arrived share of a picture, in the parts that its codec can lose one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The number of parts that are missing, wholly or partly.
    pub missing: usize,
    /// The number of all parts.
    pub of: usize,
}

impl CodedPicture {
    /// Returns the size of the coded bytes, without packet headers and without tables.
    pub fn size(&self) -> Bytes {
        match self {
            Self::Jpeg(image) => image.scan_size(),
            Self::Raw(picture) => Bytes::from(picture.data.len()),
            Self::H264(picture) => Bytes::from(
                picture
                    .access_units
                    .iter()
                    .map(AccessUnit::len)
                    .sum::<usize>(),
            ),
            Self::Dv(frame) => Bytes::from(frame.data.len()),
        }
    }

    /// Returns the parts: restart intervals of JPEG, lines of an uncompressed picture, NAL units of H.264, DIF
    /// blocks of DV.
    pub fn parts(&self) -> Parts {
        match self {
            Self::Jpeg(image) => Parts {
                missing: image.intervals.iter().filter(|i| i.is_none()).count(),
                of: image.intervals.len(),
            },
            Self::Raw(picture) => Parts {
                missing: damaged_lines(picture),
                of: picture.height.into(),
            },
            Self::H264(picture) => {
                let units = || picture.access_units.iter().flat_map(|access| &access.units);
                Parts {
                    missing: units().filter(|unit| unit.is_none()).count(),
                    of: units().count(),
                }
            }
            Self::Dv(frame) => Parts {
                missing: frame.missing.iter().map(Range::len).sum::<usize>() / BLOCK,
                of: frame.data.len() / BLOCK,
            },
        }
    }

    /// Returns true if nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.parts().missing == 0
    }
}

fn damaged_lines(picture: &RawPicture) -> usize {
    let stride = picture.stride().max(1);
    // Lines below this one are counted.
    let mut counted = 0;
    let mut damaged = 0;
    for range in &picture.missing {
        let first = (range.start / stride).max(counted);
        counted = range.end.div_ceil(stride).max(first);
        damaged += counted - first;
    }
    damaged
}

impl From<JpegImage> for CodedPicture {
    fn from(image: JpegImage) -> Self {
        Self::Jpeg(image)
    }
}

impl From<AccessUnit> for CodedPicture {
    fn from(access_unit: AccessUnit) -> Self {
        Self::H264(H264Picture {
            access_units: vec![access_unit],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_with_two_holes_counts_once() {
        let picture = |missing: Vec<Range<usize>>| {
            CodedPicture::Raw(RawPicture {
                width: 4,
                height: 4,
                data: vec![0; 32],
                missing,
            })
        };
        // Lines have eight bytes.
        assert!(picture(vec![]).is_whole());
        assert_eq!(
            picture(vec![0..4, 4..8]).parts(),
            Parts { missing: 1, of: 4 }
        );
        assert_eq!(picture(vec![4..12, 28..32]).parts().missing, 3);
        assert_eq!(picture(vec![0..20, 20..32]).parts().missing, 4);
    }
}
