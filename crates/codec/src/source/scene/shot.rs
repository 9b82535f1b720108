//! One camera position: a backdrop, the objects before it, and their motion.

use super::noise::{Grain, Texture};
use crate::picture::{BLACK, Picture, WHITE};
use crate::source::random::Random;

/// Objects in a shot.
const OBJECTS: usize = 5;

/// The divisor of the picture's height that gives the camera's range beyond the picture.
const MARGIN: usize = 4;

/// The steps in a pixel of camera motion.
const STEPS: usize = 8;

/// A camera position.
#[derive(Debug)]
pub(super) struct Shot {
    backdrop: [Texture; 3],
    objects: Vec<Object>,
    /// The milliseconds of the camera's motion and return, across and down.
    periods: [u64; 2],
}

/// A disc of fine texture that crosses the picture.
#[derive(Debug)]
struct Object {
    texture: Texture,
    radius: usize,
    colour: [u8; 2],
    /// The milliseconds to cross and return, across and down.
    periods: [u64; 2],
    /// The object's position in its period when the scene begins.
    start: u64,
}

impl Shot {
    pub(super) fn new(look: usize, width: usize, height: usize, random: &mut Random) -> Self {
        // One more column and row serve the blend of neighbours.
        let margin = (height / MARGIN).max(2) + 2;
        let (w, h) = (width + margin, height + margin);
        let coarsest = (height / 2).next_power_of_two().max(16);
        let luma = Grain {
            cells: (2, coarsest),
            ..SHOT_GRAINS[look % SHOT_GRAINS.len()]
        };
        let chroma = Grain {
            cells: (8, coarsest),
            finest: 24,
            growth: 150,
            level: 128,
        };
        let mut backdrop = Texture::noise(w, h, luma, random);
        build(&mut backdrop, random);
        let [cb, cr] = [(); 2].map(|()| Texture::noise(w / 2 + 2, h / 2 + 2, chroma, random));
        Self {
            backdrop: [backdrop, cb, cr],
            objects: (0..OBJECTS).map(|_| Object::new(height, random)).collect(),
            periods: [(); 2].map(|()| random.between(9_000, 17_000) as u64),
        }
    }

    pub(super) fn draw(&self, millis: u64, picture: &mut Picture) {
        let (width, height) = (picture.width(), picture.height());
        let margin = self.backdrop[0].width - width - 2;
        let [x, y] = self
            .periods
            .map(|period| swing(millis, period, margin * STEPS));
        let [luma, cb, cr] = picture.planes_mut();
        for (row, to) in luma.chunks_mut(width).enumerate() {
            blend(&self.backdrop[0], (x, y + row * STEPS), to);
        }
        let columns = width.div_ceil(2);
        for (texture, plane) in self.backdrop[1..].iter().zip([cb, cr]) {
            for (row, to) in plane.chunks_mut(columns).enumerate() {
                let from = texture.row(x / STEPS / 2, y / STEPS / 2 + row, columns);
                to.copy_from_slice(from);
            }
        }
        for object in &self.objects {
            object.draw(millis, picture, (width, height));
        }
    }
}

impl Object {
    fn new(height: usize, random: &mut Random) -> Self {
        let radius = (height / random.between(8, 20) as usize).max(2);
        let grain = Grain {
            cells: (2, 8),
            finest: 16 * random.between(6, 14),
            growth: 120,
            level: random.between(80, 180),
        };
        Self {
            texture: Texture::noise(2 * radius, 2 * radius, grain, random),
            radius,
            colour: [(); 2].map(|()| random.between(80, 176) as u8),
            periods: [(); 2].map(|()| random.between(3_000, 11_000) as u64),
            start: random.between(0, 60_000) as u64,
        }
    }

    /// Draws the disc; it may leave the picture by half.
    fn draw(&self, millis: u64, picture: &mut Picture, (width, height): (usize, usize)) {
        let [across, down] = self.periods;
        let time = millis + self.start;
        let centre = (swing(time, across, width), swing(time, down, height));
        let [luma, cb, cr] = picture.planes_mut();
        let radius = self.radius;
        for row in 0..2 * radius {
            let Some(y) = (centre.1 + row).checked_sub(radius).filter(|&y| y < height) else {
                continue;
            };
            let down = row.abs_diff(radius);
            let half = (radius * radius - down * down).isqrt();
            let left = centre.0.saturating_sub(half);
            let right = (centre.0 + half).min(width);
            // The texture moves with the disc, even where the picture's edge cuts the disc.
            let from = left + radius - centre.0;
            let to = &mut luma[y * width + left..y * width + right];
            to.copy_from_slice(&self.texture.row(0, row, 2 * radius)[from..][..right - left]);
            let columns = width.div_ceil(2);
            let span = y / 2 * columns + left / 2..y / 2 * columns + right / 2;
            cb[span.clone()].fill(self.colour[0]);
            cr[span].fill(self.colour[1]);
        }
    }
}

