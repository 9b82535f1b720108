//! Shows a frame of DV without decoding it: the mean of each 8x8 samples (IEC 61834-2, SMPTE 314M §5).
//!
//! The mean begins the code of each block. A video block of 80 bytes has a macroblock: four blocks of luma in 14
//! bytes each, then Cr and Cb in 10. The five macroblocks of a segment come from five columns of the picture. Each
//! column is cut into superblocks of 27 macroblocks from top to bottom, one for each DIF sequence.

use crate::dif::{BLOCK, BlockId, SEQUENCE_BLOCKS, System, VIDEO_BLOCKS};
use crate::picture::{DvFrame, Picture};

/// The column of superblocks for macroblocks 0 to 4 of a segment, and the offset of its sequence.
const COLUMNS: [(usize, usize); 5] = [(2, 2), (1, 6), (3, 8), (0, 0), (4, 4)];

/// The offsets of the codes of Y, Cr and Cb in a video block.
const LUMA: [usize; 4] = [4, 18, 32, 46];
const CR: usize = 60;
const CB: usize = 70;

/// The side of a block, which has one mean.
const SIDE: usize = 8;

/// Returns the picture of block means.
pub(super) fn of(frame: &DvFrame) -> Picture {
    let (width, height) = frame.system.size();
    let mut picture = Picture::new(width, height);
    let [y, cb, cr] = picture.planes_mut();
    for (place, block) in frame.data.chunks_exact(BLOCK).enumerate() {
        let within = place % SEQUENCE_BLOCKS;
        // After the header, subcode and VAUX, each block of sound precedes fifteen of video.
        if within < 6 || (within - 6).is_multiple_of(16) {
            continue;
        }
        let id = BlockId::at(place);
        let place = Place::of(frame.system, id.sequence.into(), id.number.into());
        for (index, at) in LUMA.into_iter().enumerate() {
            let (x, row) = place.luma(index);
            paint(y, width, (x, row), (SIDE, SIDE), mean(block, at));
        }
        let (corner, size) = place.chroma();
        paint(cr, width / 2, corner, size, mean(block, CR));
        paint(cb, width / 2, corner, size, mean(block, CB));
    }
    picture
}

/// Reads the mean from the first nine bits of a block's code: twice the mean, from -256 to 255, of samples less
/// 128.
fn mean(block: &[u8], at: usize) -> u8 {
    let &[high, low] = block
        .get(at..at + 2)
        .and_then(|code| code.first_chunk())
        .unwrap_or(&[0; 2]);
    let doubled = i16::from_be_bytes([high, low]) >> 7;
    (128 + doubled / 2).clamp(0, 255) as u8
}

fn paint(plane: &mut [u8], width: usize, (x, y): (usize, usize), size: (usize, usize), value: u8) {
    for row in plane.chunks_exact_mut(width).skip(y).take(size.1) {
        row[x..x + size.0].fill(value);
    }
}

/// The place of a macroblock in the picture, and the arrangement of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    x: usize,
    y: usize,
    /// True for two blocks of luma above two; else there are four in a row.
    square: bool,
    /// True if chroma has the sampling 4:2:0; else it is 4:1:1.
    yuv420: bool,
}

impl Place {
    /// Returns the place of video block `number` in a DIF sequence.
    fn of(system: System, sequence: usize, number: usize) -> Self {
        debug_assert!(number < usize::from(VIDEO_BLOCKS));
        let (column, further) = COLUMNS[number % COLUMNS.len()];
        let row = (sequence + further) % system.sequences();
        // The macroblocks of a superblock run down, up and down again.
        let nth = number / COLUMNS.len();
        match system {
            System::Lines625 => {
                let (across, down) = serpentine(nth, 3);
                Self {
                    x: 16 * (9 * column + across),
                    y: 16 * (3 * row + down),
                    square: true,
                    yuv420: true,
                }
            }
            System::Lines525 => {
                // 22 macroblocks of 32x8 and half a one make a row, and 4 1/2 a column. The second and the fourth
                // column begin with the lower half of the rest of the column before.
                let first = [0, 4, 9, 13, 18][column];
                let skipped = if column % 2 == 1 { 3 } else { 0 };
                let (across, down) = serpentine(nth + skipped, 6);
                let across = first + across;
                let last = across == 22;
                Self {
                    x: 32 * across,
                    y: 8 * (6 * row + if last { 2 * down } else { down }),
                    square: last,
                    yuv420: false,
                }
            }
        }
    }

    /// Returns the upper left sample of a block of luma.
    const fn luma(self, index: usize) -> (usize, usize) {
        if self.square {
            (self.x + SIDE * (index % 2), self.y + SIDE * (index / 2))
        } else {
            (self.x + SIDE * index, self.y)
        }
    }

    /// Returns the upper left sample of the chroma in a picture of 4:2:0, then its width and height.
    const fn chroma(self) -> ((usize, usize), (usize, usize)) {
        let size = if self.yuv420 || self.square {
            (SIDE, SIDE)
        } else {
            (2 * SIDE, SIDE / 2)
        };
        ((self.x / 2, self.y / 2), size)
    }
}

/// Returns the column and row of number `nth` in a sequence that runs down `rows`, up the next column, and so on.
const fn serpentine(nth: usize, rows: usize) -> (usize, usize) {
    let (across, along) = (nth / rows, nth % rows);
    let down = if across.is_multiple_of(2) {
        along
    } else {
        rows - 1 - along
    };
    (across, down)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macroblocks_cover_the_picture_once() {
        for system in System::ALL {
            let (width, height) = system.size();
            let mut luma = vec![0; width * height];
            let mut chroma = vec![0; width * height / 4];
            for sequence in 0..system.sequences() {
                for number in 0..usize::from(VIDEO_BLOCKS) {
                    let place = Place::of(system, sequence, number);
                    for index in 0..4 {
                        let (x, y) = place.luma(index);
                        count(&mut luma, width, (x, y), (SIDE, SIDE));
                    }
                    let (corner, size) = place.chroma();
                    count(&mut chroma, width / 2, corner, size);
                }
            }
            assert!(luma.iter().chain(&chroma).all(|&times| times == 1));
        }
    }

    fn count(plane: &mut [u8], width: usize, (x, y): (usize, usize), size: (usize, usize)) {
        for row in plane.chunks_exact_mut(width).skip(y).take(size.1) {
            row[x..x + size.0].iter_mut().for_each(|times| *times += 1);
        }
    }

    #[test]
    fn mean_is_half_of_nine_bits() {
        for (code, expected) in [
            ([0x00, 0x00], 128),
            ([0x7f, 0x80], 255),
            ([0x80, 0x00], 0),
            // The mean of -224 is black; bits of other fields follow it.
            ([0x90, 0x06], 16),
        ] {
            assert_eq!(mean(&code, 0), expected, "{code:?}");
        }
        assert_eq!(mean(&[1], 0), 128);
    }
}
