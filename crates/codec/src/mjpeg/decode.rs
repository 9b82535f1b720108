//! From restart intervals to a picture, with what is missing taken from the picture before.

use super::bits::{BitReader, BlockDecoder, CHROMA, Damaged, LUMA};
use super::conceal::conceal;
use super::dct::{self, AAN, Block};
use super::encode::{MAX_SIDE, chunk};
use super::range::NominalRange;
use super::tables::ZIGZAG;
use crate::coder::{DecodeError, Decoded, JpegImageError, VideoDecoder};
use crate::picture::{CodedPicture, JpegImage, Picture, Sampling};
use crate::resize::fitted;

/// Decodes a stream of images; remembers the last picture for concealment.
#[derive(Debug, Default)]
pub struct Decoder {
    previous: Option<Picture>,
}

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
}

pub(super) fn plane_size(picture: &Picture, plane: usize) -> (usize, usize) {
    match plane {
        0 => (picture.width(), picture.height()),
        _ => (picture.chroma_width(), picture.chroma_height()),
    }
}

/// Where MCUs and their blocks lie.
pub(super) struct Layout {
    /// MCUs in a row.
    pub(super) columns: usize,
    pub(super) sampling: Sampling,
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
    pub(super) fn extent(&self, plane: usize) -> (usize, usize) {
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

    pub(super) fn origin(&self, mcu: usize, plane: usize) -> (usize, usize) {
        let (across, down) = self.extent(plane);
        (mcu % self.columns * across, mcu / self.columns * down)
    }
}

/// Quantised levels to samples: the table, and the factors that the fast transform leaves.
struct Dequantiser {
    range: NominalRange,
    /// Position in the transposed block, and its factor, in zigzag order.
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

    /// Samples of a block whose levels after `last` are zeros.
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

#[cfg(test)]
mod tests {
    use super::super::{Scale, encode};
    use super::*;
    use crate::picture::QuantTables;
    use crate::quality::luma_psnr;
    use proptest::prelude::*;

    /// A slanted ramp with a bright bar, so that every block differs.
    fn picture(width: usize, height: usize, bar: usize) -> Picture {
        let mut picture = Picture::new(width, height);
        let [y, cb, cr] = picture.planes_mut();
        for (i, sample) in y.iter_mut().enumerate() {
            let (column, row) = (i % width, i / width);
            *sample = if column / 3 == bar {
                220
            } else {
                (40 + column + 2 * row) as u8
            };
        }
        cb.fill(90);
        cr.fill(170);
        picture
    }

    fn coded(width: usize, height: usize, bar: usize) -> JpegImage {
        encode(&picture(width, height, bar), Scale::from_quality(90.0)).expect("small")
    }

    #[test]
    fn a_whole_image_is_near_its_original_at_any_size() {
        for (width, height) in [(1, 1), (16, 16), (17, 15), (40, 24), (33, 65)] {
            let original = picture(width, height, 2);
            let decoded = Decoder::new()
                .decode(&coded(width, height, 2))
                .expect("valid");
            assert_eq!(decoded.concealed, 0);
            let psnr = luma_psnr(&original, &decoded.picture).expect("same size");
            assert!(psnr > 35.0, "{width}x{height}: {psnr}");
            let far = |plane: usize| {
                let planes = (original.planes()[plane], decoded.picture.planes()[plane]);
                planes
                    .0
                    .iter()
                    .zip(planes.1)
                    .map(|(a, b)| a.abs_diff(*b))
                    .max()
            };
            assert!(far(1) <= Some(2) && far(2) <= Some(2));
        }
    }

