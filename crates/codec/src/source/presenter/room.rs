//! This file paints the room behind the presenter: the wall, the window with its curtain, the lamp and its light.

use super::canvas::{PaintBounds, PaintCanvas, Tint, tint};
use super::plane::{PlanePoint, at, block, ellipse, noise, noise_over, sine, smooth, stroke};
use super::{bookcase, plant, street};

/// The plan has the places of things: the picture's height is 1, and x is 0 in the middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoomPlan {
    /// Half the picture's width.
    pub(super) side: f32,
    /// The opening of the window in the wall.
    pub(super) window: PaintBounds,
    /// The left edge of the bookcase.
    pub(super) bookcase: f32,
    /// The place of the lamp's glow.
    pub(super) lamp: PlanePoint,
}

impl RoomPlan {
    pub(super) fn new(aspect: f32) -> Self {
        let side = aspect / 2.0;
        let left = -side + 0.07;
        // Width beyond 4:3, up to a film's.
        let spare = (side - 0.667).clamp(0.0, 0.4);
        Self {
            side,
            window: PaintBounds::new(left, 0.06, left + 0.36 + 0.3 * spare, 0.63),
            bookcase: 0.17 + 0.35 * spare,
            lamp: at(side - 0.13, 0.53),
        }
    }

    pub(super) fn all(self) -> PaintBounds {
        PaintBounds::new(-self.side - 0.1, -0.1, self.side + 0.1, 1.1)
    }
}

/// Paints the room; `fine` is the seed of the details. Returns the pixels whose view through the window stays free.
pub(super) fn paint(canvas: &mut PaintCanvas, plan: RoomPlan, fine: u64) -> Vec<bool> {
    let all = plan.all();
    canvas.paint(all, |p| (wall(plan, fine, p), 1.0));
    street::paint(canvas, plan.window, fine);
    let view = canvas.pixels.clone();
    frame(canvas, plan.window);
    curtain(canvas, plan, fine);
    bookcase::paint(canvas, plan, fine);
    if plan.side > 0.8 {
        painting(canvas, at((plan.window.most.x - 0.165) / 2.0, 0.25), fine);
    }
    plant::paint(
        canvas,
        at(plan.window.most.x - 0.035, plan.window.most.y + 0.028),
        fine,
    );
    let uncovered = canvas
        .pixels
        .iter()
        .zip(&view)
        .map(|(now, then)| now == then);
    let uncovered = uncovered.collect();
    table(canvas, plan);
    lamp(canvas, plan.lamp);
    // The lamp warms what is near, and the corners are darker.
    canvas.paint(all, |p| {
        let glow = (p - plan.lamp).length();
        (tint(0xFFC06A), 0.34 * smooth(0.5, 0.0, glow))
    });
    canvas.paint(all, |p| {
        let corner = at(p.x / plan.side, 1.6 * (p.y - 0.48)).length();
        (tint(0x120C10), 0.50 * smooth(0.75, 1.65, corner))
    });
    uncovered
}

fn wall(plan: RoomPlan, fine: u64, p: PlanePoint) -> Tint {
    let daylight = smooth(0.75, 0.0, (p - plan.window.most + at(0.1, 0.35)).length());
    let plaster = 0.018 * noise_over(fine, p * 60.0) + 0.025 * noise_over(fine ^ 1, p * 9.0);
    tint(0x7E5646)
        .to(tint(0xB98668), 0.65 * daylight)
        .to(tint(0x3F2A2C), 0.5 * smooth(0.55, 1.1, p.y))
        .lit(1.0 + plaster)
}

