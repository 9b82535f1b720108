//! This file keeps painted parts as samples of video with transparency, and draws them into pictures.

use super::canvas::PaintCanvas;
use super::plane::{PlanePoint, at};
use crate::picture::Picture;

/// A part may change each of its samples, by the sample's place and the width of a pixel.
pub(super) trait Retouch {
    fn retouch(&self, place: PlanePoint, pixel: f32, video: [f32; 3]) -> [f32; 3];
}

/// A part keeps its samples as they were painted.
pub(super) struct AsPainted;

impl Retouch for AsPainted {
    fn retouch(&self, _place: PlanePoint, _pixel: f32, video: [f32; 3]) -> [f32; 3] {
        video
    }
}

/// A window limits the pixels of a picture that change; both corners' first numbers are even.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelWindow {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) right: usize,
    pub(super) bottom: usize,
}

impl PixelWindow {
    /// Returns the pixels of a picture between two corners.
    pub(super) fn of(picture: &Picture, least: PlanePoint, most: PlanePoint) -> Self {
        let clip = |value: f32, side: usize| (value.max(0.0) as usize).min(side);
        Self {
            left: clip(least.x, picture.width()) & !1,
            top: clip(least.y, picture.height()) & !1,
            right: clip(most.x + 2.0, picture.width()),
            bottom: clip(most.y + 2.0, picture.height()),
        }
    }
}

/// A sprite has the samples of a part, multiplied by alpha: luma, and both chromas at half the sides.
#[derive(Clone, Debug)]
pub(super) struct Sprite {
    unit: f32,
    origin: PlanePoint,
    luma: SpritePlanes<2>,
    chroma: SpritePlanes<3>,
}

/// The planes of a sprite have samples of each colour, and the last one has alpha.
#[derive(Clone, Debug)]
struct SpritePlanes<const N: usize> {
    width: usize,
    height: usize,
    planes: [Vec<f32>; N],
    /// The columns of each row that are not transparent, with one more on both sides.
    spans: Vec<(usize, usize)>,
}

impl<const N: usize> SpritePlanes<N> {
    fn new(width: usize, height: usize, planes: [Vec<f32>; N]) -> Self {
        let rows = planes[N - 1].chunks(width);
        let spans = rows
            .map(|row| {
                let first = row.iter().position(|&alpha| alpha > 0.0).unwrap_or(width);
                let last = row.iter().rposition(|&alpha| alpha > 0.0).unwrap_or(0);
                (first.saturating_sub(1), (last + 2).min(width))
            })
            .collect();
        Self {
            width,
            height,
            planes,
            spans,
        }
    }

    /// Returns the blend of the four nearest samples, and nothing beyond the edge.
    fn sample(&self, place: PlanePoint) -> [f32; N] {
        let (x, y) = (place.x - 0.5, place.y - 0.5);
        if x < 0.0 || y < 0.0 {
            return [0.0; N];
        }
        let (column, row) = (x as i32, y as i32);
        let (right, down) = (x - column as f32, y - row as f32);
        let (column, row) = (column as usize, row as usize);
        if column + 1 >= self.width || row + 1 >= self.height {
            return [0.0; N];
        }
        let start = row * self.width + column;
        let mut blended = [0.0; N];
        // The alpha comes first: most samples beyond the outline need nothing else.
        for i in (0..N).rev() {
            let plane = &self.planes[i];
            let upper = &plane[start..start + 2];
            let lower = &plane[start + self.width..start + self.width + 2];
            let above = upper[0] + (upper[1] - upper[0]) * right;
            let below = lower[0] + (lower[1] - lower[0]) * right;
            blended[i] = above + (below - above) * down;
            if blended[N - 1] <= 0.0 {
                break;
            }
        }
        blended
    }

    /// Lays each plane over one of a picture, moved by this many samples, with the same blend.
    fn lay_moved(&self, pictures: &mut [&mut [u8]], width: usize, shift: PlanePoint) {
        // The sample that the picture's first one shows, and the part of one beyond it.
        let (x, y) = ((-shift.x).floor(), (-shift.y).floor());
        let (right, down) = (-shift.x - x, -shift.y - y);
        let (x, y) = (x as isize, y as isize);
        let rows = pictures[0].len() / width;
        let (mut alphas, mut colours) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let above = row as isize + y;
            if above < 0 || above as usize + 1 >= self.height {
                continue;
            }
            let above = above as usize;
            let (upper, lower) = (self.spans[above], self.spans[above + 1]);
            let first = (upper.0.min(lower.0) as isize).max(x);
            let last = (upper.1.max(lower.1) as isize)
                .min(self.width as isize - 1)
                .min(x + width as isize);
            if first >= last {
                continue;
            }
            let start = above * self.width + first as usize;
            let count = (last - first) as usize;
            let line = |plane: &[f32], into: &mut Vec<f32>| {
                let cut = |from: usize| &plane[from..from + count];
                let (upper, upper_next) = (cut(start), cut(start + 1));
                let (lower, lower_next) = (cut(start + self.width), cut(start + self.width + 1));
                into.clear();
                into.extend((0..count).map(|i| {
                    let above = upper[i] + (upper_next[i] - upper[i]) * right;
                    let below = lower[i] + (lower_next[i] - lower[i]) * right;
                    above + (below - above) * down
                }));
            };
            line(&self.planes[N - 1], &mut alphas);
            for (plane, picture) in self.planes.iter().zip(pictures.iter_mut()) {
                line(plane, &mut colours);
                let to = &mut picture[row * width + (first - x) as usize..][..count];
                for ((under, over), alpha) in to.iter_mut().zip(&colours).zip(&alphas) {
                    *under = lay(*under, *over, *alpha);
                }
            }
        }
    }
}

