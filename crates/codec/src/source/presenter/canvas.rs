//! This file has the canvas with transparency, on which the still parts of the presenter are painted once.

use super::plane::{PlanePoint, at, mix};

/// A colour has red, green and blue from 0 to 1, as a screen shows them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tint(pub(super) [f32; 3]);

/// Returns the colour of 0xRRGGBB.
pub(super) const fn tint(code: u32) -> Tint {
    let [_, red, green, blue] = code.to_be_bytes();
    Tint([
        red as f32 / 255.0,
        green as f32 / 255.0,
        blue as f32 / 255.0,
    ])
}

impl Tint {
    pub(super) fn to(self, other: Self, share: f32) -> Self {
        let share = share.clamp(0.0, 1.0);
        Self([0, 1, 2].map(|i| mix(self.0[i], other.0[i], share)))
    }

    pub(super) fn lit(self, factor: f32) -> Self {
        Self(self.0.map(|part| part * factor))
    }

    /// Returns Y, Cb and Cr with video's levels (ITU-R BT.601).
    pub(super) const fn video(self) -> [f32; 3] {
        let [red, green, blue] = [
            self.0[0].clamp(0.0, 1.0),
            self.0[1].clamp(0.0, 1.0),
            self.0[2].clamp(0.0, 1.0),
        ];
        let luma = 0.299 * red + 0.587 * green + 0.114 * blue;
        [
            16.0 + 219.0 * luma,
            128.0 + 224.0 * (blue - luma) / 1.772,
            128.0 + 224.0 * (red - luma) / 1.402,
        ]
    }
}

/// A rectangle limits what is painted; it has two corners.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaintBounds {
    pub(super) least: PlanePoint,
    pub(super) most: PlanePoint,
}

impl PaintBounds {
    pub(super) const fn new(left: f32, top: f32, right: f32, bottom: f32) -> Self {
        Self {
            least: at(left, top),
            most: at(right, bottom),
        }
    }

    pub(super) fn around(centre: PlanePoint, radius: f32) -> Self {
        let reach = at(radius, radius);
        Self {
            least: centre - reach,
            most: centre + reach,
        }
    }
}

/// The canvas has pixels with premultiplied alpha, and their places in the painter's units.
#[derive(Clone, Debug)]
pub(super) struct PaintCanvas {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Pixels in a unit.
    pub(super) unit: f32,
    /// The pixel of the point (0, 0).
    pub(super) origin: PlanePoint,
    pub(super) pixels: Vec<[f32; 4]>,
}

impl PaintCanvas {
    /// Returns a transparent canvas of this many pixels.
    pub(super) fn new(width: usize, height: usize, unit: f32, origin: PlanePoint) -> Self {
        Self {
            width,
            height,
            unit,
            origin,
            pixels: vec![[0.0; 4]; width * height],
        }
    }

    /// Returns a transparent canvas over these bounds.
    pub(super) fn over(bounds: PaintBounds, unit: f32) -> Self {
        let size = (bounds.most - bounds.least) * unit;
        let (width, height) = (size.x as usize + 2, size.y as usize + 2);
        Self::new(width, height, unit, bounds.least * -unit)
    }

    /// Changes each pixel of the bounds.
    fn each(&mut self, bounds: PaintBounds, mut change: impl FnMut(PlanePoint, &mut [f32; 4])) {
        let least = bounds.least * self.unit + self.origin;
        let most = bounds.most * self.unit + self.origin;
        let clip = |value: f32, side: usize| (value.max(0.0) as usize).min(side);
        let (left, right) = (clip(least.x, self.width), clip(most.x + 1.0, self.width));
        let (top, bottom) = (clip(least.y, self.height), clip(most.y + 1.0, self.height));
        for row in top..bottom {
            for column in left..right {
                let pixel = at(column as f32 + 0.5, row as f32 + 0.5);
                let place = (pixel - self.origin) * (1.0 / self.unit);
                change(place, &mut self.pixels[row * self.width + column]);
            }
        }
    }