/// Paints the window's wood and the sill.
fn frame(canvas: &mut PaintCanvas, window: PaintBounds) {
    let centre = (window.least + window.most) * 0.5;
    let half = (window.most - window.least) * 0.5;
    let around = PaintBounds {
        least: window.least - at(0.1, 0.1),
        most: window.most + at(0.1, 0.1),
    };
    let opening = |p: PlanePoint| block(p, centre, half, 0.004);
    // A soft shadow on the wall, then the wood.
    canvas.paint(around, |p| {
        let outside = opening(p);
        let shade = smooth(0.07, 0.02, outside) * smooth(-0.001, 0.001, outside);
        (tint(0x2A1A18), 0.45 * shade)
    });
    let wood = |p: PlanePoint| {
        let grain = noise(7, p.x * 220.0) * 0.03;
        tint(0xE3CDB0)
            .to(tint(0xA07F66), smooth(window.least.x, window.most.x, p.x))
            .lit(0.92 + grain)
    };
    canvas.fill(around, |p| opening(p).abs() - 0.014, wood);
    let bars = |p: PlanePoint| {
        let upright = (p.x - centre.x).abs() - 0.006;
        let across = (p.y - window.least.y - 0.36 * (window.most.y - window.least.y)).abs() - 0.005;
        upright.min(across).max(opening(p))
    };
    canvas.fill(around, bars, wood);
    // The inner edge of the wood in the evening's light.
    canvas.fill(
        around,
        |p| (opening(p) + 0.013).abs() - 0.0016,
        |_| tint(0x5E453C),
    );
    let sill = at(centre.x + 0.01, window.most.y + 0.026);
    canvas.fill(
        around,
        |p| block(p, sill, at(half.x + 0.05, 0.016), 0.006),
        |p| tint(0xEBD6BA).to(tint(0x8C6C58), smooth(sill.y - 0.012, sill.y + 0.014, p.y)),
    );
}

/// Paints a light curtain at the window's left, in folds.
fn curtain(canvas: &mut PaintCanvas, plan: RoomPlan, fine: u64) {
    let left = plan.window.least.x - 0.09;
    let cloth = |p: PlanePoint| {
        let edge =
            left + 0.135 + 0.035 * smooth(0.35, 0.0, p.y) + 0.012 * noise(fine ^ 2, p.y * 5.0);
        p.x - edge - 0.02 * smooth(0.55, 0.95, p.y)
    };
    canvas.fill(
        PaintBounds::new(left - 0.1, 0.0, left + 0.3, 1.0),
        cloth,
        |p| {
            let spread = (p.x - left) * (1.0 - 0.25 * p.y);
            let folds = sine(spread * 21.0 + 0.35 * noise(fine ^ 4, p.y * 2.0))
                + 0.6 * noise(fine ^ 3, spread * 60.0);
            let weave = 0.02 * noise(1, p.x * 500.0) * noise(2, p.y * 500.0);
            tint(0xA8604C)
                .to(tint(0xDC9B78), 0.5 + 0.42 * folds)
                .to(tint(0x5A322E), 0.55 * smooth(0.6, 1.05, p.y))
                .lit(0.95 + weave)
        },
    );
    let rod = (at(left - 0.1, 0.035), at(plan.window.most.x + 0.07, 0.035));
    canvas.fill(
        PaintBounds::new(left - 0.1, 0.0, plan.window.most.x + 0.1, 0.08),
        |p| stroke(p, rod.0, rod.1, (0.006, 0.006)).min(ellipse(p, rod.1, at(0.012, 0.012))),
        |p| tint(0xC79A5B).to(tint(0x5B3B22), smooth(0.03, 0.042, p.y)),
    );
}

/// Paints a small landscape in a frame, where a wide picture has room for one.
fn painting(canvas: &mut PaintCanvas, centre: PlanePoint, fine: u64) {
    let near = PaintBounds::around(centre, 0.14);
    let half = at(0.062, 0.082);
    canvas.paint(near, |p| {
        let outside = block(p, centre + at(0.008, 0.010), half, 0.004);
        (tint(0x2A1A18), 0.45 * smooth(0.03, -0.005, outside))
    });
    canvas.fill(
        near,
        |p| block(p, centre, half, 0.003),
        |p| {
            let inner = block(p, centre, half, 0.0) + 0.012;
            let bevel = smooth(0.012, 0.0, inner)
                - 0.6 * smooth(0.0, 0.05, p.x - centre.x + p.y - centre.y);
            tint(0x6F4A26).to(tint(0xD9AE6A), 0.5 + 0.4 * bevel)
        },
    );
    canvas.fill(
        near,
        |p| block(p, centre, half - at(0.013, 0.013), 0.001),
        |p| {
            let q = p - centre;
            let hills = |height: f32, rough: f32, salt: u64| {
                smooth(
                    0.0,
                    0.003,
                    q.y - height - rough * noise(fine ^ salt, q.x * 28.0),
                )
            };
            tint(0xD8CDA8)
                .to(tint(0x9DB4B4), smooth(0.0, -0.07, q.y))
                .to(tint(0x7D9482), hills(-0.010, 0.010, 0x31))
                .to(tint(0x5B7A55), hills(0.012, 0.008, 0x32))
                .to(tint(0xC0A25A), hills(0.034, 0.006, 0x33))
                .lit(1.0 + 0.05 * noise_over(fine, p * 240.0))
        },
    );
}

