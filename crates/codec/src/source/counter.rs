//! Draws the picture's number in its upper left corner.

use crate::picture::{BLACK, GREY, Picture, WHITE};

/// The rows of three pixels of the digits 0 to 9, the left pixel worth 4.
const DIGITS: [[u8; 5]; 10] = [
    [7, 5, 5, 5, 7],
    [2, 6, 2, 2, 7],
    [7, 1, 7, 4, 7],
    [7, 1, 3, 1, 7],
    [5, 5, 7, 1, 1],
    [7, 4, 7, 1, 7],
    [7, 4, 7, 5, 7],
    [7, 1, 1, 2, 2],
    [7, 5, 7, 5, 7],
    [7, 5, 7, 1, 7],
];

/// The number of digits; the count starts again after a million pictures.
const COUNT: u32 = 6;

/// The cells of the field: four a digit with the gap, and a margin.
const COLUMNS: usize = 4 * COUNT as usize + 1;
const ROWS: usize = 7;

/// Draws `index` in white on black; digits that do not fit are cut.
pub(super) fn draw(picture: &mut Picture, index: u64) {
    let (width, height) = (picture.width(), picture.height());
    let size = (height / 120).max(1);
    let luma = &mut *picture.planes_mut()[0];
    for (y, row) in luma.chunks_mut(width).take(ROWS * size).enumerate() {
        for (x, sample) in row.iter_mut().take(COLUMNS * size).enumerate() {
            *sample = if lit(index, x / size, y / size) {
                WHITE
            } else {
                BLACK
            };
        }
    }
    let columns = width.div_ceil(2);
    let (across, down) = ((COLUMNS * size).div_ceil(2), (ROWS * size).div_ceil(2));
    let [_, cb, cr] = picture.planes_mut();
    for plane in [cb, cr] {
        for row in plane.chunks_mut(columns).take(down.min(height)) {
            row.iter_mut()
                .take(across)
                .for_each(|sample| *sample = GREY);
        }
    }
}

fn lit(index: u64, column: usize, row: usize) -> bool {
    let (Some(column), Some(row)) = (column.checked_sub(1), row.checked_sub(1)) else {
        return false;
    };
    let place = COUNT - 1 - (column / 4) as u32;
    let digit = index / 10_u64.pow(place) % 10;
    let pixels = DIGITS[digit as usize].get(row).copied().unwrap_or(0);
    column % 4 < 3 && pixels & (4 >> (column % 4)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_their_places() {
        // The right edge of the last digit is complete in 3, and its upper half in 4, too.
        let last = 4 * 5 + 1;
        assert!(lit(3, last, 1) && lit(3, last + 2, 4));
        assert!(!lit(4, last + 1, 1));
        assert!(!lit(0, 0, 0) && !lit(0, 4, 1));
    }

    #[test]
    fn a_small_picture_cuts_the_field() {
        let mut picture = Picture::new(16, 16);
        draw(&mut picture, 123);
        assert_eq!(picture.planes()[0][16 * 16 - 1], BLACK);
        assert!(picture.planes()[0].contains(&WHITE));
    }
}
