//! From restart intervals to a picture, with what is missing taken from the picture before.

use core::fmt;

use super::bits::{BitReader, BlockDecoder, CHROMA, Damaged, LUMA};
use super::dct::{self, AAN, Block};
use super::encode::{MAX_SIDE, chunk};
use super::tables::ZIGZAG;
use crate::frame::{JpegImage, Picture, Sampling};

/// Decodes a stream of images; remembers the last picture for concealment.
#[derive(Debug, Default)]
pub struct Decoder {
    previous: Option<Picture>,
}

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The picture, in I420.
    pub picture: Picture,
    /// Intervals that were missing or damaged and are shown as they were in the picture before, or
    /// black if there is none of this size.
    pub concealed: usize,
}

/// Why an image has no picture at all. Bytes that do not decode only damage their interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A side is 0 or above 2040.
    Size {
        /// Columns claimed.
        width: u16,
        /// Rows claimed.
        height: u16,
    },
    /// The image has not the intervals that its size and restart interval make.
    Intervals {
        /// As many as there are.
        found: usize,
        /// As many as there must be.
        expected: usize,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { width, height } => {
                write!(f, "image of {width}x{height}: it must be 1x1 to 2040x2040")
            }
            Self::Intervals { found, expected } => {
                write!(
                    f,
                    "{found} restart intervals: the image's size needs {expected}"
                )
            }
        }
    }
}

impl core::error::Error for DecodeError {}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes `image`; intervals that are `None` or damaged are concealed.
    ///
    /// Any content is safe: memory is that of two pictures of at most 2040x2040, and time that of
    /// the MCUs.
    ///
    /// # Errors
    /// If the size or the number of intervals is impossible; the decoder is then unchanged.
    pub fn decode(&mut self, image: &JpegImage) -> Result<Decoded, DecodeError> {
        let (width, height) = (usize::from(image.width), usize::from(image.height));
        if image.width.min(image.height) == 0 || image.width.max(image.height) > MAX_SIDE {
            return Err(DecodeError::Size {
                width: image.width,
                height: image.height,
            });
        }
        let mcus = image.mcus();
        let chunk = chunk(image.restart_interval).min(mcus);
        let expected = mcus.div_ceil(chunk);
        if image.intervals.len() != expected {
            return Err(DecodeError::Intervals {
                found: image.intervals.len(),
                expected,
            });
        }
        let previous = self
            .previous
            .take()
            .filter(|p| (p.width(), p.height()) == (width, height));
        let mut canvas = Canvas::new(image);
        let mut concealed = 0;
        for (i, interval) in image.intervals.iter().enumerate() {
            let span = i * chunk..((i + 1) * chunk).min(mcus);
            let decoded = match interval {
                Some(coded) => canvas.decode(span.clone(), coded),
                None => Err(Damaged),
            };
            if decoded.is_err() {
                concealed += 1;
                canvas.conceal(span, previous.as_ref());
            }
        }
        self.previous = Some(canvas.picture.clone());
        Ok(Decoded {
            picture: canvas.picture,
            concealed,
        })
    }
}

/// A picture being decoded, and how its image lays it out.
struct Canvas {
    picture: Picture,
    layout: Layout,
    luma: Dequantiser,
    chroma: Dequantiser,
}

impl Canvas {
    fn new(image: &JpegImage) -> Self {
        Self {
            picture: Picture::new(image.width.into(), image.height.into()),
            layout: Layout {
                columns: usize::from(image.width).div_ceil(16),
                sampling: image.sampling,
            },
            luma: Dequantiser::new(&image.tables.luma),
            chroma: Dequantiser::new(&image.tables.chroma),
        }
    }

    fn decode(&mut self, mcus: core::ops::Range<usize>, coded: &[u8]) -> Result<(), Damaged> {
        let mut reader = BitReader::new(coded);
        let mut means = [0_i32; 3];
        for mcu in mcus {
            for &(plane, column, row) in self.layout.blocks() {
                let (codes, dequantiser): (&BlockDecoder, _) = match plane {
                    0 => (&LUMA, &self.luma),
                    _ => (&CHROMA, &self.chroma),
                };
                let mut levels = [0; 64];
                let last = reader.block(codes, &mut levels)?;
                means[plane] += levels[0];
                levels[0] = means[plane];
                let samples = dequantiser.samples(&levels, last);
                let origin = self.layout.origin(mcu, plane);
                self.store(plane, (origin.0 + 8 * column, origin.1 + 8 * row), &samples);
            }
        }
        Ok(())
    }