/// Paints the small table under the lamp, and a cup.
fn table(canvas: &mut PaintCanvas, plan: RoomPlan) {
    let top = plan.lamp.y + 0.345;
    let left = plan.lamp.x - 0.125;
    let near = PaintBounds::new(left - 0.1, top - 0.15, plan.side + 0.1, 1.1);
    let centre = at(left + 0.3, top + 0.30);
    canvas.fill(
        near,
        |p| block(p, centre, at(0.27, 0.29), 0.01),
        |p| {
            let grain = noise(13, p.y * 130.0 + 2.0 * noise(14, p.x * 7.0));
            tint(0x5A3423).to(tint(0x2A1812), smooth(top, top + 0.16, p.y) + 0.12 * grain)
        },
    );
    let board = at(left + 0.3, top + 0.012);
    canvas.fill(
        near,
        |p| block(p, board, at(0.315, 0.016), 0.008),
        |p| {
            let near_lamp = smooth(0.25, 0.0, (p.x - plan.lamp.x).abs());
            tint(0x8A5433).to(
                tint(0xF0B878),
                0.7 * near_lamp * smooth(top + 0.016, top, p.y),
            )
        },
    );
    let cup = at(left + 0.045, top - 0.030);
    let shape = |p: PlanePoint| {
        let handle = (ellipse(p, cup + at(-0.030, 0.0), at(0.017, 0.017))).abs() - 0.004;
        block(p, cup, at(0.028, 0.030), 0.008).min(handle)
    };
    canvas.fill(near, shape, |p| {
        let stripe = if (p.y - cup.y).abs() < 0.006 {
            0.7
        } else {
            0.0
        };
        tint(0x6E7F8C)
            .to(tint(0xF7DDB4), smooth(-0.03, 0.03, p.x - cup.x))
            .to(tint(0xB5533C), stripe)
    });
}

/// Paints the desk lamp: a foot, a stem and a glowing shade.
fn lamp(canvas: &mut PaintCanvas, glow: PlanePoint) {
    let near = PaintBounds::around(glow + at(0.0, 0.1), 0.45);
    canvas.paint(near, |p| {
        let reach = at(p.x - glow.x, (p.y - glow.y) * 0.9).length();
        (tint(0xFFC779), 0.55 * smooth(0.30, 0.02, reach))
    });
    let foot = glow + at(0.0, 0.335);
    canvas.fill(
        near,
        |p| stroke(p, glow, foot, (0.006, 0.008)).min(ellipse(p, foot, at(0.06, 0.018))),
        |p| tint(0xC7924A).to(tint(0x4A2E1C), smooth(-0.004, 0.01, p.x - glow.x)),
    );
    let shade = |p: PlanePoint| {
        let low = (p.y - glow.y + 0.075) / 0.15;
        let wide = 0.052 + 0.05 * low;
        ((p.x - glow.x).abs() - wide).max((p.y - glow.y).abs() - 0.075)
    };
    canvas.fill(near, shade, |p| {
        let from_bulb = at((p.x - glow.x) * 1.1, p.y - glow.y - 0.03).length();
        let pleats = 0.02
            * noise(
                5,
                (p.x - glow.x) / (0.052 + 0.05 * (p.y - glow.y + 0.075) / 0.15) * 9.0,
            );
        tint(0xE79A49)
            .to(tint(0xFFF0C4), smooth(0.13, 0.01, from_bulb))
            .lit(1.0 + pleats)
    });
}
