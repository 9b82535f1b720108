//! This file paints the view through the window: an evening sky, houses, a street, and lights that move along it.

use super::canvas::{PaintBounds, PaintCanvas, Tint, tint};
use super::plane::{PlanePoint, at, block, chance, circle, mix, noise_over, smooth, stroke};
use crate::picture::Picture;

/// The street has this many cars at once, in view or not.
const CAR_COUNT: u64 = 7;

/// Paints the view into the window's opening; `fine` is the seed of the details.
pub(super) fn paint(canvas: &mut PaintCanvas, window: PaintBounds, fine: u64) {
    canvas.paint(window, |p| (sky(window, fine, p), 1.0));
    for (far, colour) in [
        (0, tint(0x8E6B83)),
        (1, tint(0x5C4A68)),
        (2, tint(0x352E48)),
    ] {
        houses(canvas, window, fine ^ (0x20 + far), far, colour);
    }
    let road = road(window);
    canvas.fill(
        window,
        |p| road - 0.03 - p.y,
        |p| {
            // Wet asphalt has something of the sky.
            tint(0x2B2839)
                .to(
                    tint(0x7A5A5C),
                    0.5 * smooth(road - 0.03, window.most.y, p.y),
                )
                .lit(1.0 + 0.08 * noise_over(fine, at(p.x * 40.0, p.y * 160.0)))
        },
    );
    // Street lamps and their light.
    for step in 0..3_i16 {
        let x = mix(window.least.x, window.most.x, 0.28 + 0.32 * f32::from(step));
        let head = at(x, road - 0.12 - 0.012 * f32::from(step % 2));
        canvas.fill(
            window,
            |p| stroke(p, head, at(x, road), (0.0012, 0.0022)),
            |_| tint(0x201C2C),
        );
        canvas.paint(window, |p| {
            let glow = (p - head).length();
            (
                tint(0xFFD28A),
                0.75 * smooth(0.05, 0.0, glow) + smooth(0.009, 0.005, glow),
            )
        });
    }
}

/// Returns the height of the street in the picture.
fn road(window: PaintBounds) -> f32 {
    mix(window.least.y, window.most.y, 0.89)
}

fn sky(window: PaintBounds, fine: u64, p: PlanePoint) -> Tint {
    let height = (p.y - window.least.y) / (road(window) - window.least.y);
    let clear = tint(0x5A6CA6)
        .to(tint(0xA989AE), smooth(0.0, 0.38, height))
        .to(tint(0xEFA48A), smooth(0.28, 0.62, height))
        .to(tint(0xFFD797), smooth(0.58, 0.86, height));
    let drift = at(p.x * 5.0, p.y * 17.0);
    let cloud = noise_over(fine ^ 0x11, drift)
        + 0.5 * noise_over(fine ^ 0x12, drift * 2.3)
        + 0.25 * noise_over(fine ^ 0x13, drift * 5.1);
    let lit = tint(0xFFC9A8).to(tint(0xF08F86), smooth(0.5, 0.1, height));
    clear.to(
        lit,
        0.75 * smooth(0.05, 0.9, cloud) * smooth(0.9, 0.5, height),
    )
}

/// Paints a row of houses with lit windows; row 0 is the farthest.
fn houses(canvas: &mut PaintCanvas, window: PaintBounds, fine: u64, near: u64, colour: Tint) {
    let depth = near as f32;
    let ground = road(window);
    let (mut x, mut index) = (window.least.x - 0.03, 0);
    while x < window.most.x {
        let wide = mix(0.04, 0.085, chance(fine, index)) * (0.75 + 0.2 * depth);
        let tall = mix(0.10, 0.24, chance(fine ^ 9, index)) * (1.15 - 0.2 * depth);
        let half = at(wide / 2.0, tall / 2.0);
        let centre = at(x + half.x, ground - half.y);
        let gable = chance(fine ^ 10, index) < 0.5;
        let shape = |p: PlanePoint| {
            let walls = block(p, centre, half, 0.001);
            let slope = (p.x - centre.x).abs() * 0.7 + (centre.y - half.y - p.y) - half.x * 0.7;
            let roof = slope
                .max(p.y - centre.y)
                .max((p.x - centre.x).abs() - half.x);
            if gable { walls.min(roof) } else { walls }
        };
        canvas.fill(window, shape, |p| {
            colour.to(
                tint(0xC98F86),
                0.35 * smooth(centre.y - half.y, ground, p.y),
            )
        });
        let (pane, gap) = (0.005 + 0.0012 * depth, 0.013 + 0.004 * depth);
        let (columns, rows) = ((wide / gap) as i64, (tall / gap / 1.2) as i64);
        for cell in 0..columns * rows {
            let lit = chance(fine ^ 11, index * 1_000 + cell);
            if lit > 0.36 || near == 0 {
                continue;
            }
            let place = at(
                centre.x + ((cell % columns) as f32 + 0.5 - columns as f32 / 2.0) * gap,
                centre.y - half.y + ((cell / columns) as f32 + 0.8) * gap * 1.2,
            );
            canvas.fill(
                within(window, PaintBounds::around(place, 0.02)),
                |p| block(p, place, at(pane * 0.6, pane * 0.8), 0.0005),
                |_| tint(0xFFC873).to(tint(0xFFE9B8), lit * 2.0),
            );
        }
        x += wide + 0.002 * depth;
        index += 1;
    }
}

