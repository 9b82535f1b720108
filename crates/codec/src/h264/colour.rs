//! Converts decoded pictures to the colours of [`Picture`](crate::picture::Picture): the matrix of BT.601, video levels.

use evenkeel_h264::Colour;

use crate::picture::{BLACK, CHROMA, GREY, HD_ROWS, WHITE};

/// The weights of red and blue in luma (H.264 table E-5).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Matrix {
    red: f32,
    blue: f32,
}

impl Matrix {
    const BT601: Self = Self {
        red: 0.299,
        blue: 0.114,
    };

    /// Returns the matrix of a picture, or ours if the number names one that is not read. An unspecified matrix is guessed
    /// by the size, as for files.
    fn of(colour: Colour, (_, rows): (usize, usize)) -> Self {
        let (red, blue) = match colour.matrix {
            1 => (0.2126, 0.0722),
            2 if rows >= HD_ROWS => (0.2126, 0.0722),
            4 => (0.30, 0.11),
            7 => (0.212, 0.087),
            9 | 10 => (0.2627, 0.0593),
            _ => return Self::BT601,
        };
        Self { red, blue }
    }

    fn green(self) -> f32 {
        1.0 - self.red - self.blue
    }

    /// Returns the differences blue, green and red less luma for a Cb and a Cr of 1.
    fn differences(self) -> [[f32; 2]; 3] {
        let (blue, red) = (2.0 * (1.0 - self.blue), 2.0 * (1.0 - self.red));
        let green = self.green();
        [
            [blue, 0.0],
            [-blue * self.blue / green, -red * self.red / green],
            [0.0, red],
        ]
    }
}

/// The factors from samples of one kind to ours, of distances from black and from grey.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    black: f32,
    luma: f32,
    /// Luma by Cb and Cr.
    luma_by_chroma: [f32; 2],
    /// Cb and Cr, each by Cb and Cr.
    chroma: [[f32; 2]; 2],
}

impl Conversion {
    fn new(from: Matrix, is_full_range: bool) -> Self {
        let [blue, green, red] = from.differences();
        let to = Matrix::BT601;
        let weighted = |i: usize| to.blue * blue[i] + to.green() * green[i] + to.red * red[i];
        let luma = [weighted(0), weighted(1)];
        let chroma = |primary: [f32; 2], weight: f32| {
            [0, 1].map(|i| (primary[i] - luma[i]) / (2.0 * (1.0 - weight)))
        };
        let (lumas, chromas) = (f32::from(WHITE - BLACK), f32::from(CHROMA.1 - CHROMA.0));
        let (luma_range, chroma_range) = if is_full_range {
            (255.0, 255.0)
        } else {
            (lumas, chromas)
        };
        Self {
            black: if is_full_range { 0.0 } else { BLACK.into() },
            luma: lumas / luma_range,
            luma_by_chroma: luma.map(|factor| factor * lumas / chroma_range),
            chroma: [chroma(blue, to.blue), chroma(red, to.red)]
                .map(|row| row.map(|factor| factor * chromas / chroma_range)),
        }
    }
}

/// Converts samples of a picture with even sides, as the decoder gives them, to our colours.
pub(super) fn convert(samples: &mut [u8], size: (usize, usize), colour: Colour) {
    let matrix = Matrix::of(colour, size);
    if matrix == Matrix::BT601 && !colour.is_full_range {
        return;
    }
    let conversion = Conversion::new(matrix, colour.is_full_range);
    let (width, height) = size;
    let (luma, chroma) = samples.split_at_mut(width * height);
    let (cb, cr) = chroma.split_at_mut(chroma.len() / 2);
    let lumas: [f32; 256] = std::array::from_fn(|sample| {
        (sample as f32 - conversion.black) * conversion.luma + f32::from(BLACK)
    });
    let grey = f32::from(GREY);
    for (index, (cb, cr)) in cb.iter_mut().zip(cr).enumerate() {
        let by = |[by_cb, by_cr]: [f32; 2], cb: u8, cr: u8| {
            by_cb * (f32::from(cb) - grey) + by_cr * (f32::from(cr) - grey)
        };
        let offset = by(conversion.luma_by_chroma, *cb, *cr);
        let first = index / (width / 2) * 2 * width + index % (width / 2) * 2;
        for place in [first, first + 1, first + width, first + width + 1] {
            luma[place] = rounded(lumas[usize::from(luma[place])] + offset);
        }
        let converted = conversion
            .chroma
            .map(|row| rounded(grey + by(row, *cb, *cr)));
        [*cb, *cr] = converted;
    }
}

fn rounded(sample: f32) -> u8 {
    (sample + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a picture of one colour, in samples of this matrix.
    fn picture(rgb: [f32; 3], matrix: Matrix, is_full_range: bool) -> Vec<u8> {
        let [red, green, blue] = rgb.map(|sample| sample / 255.0);
        let luma = matrix.red * red + matrix.green() * green + matrix.blue * blue;
        let cb = (blue - luma) / (2.0 * (1.0 - matrix.blue));
        let cr = (red - luma) / (2.0 * (1.0 - matrix.red));
        let (black, lumas, chromas) = if is_full_range {
            (0.0, 255.0, 255.0)
        } else {
            (16.0, 219.0, 224.0)
        };
        let [luma, cb, cr] = [
            black + luma * lumas,
            128.0 + cb * chromas,
            128.0 + cr * chromas,
        ]
        .map(rounded);
        [[luma; 64].as_slice(), &[cb; 16], &[cr; 16]].concat()
    }

    #[test]
    fn colours_are_ours_whatever_matrix_and_range() {
        for rgb in [
            [0.0, 188.0, 0.0],
            [255.0, 0.0, 0.0],
            [20.0, 40.0, 230.0],
            [255.0; 3],
            [0.0; 3],
            [200.0, 180.0, 40.0],
        ] {
            let expected = picture(rgb, Matrix::BT601, false);
            for matrix in [1, 2, 4, 5, 6, 7, 9] {
                for is_full_range in [false, true] {
                    let colour = Colour {
                        matrix,
                        is_full_range,
                    };
                    let mut shown = picture(rgb, Matrix::of(colour, (8, 8)), is_full_range);
                    convert(&mut shown, (8, 8), colour);
                    let is_near = |(a, b): (&u8, &u8)| a.abs_diff(*b) <= 1;
                    assert!(
                        shown.iter().zip(&expected).all(is_near),
                        "{rgb:?}, {colour:?}: {shown:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn each_sample_is_converted_with_its_chroma() {
        let (green, red) = ([0.0, 188.0, 0.0], [188.0, 0.0, 0.0]);
        let colour = Colour {
            matrix: 1,
            is_full_range: false,
        };
        let two = |matrix| {
            let halves = [green, red].map(|rgb| picture(rgb, matrix, false));
            // Columns 0 to 3 of each row are green, the others red.
            let mut both = halves[0].clone();
            for (place, sample) in both.iter_mut().enumerate() {
                let column = if place < 64 { place % 8 / 2 } else { place % 4 };
                *sample = halves[usize::from(column >= 2)][place];
            }
            both
        };
        let mut shown = two(Matrix::of(colour, (8, 8)));
        convert(&mut shown, (8, 8), colour);
        let expected = two(Matrix::BT601);
        assert!(
            shown
                .iter()
                .zip(&expected)
                .all(|(a, b)| a.abs_diff(*b) <= 1)
        );
    }
}
