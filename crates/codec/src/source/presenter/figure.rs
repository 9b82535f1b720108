//! This file puts the presenter's painted parts together, each where the pose has it.

use super::body;
use super::canvas::{PaintBounds, PaintCanvas};
use super::face::MovingFace;
use super::hand;
use super::head;
use super::motion::Pose;
use super::plane::{PlanePoint, at, mix, smooth};
use super::sprite::{AsPainted, PixelWindow, Sprite};
use crate::picture::Picture;

/// The head's unit is this share of the picture's height.
const HEAD_SHARE: f32 = 0.200;

/// The head tilts about this place in the neck.
const TILT_PIVOT: PlanePoint = at(0.0, 0.85);

/// The chin goes down this far with an open mouth.
const JAW_DROP: f32 = 0.085;

/// The raised hand has its wrist at this place.
const RAISED_WRIST: PlanePoint = at(-1.18, 2.20);
/// The resting hand is this far below the raised one, out of the picture.
const REST_DEPTH: f32 = 2.6;

/// The figure has the painted parts of the presenter.
#[derive(Debug)]
pub(super) struct Figure {
    /// Pixels of the head's unit.
    unit: f32,
    /// The pixel of the head's middle at rest.
    centre: PlanePoint,
    back: Sprite,
    body: Sprite,
    head: Sprite,
    hand: Sprite,
}

impl Figure {
    pub(super) fn new(width: usize, height: usize, fine: u64) -> Self {
        let (across, down) = (width as f32, height as f32);
        // In an upright picture the shoulders are as wide as the picture.
        let unit = HEAD_SHARE * down.min(across * 1.25);
        let rest = 2.85 * unit;
        let centre = at(across / 2.0 + 0.04 * down.min(across), down - rest);
        let painted = |bounds, paint: &dyn Fn(&mut PaintCanvas)| {
            let mut canvas = PaintCanvas::over(bounds, unit);
            paint(&mut canvas);
            Sprite::new(&canvas)
        };
        Self {
            unit,
            centre,
            back: painted(head::BOUNDS, &|canvas| head::paint_back(canvas, fine)),
            body: painted(body::BOUNDS, &|canvas| body::paint(canvas, fine)),
            head: painted(head::BOUNDS, &|canvas| head::paint(canvas, fine)),
            hand: painted(hand::BOUNDS, &hand::paint),
        }
    }

    pub(super) fn draw(&self, pose: &Pose, picture: &mut Picture) {
        let shift = at(pose.lean, -0.035 * pose.breath);
        let head = at(pose.lean, 0.0) + pose.head + shift * 0.35;
        let place = |pixel: PlanePoint| (pixel - self.centre) * (1.0 / self.unit);
        let tilted =
            |pixel: PlanePoint| (place(pixel) - head - TILT_PIVOT).turned(-pose.tilt) + TILT_PIVOT;
        let reach = |bounds: PaintBounds, offset: PlanePoint, margin: f32| {
            let margin = at(margin, margin);
            let least = (bounds.least + offset - margin) * self.unit + self.centre;
            let most = (bounds.most + offset + margin) * self.unit + self.centre;
            PixelWindow::of(picture, least, most)
        };
        let head_window = reach(head::BOUNDS, head, 0.05);
        // Above the chin the front hair hides what hangs behind the neck.
        let nape = PaintBounds::new(
            head::BOUNDS.least.x,
            0.2,
            head::BOUNDS.most.x,
            head::BOUNDS.most.y,
        );
        let nape_window = reach(nape, head, 0.05);
        let wrist =
            RAISED_WRIST + at(0.5, REST_DEPTH) * (1.0 - pose.raised) + at(0.05, 0.07) * pose.beat;
        let hand_window = reach(hand::BOUNDS, wrist, 0.25);
        let swing = mix(0.35, -0.12, pose.raised) + 0.09 * pose.beat;

        self.back.draw(
            picture,
            nape_window,
            |pixel| {
                let p = tilted(pixel);
                p + pose.turn * 0.35
            },
            &AsPainted,
        );
        self.body.draw_at(picture, shift * self.unit + self.centre);
        let jaw = JAW_DROP * pose.opening;
        self.head.draw(
            picture,
            head_window,
            |pixel| {
                let p = tilted(pixel);
                // The nearer a part of the face, the farther it goes as the head turns.
                let near = (1.0 - 0.72 * p.x * p.x - 0.55 * p.y * p.y).max(0.0);
                let p = p - pose.turn * near;
                if p.y < 0.42 {
                    return p;
                }
                let low = smooth(0.42, 0.98, p.y) * smooth(0.85, 0.45, p.x.abs());
                at(p.x, p.y - jaw * low)
            },
            &MovingFace::new(*pose),
        );
        if pose.raised > 0.0 {
            self.hand.draw(
                picture,
                hand_window,
                |pixel| (place(pixel) - wrist).turned(-swing),
                &AsPainted,
            );
        }
    }
}