    /// Lays a colour of an opacity over each pixel of the bounds.
    pub(super) fn paint(&mut self, bounds: PaintBounds, ink: impl Fn(PlanePoint) -> (Tint, f32)) {
        self.each(bounds, |place, pixel| {
            let (colour, opacity) = ink(place);
            lay(pixel, colour, opacity, 1.0);
        });
    }

    /// Lays a colour over each pixel as [`PaintCanvas::paint`] does, but keeps the pixel's transparency.
    pub(super) fn glaze(&mut self, bounds: PaintBounds, ink: impl Fn(PlanePoint) -> (Tint, f32)) {
        self.each(bounds, |place, pixel| {
            if pixel[3] > 0.0 {
                let (colour, opacity) = ink(place);
                lay(pixel, colour, opacity, pixel[3]);
            }
        });
    }

    /// Fills the shape that this distance describes, with smooth edges.
    pub(super) fn fill(
        &mut self,
        bounds: PaintBounds,
        distance: impl Fn(PlanePoint) -> f32,
        colour: impl Fn(PlanePoint) -> Tint,
    ) {
        let unit = self.unit;
        self.paint(bounds, |p| {
            let cover = 0.5 - distance(p) * unit;
            if cover <= 0.0 {
                (Tint([0.0; 3]), 0.0)
            } else {
                (colour(p), cover)
            }
        });
    }

    /// Blurs the canvas by two passes of a box, whose radius in pixels may be a fraction.
    pub(super) fn blur(&mut self, radius: f32) {
        let (width, height) = (self.width, self.height);
        for _ in 0..2 {
            for row in self.pixels.chunks_mut(width) {
                let line = row.to_vec();
                for (x, pixel) in row.iter_mut().enumerate() {
                    *pixel = mean(&line, x, radius);
                }
            }
            for column in 0..width {
                let line: Vec<_> = (0..height)
                    .map(|y| self.pixels[y * width + column])
                    .collect();
                for y in 0..height {
                    self.pixels[y * width + column] = mean(&line, y, radius);
                }
            }
        }
    }
}

/// Blends a colour into a pixel; `alpha` is the opacity of the surface under the paint.
fn lay(pixel: &mut [f32; 4], colour: Tint, opacity: f32, alpha: f32) {
    let opacity = opacity.clamp(0.0, 1.0);
    if opacity > 0.0 {
        for (part, over) in pixel.iter_mut().zip(colour.0.into_iter().chain([1.0])) {
            *part += (over * alpha - *part) * opacity;
        }
    }
}

/// Returns the mean about a pixel of a line; the radius may end within a pixel.
fn mean(line: &[[f32; 4]], centre: usize, radius: f32) -> [f32; 4] {
    let whole = radius as usize;
    let (mut sum, mut weights) = ([0.0; 4], 0.0);
    let first = centre.saturating_sub(whole + 1);
    for (i, pixel) in line.iter().enumerate().skip(first).take(2 * whole + 3) {
        let weight = (radius - i.abs_diff(centre) as f32 + 1.0).clamp(0.0, 1.0);
        weights += weight;
        for (total, part) in sum.iter_mut().zip(pixel) {
            *total += part * weight;
        }
    }
    sum.map(|total| total / weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blur_keeps_an_even_colour() {
        let mut canvas = PaintCanvas::new(9, 5, 1.0, at(0.0, 0.0));
        canvas.paint(PaintBounds::new(0.0, 0.0, 9.0, 5.0), |_| {
            (tint(0x804020), 1.0)
        });
        canvas.blur(1.4);
        for pixel in canvas.pixels {
            assert!((pixel[0] - 128.0 / 255.0).abs() < 1e-4 && (pixel[3] - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn glaze_leaves_transparent_pixels() {
        let mut canvas = PaintCanvas::new(4, 4, 1.0, at(0.0, 0.0));
        let all = PaintBounds::new(0.0, 0.0, 4.0, 4.0);
        canvas.fill(all, |p| p.x - 2.0, |_| tint(0xFF0000));
        canvas.glaze(all, |_| (tint(0x0000FF), 1.0));
        assert_eq!(canvas.pixels[0], [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(canvas.pixels[3], [0.0; 4]);
    }
}
