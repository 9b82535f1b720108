//! The picture in its two forms: samples, and what a codec makes of them for the wire.

use std::ops::Range;
use std::sync::Arc;

use tfrc::units::Bytes;

use crate::dif::{BLOCK, System};

/// Luma of black as video has it (ITU-R BT.601 and BT.709).
pub const BLACK: u8 = 16;
/// Luma of white.
pub const WHITE: u8 = 235;
/// Chroma of greys.
pub const GREY: u8 = 128;
/// Chroma of the strongest colours, either way.
pub const CHROMA: (u8, u8) = (16, 240);

/// A picture in planar 4:2:0 (I420): luma, then Cb, then Cr, each without padding.
///
/// Odd sizes are allowed; the chroma planes are rounded up. Levels mean what they do in video: [`BLACK`] to [`WHITE`], and
/// [`CHROMA`] around [`GREY`]. Files and peers may have samples beyond; they stay as they came, but in M-JPEG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    data: Vec<u8>,
    dv: Option<Arc<DvFrame>>,
}

impl Picture {
    /// A black picture.
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

    /// A picture from its samples; `None` unless there are exactly [`Picture::samples`] of them.
    pub fn from_data(width: usize, height: usize, data: Vec<u8>) -> Option<Self> {
        (data.len() == Self::samples(width, height)).then_some(Self {
            width,
            height,
            data,
            dv: None,
        })
    }

    /// The same picture, which its source or its sender coded as this frame of DV.
    pub fn with_dv(self, frame: DvFrame) -> Self {
        Self {
            dv: Some(Arc::new(frame)),
            ..self
        }
    }

    /// The frame of DV that the picture was read from, for what takes it over as it is.
    pub fn dv(&self) -> Option<&DvFrame> {
        self.dv.as_deref()
    }

    /// How many samples a picture of this size has, all planes together.
    pub const fn samples(width: usize, height: usize) -> usize {
        width * height + 2 * width.div_ceil(2) * height.div_ceil(2)
    }

    /// Columns of luma.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Rows of luma.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Columns of each chroma plane.
    pub const fn chroma_width(&self) -> usize {
        self.width.div_ceil(2)
    }

    /// Rows of each chroma plane.
    pub const fn chroma_height(&self) -> usize {
        self.height.div_ceil(2)
    }

    /// All samples: Y, Cb, Cr.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The planes Y, Cb, Cr.
    pub fn planes(&self) -> [&[u8]; 3] {
        let (luma, chroma) = self.data.split_at(self.width * self.height);
        let (cb, cr) = chroma.split_at(chroma.len() / 2);
        [luma, cb, cr]
    }

    /// The planes Y, Cb, Cr, to be written.
    pub fn planes_mut(&mut self) -> [&mut [u8]; 3] {
        let (luma, chroma) = self.data.split_at_mut(self.width * self.height);
        let half = chroma.len() / 2;
        let (cb, cr) = chroma.split_at_mut(half);
        [luma, cb, cr]
    }
}

/// How the chroma of a coded image is sampled: RFC 2435's two types.
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
    /// For the luma component.
    pub luma: [u8; 64],
    /// For both chroma components.
    pub chroma: [u8; 64],
}

/// A baseline JPEG image with the standard Huffman tables, as its restart intervals.
///
/// This is what crosses the wire: an interval decodes by itself, so a lost packet costs the rows it
/// carried and no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JpegImage {
    /// Columns, a positive number below 2041 (RFC 2435 §3.1.5).
    pub width: u16,
    /// Rows, a positive number below 2041.
    pub height: u16,
    /// Chroma sampling.
    pub sampling: Sampling,
    /// The tables it was quantised with.
    pub tables: QuantTables,
    /// MCUs in an interval (the last may have fewer); 0 if the image is one piece.
    pub restart_interval: u16,
    /// Entropy-coded bytes of each interval, byte-aligned, without the RST marker that follows.
    /// `None` where the network lost it.
    pub intervals: Vec<Option<Vec<u8>>>,
}