impl Sprite {
    pub(super) fn new(canvas: &PaintCanvas) -> Self {
        let (width, height) = (canvas.width, canvas.height);
        let video: Vec<[f32; 4]> = canvas.pixels.iter().copied().map(video).collect();
        let (columns, rows) = (width.div_ceil(2), height.div_ceil(2));
        let [mut blue, mut red, mut alpha] = [(); 3].map(|()| Vec::with_capacity(columns * rows));
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)))
        {
            let mut sum = [0.0; 4];
            for (down, right) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let y = (2 * row + down).min(height - 1);
                let x = (2 * column + right).min(width - 1);
                for (total, part) in sum.iter_mut().zip(video[y * width + x]) {
                    *total += 0.25 * part;
                }
            }
            blue.push(sum[1]);
            red.push(sum[2]);
            alpha.push(sum[3]);
        }
        let part = |part: usize| video.iter().map(|sample| sample[part]).collect();
        Self {
            unit: canvas.unit,
            origin: canvas.origin,
            luma: SpritePlanes::new(width, height, [part(0), part(3)]),
            chroma: SpritePlanes::new(columns, rows, [blue, red, alpha]),
        }
    }

    /// Draws the part as it was painted; its place (0, 0) is at this pixel.
    pub(super) fn draw_at(&self, picture: &mut Picture, pixel: PlanePoint) {
        let (width, chroma_width) = (picture.width(), picture.chroma_width());
        let [luma, cb, cr] = picture.planes_mut();
        let shift = pixel - self.origin;
        self.luma.lay_moved(&mut [luma], width, shift);
        self.chroma
            .lay_moved(&mut [cb, cr], chroma_width, shift * 0.5);
    }

    /// Draws the part into a window; `map` returns the place of the part that a pixel shows.
    pub(super) fn draw(
        &self,
        picture: &mut Picture,
        window: PixelWindow,
        map: impl Fn(PlanePoint) -> PlanePoint,
        touch: &impl Retouch,
    ) {
        let (width, chroma_width) = (picture.width(), picture.chroma_width());
        let [luma, cb, cr] = picture.planes_mut();
        let pixel = 1.0 / self.unit;
        for y in window.top..window.bottom {
            let row = &mut luma[y * width..][window.left..window.right];
            for (run, under) in row.chunks_mut(RUN_SAMPLES).enumerate() {
                let start = at(
                    (window.left + run * RUN_SAMPLES) as f32 + 0.5,
                    y as f32 + 0.5,
                );
                let (mut place, step) = line(&map, start, 1.0);
                for sample in under {
                    let [over, alpha] = self.luma.sample(place * self.unit + self.origin);
                    if alpha > 0.0 {
                        let [over, ..] = touch.retouch(place, pixel, [over, 0.0, 0.0]);
                        *sample = lay(*sample, over, alpha);
                    }
                    place = place + step;
                }
            }
        }
        let columns = window.left / 2..window.right.div_ceil(2);
        for y in window.top / 2..window.bottom.div_ceil(2) {
            let start = y * chroma_width;
            let row = start + columns.start..start + columns.end;
            let runs = cb[row.clone()]
                .chunks_mut(RUN_SAMPLES)
                .zip(cr[row].chunks_mut(RUN_SAMPLES));
            for (run, (blues, reds)) in runs.enumerate() {
                let start = at(
                    (2 * (columns.start + run * RUN_SAMPLES) + 1) as f32,
                    (2 * y + 1) as f32,
                );
                let (mut place, step) = line(&map, start, 2.0);
                for (blue, red) in blues.iter_mut().zip(reds) {
                    let half = (place * self.unit + self.origin) * 0.5;
                    let [cb, cr, alpha] = self.chroma.sample(half);
                    if alpha > 0.0 {
                        let [_, cb, cr] = touch.retouch(place, 2.0 * pixel, [0.0, cb, cr]);
                        *blue = lay(*blue, cb, alpha);
                        *red = lay(*red, cr, alpha);
                    }
                    place = place + step;
                }
            }
        }
    }
}

/// A run has this many samples of a row; only the first one's place is computed exactly.
const RUN_SAMPLES: usize = 8;

/// Returns the place at the start of a run, and the step from sample to sample.
fn line(
    map: &impl Fn(PlanePoint) -> PlanePoint,
    start: PlanePoint,
    pixels: f32,
) -> (PlanePoint, PlanePoint) {
    let first = map(start);
    let last = map(start + at(RUN_SAMPLES as f32 * pixels, 0.0));
    (first, (last - first) * (1.0 / RUN_SAMPLES as f32))
}

fn lay(under: u8, over: f32, alpha: f32) -> u8 {
    (f32::from(under) * (1.0 - alpha) + over + 0.5) as u8
}

/// Returns premultiplied Y, Cb, Cr and alpha of a premultiplied colour.
fn video([red, green, blue, alpha]: [f32; 4]) -> [f32; 4] {
    if alpha <= 0.0 {
        return [0.0; 4];
    }
    let [luma, cb, cr] = super::canvas::Tint([red, green, blue].map(|part| part / alpha)).video();
    [luma * alpha, cb * alpha, cr * alpha, alpha]
}

/// Returns the picture of an opaque canvas.
pub(super) fn develop(canvas: &PaintCanvas) -> Picture {
    let mut picture = Picture::new(canvas.width, canvas.height);
    let sprite = Sprite::new(canvas);
    let planes = sprite.luma.planes[..1]
        .iter()
        .chain(&sprite.chroma.planes[..2]);
    for (to, from) in picture.planes_mut().into_iter().zip(planes) {
        for (sample, &value) in to.iter_mut().zip(from) {
            *sample = (value + 0.5) as u8;
        }
    }
    picture
}
