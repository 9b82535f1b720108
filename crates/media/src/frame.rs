//! The picture in its two forms: samples, and the coded image that RFC 2435 carries.

use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A picture in planar 4:2:0 (I420): luma, then Cb, then Cr, each without padding.
///
/// Odd sizes are allowed; the chroma planes are rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    data: Vec<u8>,
}

impl Picture {
    /// A black picture.
    pub fn new(width: usize, height: usize) -> Self {
        let mut data = vec![16; Self::samples(width, height)];
        data[width * height..].fill(128);
        Self {
            width,
            height,
            data,
        }
    }

    /// A picture from its samples; `None` unless there are exactly [`Picture::samples`] of them.
    pub fn from_data(width: usize, height: usize, data: Vec<u8>) -> Option<Self> {
        (data.len() == Self::samples(width, height)).then_some(Self {
            width,
            height,
            data,
        })
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

/// A coded frame on its way to the network.
#[derive(Clone, Debug)]
pub struct EncodedFrame {
    /// When the picture was captured, on the sender's clock.
    pub captured: Instant,
    /// The same instant on the media clock of 90 kHz, as RTP carries it.
    pub timestamp: u32,
    /// The coded picture; every interval is present.
    pub image: JpegImage,
}

/// A frame as the network delivered it, due for display.
#[derive(Clone, Debug)]
pub struct ReceivedFrame {
    /// The RTP timestamp of its packets.
    pub timestamp: u32,
    /// When its last packet arrived, or when it was given up.
    pub completed: Instant,
    /// What arrived of it.
    pub image: JpegImage,
}