fn within(outer: PaintBounds, inner: PaintBounds) -> PaintBounds {
    PaintBounds::new(
        inner.least.x.max(outer.least.x),
        inner.least.y.max(outer.least.y),
        inner.most.x.min(outer.most.x),
        inner.most.y.min(outer.most.y),
    )
}

/// The traffic adds moving lights to the visible part of the street.
#[derive(Clone, Debug)]
pub(super) struct StreetTraffic {
    window: PaintBounds,
    unit: f32,
    origin: PlanePoint,
    fine: u64,
    /// The pixels from `corner` on that show the street and nothing before it.
    open: Vec<bool>,
    corner: (usize, usize),
    width: usize,
}

impl StreetTraffic {
    /// Returns the traffic of a view; `uncovered` has the canvas's pixels with nothing before the view.
    pub(super) fn new(
        canvas: &PaintCanvas,
        window: PaintBounds,
        fine: u64,
        uncovered: &[bool],
    ) -> Self {
        let clip = |value: f32, side: usize| (value.max(0.0) as usize).min(side);
        let top = at(window.least.x, road(window) - 0.05) * canvas.unit + canvas.origin;
        let bottom = window.most * canvas.unit + canvas.origin;
        let corner = (
            clip(top.x, canvas.width) & !1,
            clip(top.y, canvas.height) & !1,
        );
        let (right, end) = (clip(bottom.x, canvas.width), clip(bottom.y, canvas.height));
        let rows = (corner.1..end).map(|y| y * canvas.width);
        Self {
            window,
            unit: canvas.unit,
            origin: canvas.origin,
            fine,
            open: rows
                .flat_map(|row| &uncovered[row + corner.0.min(right)..row + right])
                .copied()
                .collect(),
            corner,
            width: right.saturating_sub(corner.0),
        }
    }

    /// Adds the lights to a picture.
    pub(super) fn draw(&self, millis: u64, picture: &mut Picture) {
        for car in 0..CAR_COUNT {
            let away = car % 2 == 0;
            let period = 9_000 + (chance(self.fine ^ 0x31, car as i64) * 9_000.0) as u64;
            let start = (chance(self.fine ^ 0x32, car as i64) * period as f32) as u64;
            let share = ((millis + start) % period) as f32 / period as f32;
            let share = if away { share } else { 1.0 - share };
            let x = mix(self.window.least.x - 0.1, self.window.most.x + 0.1, share);
            let y = road(self.window) + if away { 0.006 } else { 0.024 };
            let colour = tint(if away { 0xFF3B2E } else { 0xFFF3D0 });
            for lamp in [0.0, 0.012] {
                self.glow(picture, at(x + lamp, y), colour);
            }
        }
    }

    fn glow(&self, picture: &mut Picture, place: PlanePoint, colour: Tint) {
        if self.width == 0 {
            return;
        }
        let reach = 0.022;
        let video = colour.video();
        let centre = place * self.unit + self.origin;
        let radius = reach * self.unit;
        let clip = |value: f32, most: usize| (value.max(0.0) as usize).min(most);
        let (right, bottom) = (
            self.corner.0 + self.width,
            self.corner.1 + self.open.len() / self.width,
        );
        let columns =
            clip(centre.x - radius, right).max(self.corner.0)..clip(centre.x + radius + 1.0, right);
        let rows = clip(centre.y - radius, bottom).max(self.corner.1)
            ..clip(centre.y + radius + 1.0, bottom);
        let (width, chroma_width) = (picture.width(), picture.chroma_width());
        let planes = picture.planes_mut();
        for y in rows {
            for x in columns.clone() {
                let distance = circle(at(x as f32 + 0.5, y as f32 + 0.5), centre, 0.0) / self.unit;
                let light = 0.5 * smooth(reach, 0.0, distance) + smooth(0.006, 0.003, distance);
                if !self.open[(y - self.corner.1) * self.width + x - self.corner.0] {
                    continue;
                }
                let light = light.min(1.0);
                let blend = |sample: &mut u8, part: f32| {
                    *sample = (mix(f32::from(*sample), part, light) + 0.5) as u8;
                };
                blend(&mut planes[0][y * width + x], video[0]);
                if x % 2 == 0 && y % 2 == 0 {
                    let index = y / 2 * chroma_width + x / 2;
                    blend(&mut planes[1][index], video[1]);
                    blend(&mut planes[2][index], video[2]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sky_grows_lighter_towards_the_roofs() {
        let window = PaintBounds::new(-0.5, 0.1, -0.1, 0.6);
        let [high, low] = [0.12, 0.45].map(|y| sky(window, 1, at(-0.3, y)).video()[0]);
        assert!(low > high + 20.0);
    }
}
