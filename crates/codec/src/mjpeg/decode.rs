//! Decodes restart intervals to a picture, and conceals missing ones by the picture before.

#[cfg(test)]
mod tests;

use super::bits::{BitReader, BlockDecoder, CHROMA, Damaged, LUMA};
use super::conceal::conceal;
use super::dct::{self, AAN, Block};
use super::encode::{MAX_SIDE, chunk};
use super::layout::{Layout, plane_size};
use super::range::NominalRange;
use super::tables::ZIGZAG;
use crate::coder::{DecodeError, Decoded, JpegImageError, VideoDecoder};
use crate::picture::{CodedPicture, JpegImage, Picture, Sampling};
use crate::resize::fitted;

/// Decodes a stream of images, and keeps the last picture for concealment.
#[derive(Debug, Default)]
pub struct Decoder {
    previous: Option<Picture>,
}

impl Decoder {
    /// Creates a decoder without an earlier picture.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes `image`; intervals that are `None` or damaged are concealed.
    ///
    /// Any content is safe: the memory is bounded by two pictures of 2040x2040, and the time by the number of MCUs.
    ///
    /// # Errors
    /// Returns an error if the size or the number of intervals is impossible; the decoder is then unchanged.
    pub fn decode(&mut self, image: &JpegImage) -> Result<Decoded, JpegImageError> {
        let (width, height) = (usize::from(image.width), usize::from(image.height));
        if image.width.min(image.height) == 0 || image.width.max(image.height) > MAX_SIDE {
            return Err(JpegImageError::Size {
                width: image.width,
                height: image.height,
            });
        }
        let mcus = image.mcus();
        let chunk = chunk(image.restart_interval).min(mcus);
        let expected = mcus.div_ceil(chunk);
        if image.intervals.len() != expected {
            return Err(JpegImageError::Intervals {
                found: image.intervals.len(),
                expected,
            });
        }
        let before = self.previous.take();
        let previous = before.as_ref().and_then(|p| fitted(p, (width, height)));
        let mut canvas = Canvas::new(image);
        let mut lost = Vec::new();
        for (i, interval) in image.intervals.iter().enumerate() {
            let span = i * chunk..((i + 1) * chunk).min(mcus);
            let decoded = match interval {
                Some(coded) => canvas.decode(span.clone(), coded),
                None => Err(Damaged),
            };
            if decoded.is_err() {
                lost.push(span);
            }
        }
        conceal(
            &mut canvas.picture,
            &canvas.layout,
            &lost,
            previous.as_deref(),
        );
        self.previous = Some(canvas.picture.clone());
        Ok(Decoded {
            picture: canvas.picture,
            concealed: lost.len(),
        })
    }
}

impl VideoDecoder for Decoder {
    fn decode(&mut self, picture: &CodedPicture) -> Result<Decoded, DecodeError> {
        match picture {
            CodedPicture::Jpeg(image) => self.decode(image).map_err(DecodeError::Jpeg),
            _ => Err(DecodeError::OtherCodec),
        }
    }
}

/// A picture that is being decoded, and the layout of its image.
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
            luma: Dequantiser::new(&image.tables.luma, NominalRange::LUMA),
            chroma: Dequantiser::new(&image.tables.chroma, NominalRange::CHROMA),
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

    /// Writes a block at a column and row of its plane, within the picture.
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
            // 4:2:2 has a chroma row for each luma row, so two of them make one row of the picture.
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
}

/// The table from quantised levels to samples, with the factors that the fast transform leaves.
struct Dequantiser {
    range: NominalRange,
    /// The position in the transposed block and the factor of each level, in zigzag order.
    factors: [(u8, f32); 64],
}

impl Dequantiser {
    fn new(table: &[u8; 64], range: NominalRange) -> Self {
        Self {
            factors: core::array::from_fn(|i| {
                let (row, column) = (ZIGZAG[i] / 8, ZIGZAG[i] % 8);
                let aan = AAN[usize::from(row)] * AAN[usize::from(column)];
                let factor = f32::from(table[i]) * aan / (8.0 * range.gain);
                (column * 8 + row, factor)
            }),
            range,
        }
    }

    /// Returns the samples of a block whose levels after `last` are zeros.
    fn samples(&self, levels: &[i32; 64], last: usize) -> [[u8; 8]; 8] {
        if last == 0 {
            let flat = self.range.sample(levels[0] as f32 * self.factors[0].1);
            return [[flat; 8]; 8];
        }
        let mut block: Block = [[0.0; 8]; 8];
        let cells = block.as_flattened_mut();
        for (level, (at, factor)) in levels[..=last].iter().zip(&self.factors) {
            cells[usize::from(at & 63)] = *level as f32 * factor;
        }
        dct::inverse(&mut block);
        block.map(|row| row.map(|distance| self.range.sample(distance)))
    }
}