impl JpegImage {
    /// MCUs in the whole image.
    pub fn mcus(&self) -> usize {
        let mcu_height = match self.sampling {
            Sampling::Yuv422 => 8,
            Sampling::Yuv420 => 16,
        };
        usize::from(self.width).div_ceil(16) * usize::from(self.height).div_ceil(mcu_height)
    }

    /// Size of the entropy-coded segment: the intervals and the two-byte markers between them.
    pub fn scan_size(&self) -> Bytes {
        let coded: usize = self.intervals.iter().flatten().map(Vec::len).sum();
        Bytes::from(coded + 2 * self.intervals.len().saturating_sub(1))
    }

    /// True when no interval is missing.
    pub fn is_whole(&self) -> bool {
        self.intervals.iter().all(Option::is_some)
    }
}

/// An uncompressed picture in packed 4:2:2, 8 bit, as RFC 4175 carries it: Cb Y Cr Y for each two
/// pixels, line by line, without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPicture {
    /// Columns, an even number.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// The samples: two bytes a pixel.
    pub data: Vec<u8>,
    /// The bytes of `data` that the network lost, in ascending order; what stands there means nothing.
    pub missing: Vec<Range<usize>>,
}

impl RawPicture {
    /// The bytes of a line.
    pub fn stride(&self) -> usize {
        2 * usize::from(self.width)
    }
}

/// A frame of DV as files and RFC 6469 have it: DIF blocks, the blocks of sound included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DvFrame {
    /// Its scanning system.
    pub system: System,
    /// Every block, each in its place: [`System::frame_len`] bytes.
    pub data: Vec<u8>,
    /// The bytes of the blocks that the network lost, in ascending order; what stands there means nothing.
    pub missing: Vec<Range<usize>>,
}

/// A picture of H.264 as RFC 6184 carries it: its NAL units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessUnit {
    /// NAL units in decoding order, without start codes; `None` where the network lost something.
    pub units: Vec<Option<Vec<u8>>>,
}

impl AccessUnit {
    /// Its bytes.
    pub fn len(&self) -> usize {
        self.units.iter().flatten().map(Vec::len).sum()
    }

    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.units.iter().all(Option::is_some)
    }

    /// True if it refers to no picture before it (a slice of type 5, H.264 table 7-1).
    pub fn is_keyframe(&self) -> bool {
        self.has(5)
    }

    /// True if the parameter sets are in it, of the sequence and of pictures: without them a decoder makes nothing of
    /// a keyframe.
    pub fn has_parameters(&self) -> bool {
        self.has(7) && self.has(8)
    }

    /// True if a NAL unit of this type is in it (H.264 table 7-1).
    fn has(&self, kind: u8) -> bool {
        let mut units = self.units.iter().flatten();
        units.any(|unit| unit.first().is_some_and(|header| header & 0x1f == kind))
    }
}

/// What a decoder of H.264 needs to come from the picture it decoded last to the next one shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct H264Picture {
    /// In decoding order: pictures that came too late to be shown, and the one that is shown.
    pub access_units: Vec<AccessUnit>,
}

/// A picture as its codec writes it: what crosses the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodedPicture {
    /// Motion JPEG (RFC 2435).
    Jpeg(JpegImage),
    /// Uncompressed (RFC 4175).
    Raw(RawPicture),
    /// H.264 (RFC 6184).
    H264(H264Picture),
    /// DV (RFC 6469).
    Dv(DvFrame),
}

/// How much of a picture arrived, in the parts that its codec can lose one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Those that are missing, wholly or in part.
    pub missing: usize,
    /// All of them.
    pub of: usize,
}

impl CodedPicture {
    /// Its coded bytes, without the headers of packets and without tables.
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

    /// Restart intervals of JPEG, lines of an uncompressed picture, NAL units of H.264, DIF blocks.
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

    /// True when nothing is missing.
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