/// The looks of the shots: haze, masonry, foliage.
const SHOT_GRAINS: [Grain; 3] = [
    Grain {
        cells: (2, 2),
        finest: 50,
        growth: 155,
        level: 140,
    },
    Grain {
        cells: (2, 2),
        finest: 66,
        growth: 135,
        level: 125,
    },
    Grain {
        cells: (2, 2),
        finest: 88,
        growth: 130,
        level: 115,
    },
];

/// Builds rows of houses with windows on the texture, for hard edges, which noise does not have: farther rows are
/// smaller and behind.
fn build(texture: &mut Texture, random: &mut Random) {
    let height = texture.height;
    for depth in (1..=STREETS).rev() {
        let ground = height - height * (depth - 1) / (STREETS + 1);
        let storey = (height / (20 + 8 * depth)).clamp(4, 14);
        // The tallest house has a third of the picture, in storeys.
        let tallest = (height / (3 * storey)).max(2) as i32;
        let mut x = 0;
        while x < texture.width {
            let house = House {
                left: x,
                top: ground.saturating_sub(storey * random.between(2, tallest) as usize),
                ground,
                storey,
                windows: random.between(3, 7) as usize,
                shade: random.between(-45, 45) as i16,
            };
            house.draw(texture, random);
            x += house.width() + random.between(0, storey as i32) as usize;
        }
    }
}

/// The number of rows of houses.
const STREETS: usize = 3;

/// A box of another brightness than the texture under it, with lit and dark windows.
struct House {
    left: usize,
    top: usize,
    ground: usize,
    storey: usize,
    windows: usize,
    shade: i16,
}

impl House {
    fn width(&self) -> usize {
        self.windows * self.storey
    }

    fn draw(&self, texture: &mut Texture, random: &mut Random) {
        tint(
            texture,
            self.left,
            self.top,
            (self.width(), self.ground - self.top),
            self.shade,
        );
        let pane = self.storey / 2;
        for y in (self.top + pane / 2..self.ground).step_by(self.storey) {
            for i in 0..self.windows {
                let x = self.left + i * self.storey + pane / 2;
                let light = random.between(-60, 60) as i16;
                tint(texture, x, y, (pane, pane), light);
            }
        }
    }
}

/// Adds `shade` to a rectangle, within the texture.
fn tint(texture: &mut Texture, x: usize, y: usize, (w, h): (usize, usize), shade: i16) {
    for row in texture.samples.chunks_mut(texture.width).skip(y).take(h) {
        for sample in row.iter_mut().skip(x).take(w) {
            *sample = (i16::from(*sample) + shade).clamp(BLACK.into(), WHITE.into()) as u8;
        }
    }
}

/// Returns a row of the texture at a position in [`STEPS`] of a pixel, blended from its neighbours.
fn blend(texture: &Texture, (x, y): (usize, usize), to: &mut [u8]) {
    let (right, down) = ((x % STEPS) as u16, (y % STEPS) as u16);
    let (left, up) = (STEPS as u16 - right, STEPS as u16 - down);
    let [above, below] = [0, 1].map(|i| texture.row(x / STEPS, y / STEPS + i, to.len() + 1));
    for (i, sample) in to.iter_mut().enumerate() {
        let upper = u16::from(above[i]) * left + u16::from(above[i + 1]) * right;
        let lower = u16::from(below[i]) * left + u16::from(below[i + 1]) * right;
        *sample = ((upper * up + lower * down + 32) / 64) as u8;
    }
}

/// Returns a position from 0 to `extent` and back in `period` milliseconds, slow at both ends.
fn swing(millis: u64, period: u64, extent: usize) -> usize {
    // Half a period has 1024 steps, weighted by 3t² - 2t³.
    let phase = millis % period * 2048 / period;
    let t = phase.min(2048 - phase);
    let eased = (3 * t * t * 1024 - 2 * t * t * t) >> 10;
    (eased as usize * extent) >> 20
}

/// Returns the light in 1/128: it varies by an eighth in ten seconds, and each quarter minute a lamp is on for
/// three seconds.
pub(super) fn light(millis: u64) -> u16 {
    let lamp = if millis % 15_000 >= 12_000 { 20 } else { 0 };
    112 + lamp + swing(millis, 10_000, 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swing_reaches_both_ends_and_starts_again() {
        assert_eq!(swing(0, 4_000, 100), 0);
        assert_eq!(swing(2_000, 4_000, 100), 100);
        assert_eq!(swing(1_000, 4_000, 100), 50);
        assert_eq!(swing(4_000, 4_000, 100), 0);
        assert!(swing(u64::MAX, 3_001, 2040 * STEPS) <= 2040 * STEPS);
    }

    #[test]
    fn light_never_overflows_a_product_with_a_sample() {
        for millis in (0..60_000).step_by(10) {
            assert!((112..=160).contains(&light(millis)));
        }
    }
}