    /// Writes a block at a column and row of its plane, as far as the picture goes.
    fn store(&mut self, plane: usize, (x, y): (usize, usize), block: &[[u8; 8]; 8]) {
        let (width, height) = plane_size(&self.picture, plane);
        let pairs = plane != 0 && self.layout.sampling == Sampling::Yuv422;
        let samples = &mut *self.picture.planes_mut()[plane];
        let columns = width.saturating_sub(x).min(8);
        let mut store = |y: usize, row: &[u8; 8]| {
            if y < height && columns > 0 {
                samples[y * width + x..][..columns].copy_from_slice(&row[..columns]);
            }
        };
        if pairs {
            // 4:2:2 has a chroma row for each luma row; two make one of ours.
            let (rows, _) = block.as_chunks::<2>();
            for (i, [above, below]) in rows.iter().enumerate() {
                let mean = |j| ((u16::from(above[j]) + u16::from(below[j])).div_ceil(2)) as u8;
                store(y + i, &core::array::from_fn(mean));
            }
        } else {
            for (i, row) in block.iter().enumerate() {
                store(y + i, row);
            }
        }
    }

    /// Undoes the MCUs: as in `previous`, else black.
    fn conceal(&mut self, mcus: core::ops::Range<usize>, previous: Option<&Picture>) {
        for mcu in mcus {
            for plane in 0..3 {
                let (width, height) = plane_size(&self.picture, plane);
                let (x, y) = self.layout.origin(mcu, plane);
                let (across, down) = self.layout.extent(plane);
                let columns = width.saturating_sub(x).min(across);
                let samples = &mut *self.picture.planes_mut()[plane];
                for row in y..height.min(y + down) {
                    let at = row * width + x;
                    let to = &mut samples[at..at + columns];
                    match previous {
                        Some(previous) => {
                            to.copy_from_slice(&previous.planes()[plane][at..at + columns]);
                        }
                        None => to.fill(if plane == 0 { 16 } else { 128 }),
                    }
                }
            }
        }
    }
}

fn plane_size(picture: &Picture, plane: usize) -> (usize, usize) {
    match plane {
        0 => (picture.width(), picture.height()),
        _ => (picture.chroma_width(), picture.chroma_height()),
    }
}

/// Where MCUs and their blocks lie.
struct Layout {
    /// MCUs in a row.
    columns: usize,
    sampling: Sampling,
}

impl Layout {
    /// The blocks of an MCU in coding order: plane, and column and row in blocks.
    fn blocks(&self) -> &'static [(usize, usize, usize)] {
        match self.sampling {
            Sampling::Yuv422 => &[(0, 0, 0), (0, 1, 0), (1, 0, 0), (2, 0, 0)],
            Sampling::Yuv420 => &[
                (0, 0, 0),
                (0, 1, 0),
                (0, 0, 1),
                (0, 1, 1),
                (1, 0, 0),
                (2, 0, 0),
            ],
        }
    }

    /// Samples of an I420 plane that an MCU covers: across and down.
    fn extent(&self, plane: usize) -> (usize, usize) {
        let rows = match self.sampling {
            Sampling::Yuv422 => 8,
            Sampling::Yuv420 => 16,
        };
        if plane == 0 {
            (16, rows)
        } else {
            (8, rows / 2)
        }
    }

    fn origin(&self, mcu: usize, plane: usize) -> (usize, usize) {
        let (across, down) = self.extent(plane);
        (mcu % self.columns * across, mcu / self.columns * down)
    }
}

/// Levels to samples: the table, and the factors that the fast transform leaves.
struct Dequantiser {
    /// Position in the transposed block, and its factor, in zigzag order.
    factors: [(u8, f32); 64],
}

impl Dequantiser {
    fn new(table: &[u8; 64]) -> Self {
        Self {
            factors: core::array::from_fn(|i| {
                let (row, column) = (ZIGZAG[i] / 8, ZIGZAG[i] % 8);
                let aan = AAN[usize::from(row)] * AAN[usize::from(column)];
                (column * 8 + row, f32::from(table[i]) * aan / 8.0)
            }),
        }
    }

    /// Samples of a block whose levels after `last` are zeros.
    fn samples(&self, levels: &[i32; 64], last: usize) -> [[u8; 8]; 8] {
        if last == 0 {
            let flat = sample(levels[0] as f32 * self.factors[0].1);
            return [[flat; 8]; 8];
        }
        let mut block: Block = [[0.0; 8]; 8];
        let cells = block.as_flattened_mut();
        for (level, (at, factor)) in levels[..=last].iter().zip(&self.factors) {
            cells[usize::from(at & 63)] = *level as f32 * factor;
        }
        dct::inverse(&mut block);
        block.map(|row| row.map(sample))
    }
}

/// A sample from its distance to the middle.
fn sample(value: f32) -> u8 {
    // The cast clamps to 0 and 255.
    (value + 128.5) as u8
}