    #[test]
    fn a_missing_interval_is_shown_as_it_was_before_where_nothing_changes_beside_it() {
        let mut decoder = Decoder::new();
        let before = decoder.decode(&coded(40, 48, 2)).expect("valid").picture;
        let mut image = coded(40, 48, 9);
        image.intervals[1] = None;
        let whole = Decoder::new()
            .decode(&coded(40, 48, 9))
            .expect("valid")
            .picture;
        let decoded = decoder.decode(&image).expect("valid");
        assert_eq!(decoded.concealed, 1);
        let rows =
            |picture: &Picture, from: usize| picture.planes()[0][from * 40..][..640].to_vec();
        assert_eq!(rows(&decoded.picture, 0), rows(&whole, 0));
        assert_eq!(rows(&decoded.picture, 32), rows(&whole, 32));
        // The bar was at 6 to 8 and is at 27 to 29; those are blocks from 0, 8 and 24 on.
        for (shown, before) in rows(&decoded.picture, 16)
            .chunks(40)
            .zip(rows(&before, 16).chunks(40))
        {
            assert_eq!(shown[16..24], before[16..24]);
            assert_eq!(shown[32..], before[32..]);
        }
        let (first, last) = ((16 * 40) + 28, (31 * 40) + 28);
        for at in [first, last] {
            let [shown, before] = [&decoded.picture, &before].map(|p| p.planes()[0][at]);
            assert!(shown > before, "{shown} {before}");
        }
        assert_eq!(
            decoded.picture.planes()[1][160..320],
            before.planes()[1][160..320]
        );
    }

    #[test]
    fn a_damaged_interval_leaves_its_neighbours_alone() {
        let mut image = coded(40, 48, 9);
        let whole = Decoder::new().decode(&image).expect("valid").picture;
        let interval = image.intervals[1].as_mut().expect("coded");
        interval.truncate(interval.len() / 2);
        let decoded = Decoder::new().decode(&image).expect("valid");
        assert_eq!(decoded.concealed, 1);
        let luma = decoded.picture.planes()[0];
        assert_eq!(luma[..640], whole.planes()[0][..640]);
        assert_eq!(luma[640..1280], [16; 640]);
        assert_eq!(luma[1280..], whole.planes()[0][1280..]);
    }

    #[test]
    fn a_half_is_concealed_by_the_whole_before_it_and_a_whole_by_the_half() {
        let mut decoder = Decoder::new();
        for side in [96, 48, 96] {
            let whole = coded(side, side, 2);
            let mut lost = whole.clone();
            lost.intervals.fill(None);
            let before = decoder.previous.clone();
            let decoded = decoder.decode(&lost).expect("valid").picture;
            let fitting = before.map(|b| fitted(&b, (side, side)).unwrap().into_owned());
            assert_eq!(decoded, fitting.unwrap_or(Picture::new(side, side)));
            decoder.decode(&whole).expect("valid");
        }
    }

    #[test]
    fn a_picture_of_another_size_conceals_nothing() {
        let mut decoder = Decoder::new();
        decoder.decode(&coded(48, 48, 2)).expect("valid");
        let mut image = coded(40, 48, 2);
        image.intervals.fill(None);
        let decoded = decoder.decode(&image).expect("valid");
        assert_eq!(
            (decoded.concealed, decoded.picture),
            (3, Picture::new(40, 48))
        );
    }

    #[test]
    fn sizes_and_intervals_that_cannot_be_are_refused() {
        let mut image = coded(40, 48, 2);
        image.intervals.pop();
        let error = Decoder::new().decode(&image).expect_err("too few");
        assert_eq!(
            error,
            JpegImageError::Intervals {
                found: 2,
                expected: 3
            }
        );
        image.width = 2041;
        let error = Decoder::new().decode(&image).expect_err("too wide");
        assert_eq!(
            error,
            JpegImageError::Size {
                width: 2041,
                height: 48
            }
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            width in 1_u16..70,
            height in 1_u16..70,
            half in any::<bool>(),
            table in any::<u8>(),
            restart_interval in 0_u16..5,
            bytes in proptest::collection::vec(
                proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40)),
                25,
            ),
        ) {
            let mut image = JpegImage {
                width,
                height,
                sampling: if half { Sampling::Yuv422 } else { Sampling::Yuv420 },
                tables: QuantTables { luma: [table; 64], chroma: [table; 64] },
                restart_interval,
                intervals: Vec::new(),
            };
            let pieces = match restart_interval {
                0 => 1,
                mcus => image.mcus().div_ceil(mcus.into()),
            };
            image.intervals = bytes.into_iter().cycle().take(pieces).collect();
            let mut decoder = Decoder::new();
            let decoded = decoder.decode(&image).expect("possible");
            prop_assert!(decoded.concealed <= pieces);
            prop_assert!(decoder.decode(&image).is_ok());
        }
    }
}
