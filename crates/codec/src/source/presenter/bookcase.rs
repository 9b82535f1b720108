//! This file paints the bookcase: shelves with books of many colours, and a few other things among them.

use super::canvas::{PaintBounds, PaintCanvas, tint};
use super::plane::{
    PlanePoint, at, block, chance, circle, ellipse, join, mix, noise, noise_over, smooth,
};
use super::room::RoomPlan;

/// The books' spines have these colours.
const SPINE_COLOURS: [u32; 14] = [
    0x8E2F2B, 0xC4553A, 0xD98E3F, 0xE2C078, 0x5F7348, 0x2F5D57, 0x2C4A6B, 0x6C8CA3, 0x4B3557,
    0x91566C, 0xD9CDB4, 0x3A2E2B, 0x7C8F86, 0xB5793C,
];

/// Shelves have this distance, from one to the next.
const SHELF_SPACING: f32 = 0.205;

/// A shelf has this thickness.
const BOARD_THICKNESS: f32 = 0.016;

pub(super) fn paint(canvas: &mut PaintCanvas, plan: RoomPlan, fine: u64) {
    let (left, right) = (plan.bookcase, plan.side + 0.05);
    let wood = |p: PlanePoint, along: f32| {
        let grain = noise(11, along * 60.0 + 2.0 * noise(12, (p.x + p.y) * 4.0));
        tint(0x7A4A2E).to(tint(0x4F2D1E), 0.5 + 0.4 * grain)
    };
    // Its shadow on the wall, its back, and the sides.
    canvas.paint(PaintBounds::new(left - 0.08, 0.0, left + 0.02, 1.0), |p| {
        (tint(0x1D1113), 0.5 * smooth(left - 0.07, left, p.x))
    });
    canvas.fill(
        PaintBounds::new(left, 0.0, right, 1.0),
        |p| left - p.x,
        |p| tint(0x33201B).lit(1.0 + 0.06 * noise_over(fine, at(p.x * 90.0, p.y * 8.0))),
    );
    let mut floor = 0.145;
    let mut shelf = 0;
    while floor < 1.2 {
        books(canvas, (left + 0.02, right), floor, fine ^ (0x100 + shelf));
        // The board, lit from the window on its front, and its shadow on the books below.
        let board = at((left + right) / 2.0, floor + BOARD_THICKNESS / 2.0);
        let half = at((right - left) / 2.0, BOARD_THICKNESS / 2.0);
        canvas.fill(
            PaintBounds::new(left, floor - 0.01, right, floor + 0.03),
            |p| block(p, board, half, 0.002),
            |p| wood(p, p.y).lit(1.35 - 0.5 * smooth(floor, floor + BOARD_THICKNESS, p.y)),
        );
        floor += SHELF_SPACING;
        shelf += 1;
    }
    let mut top = 0.145 + BOARD_THICKNESS - SHELF_SPACING;
    while top < 1.1 {
        canvas.paint(PaintBounds::new(left, top, right, top + 0.07), |p| {
            (tint(0x140A0A), 0.55 * smooth(top + 0.065, top, p.y))
        });
        top += SHELF_SPACING;
    }
    canvas.fill(
        PaintBounds::new(left - 0.02, 0.0, left + 0.04, 1.0),
        |p| (p.x - left - 0.008).abs() - 0.012,
        |p| wood(p, p.x).lit(1.45 - 0.5 * smooth(left, left + 0.02, p.x)),
    );
}

/// Paints a shelf's row of books, and now and then another thing.
fn books(canvas: &mut PaintCanvas, (left, right): (f32, f32), floor: f32, fine: u64) {
    let (mut x, mut index) = (left + 0.006, 0);
    let mut has_globe = false;
    while x < right {
        index += 1;
        let drawn = move |salt: u64| chance(fine ^ salt, index);
        let kind = drawn(1);
        if index > 2 && kind < 0.05 && !has_globe {
            has_globe = true;
            let centre = at(x + 0.045, floor - 0.05);
            globe(canvas, centre, drawn(2));
            x += 0.095;
            continue;
        }
        if index > 2 && (0.05..0.11).contains(&kind) {
            vase(canvas, at(x + 0.034, floor), drawn(2));
            x += 0.072;
            continue;
        }
        let wide = mix(0.016, 0.036, drawn(3) * drawn(3));
        let tall = mix(0.105, 0.168, drawn(4));
        let lean = if kind > 0.9 {
            mix(0.10, 0.22, drawn(5))
        } else {
            0.0
        };
        let centre = at(x + wide / 2.0 + lean * tall * 0.55, floor - tall / 2.0);
        let colour = tint(
            SPINE_COLOURS[(drawn(6) * SPINE_COLOURS.len() as f32) as usize % SPINE_COLOURS.len()],
        );
        let (bands, title) = (drawn(7), drawn(8));
        let upright = |p: PlanePoint| (p - centre).turned(-lean);
        canvas.fill(
            PaintBounds::around(centre, 0.12),
            |p| {
                block(
                    upright(p),
                    at(0.0, 0.0),
                    at(wide / 2.0 - 0.0008, tall / 2.0),
                    0.003,
                )
            },
            |p| {
                let q = upright(p);
                let (across, down) = (q.x / wide + 0.5, q.y / tall + 0.5);
                let round = 0.62 + 0.6 * smooth(0.0, 0.3, across) * smooth(1.15, 0.4, across);
                let cloth = 1.0 + 0.05 * noise_over(fine, p * 320.0);
                let mut spine = colour;
                let band = |place: f32, half: f32| smooth(half + 0.008, half, (down - place).abs());
                if bands > 0.35 {
                    spine = spine.to(
                        tint(0xE7C98A),
                        0.8 * band(0.12, 0.012).max(band(0.86, 0.012)),
                    );
                }
                if bands > 0.7 {
                    spine = spine.to(colour.lit(0.55), band(0.22, 0.07));
                }
                if title > 0.4 {
                    // Lettering, too small to read.
                    let letters =
                        noise(fine ^ 0x44, down * 70.0) > -0.1 && (across - 0.5).abs() < 0.2;
                    let place = (0.34..0.70).contains(&down) && letters;
                    spine = spine.to(tint(0xF3E3BE), if place { 0.7 } else { 0.0 });
                }
                spine.lit(round * cloth * 0.86)
            },
        );
        x += wide + lean * tall * 1.1 + if drawn(9) > 0.93 { 0.03 } else { 0.0008 };
    }
}

fn globe(canvas: &mut PaintCanvas, centre: PlanePoint, drawn: f32) {
    let near = PaintBounds::around(centre, 0.08);
    canvas.fill(
        near,
        |p| {
            ellipse(p, centre + at(0.0, 0.046), at(0.022, 0.006))
                .min((circle(p, centre, 0.043)).abs() - 0.002)
        },
        |_| tint(0xB58A4A),
    );
    canvas.fill(
        near,
        |p| circle(p, centre, 0.038),
        |p| {
            let land = noise_over(77, (p - centre) * 45.0 + at(drawn * 9.0, 0.0));
            let light = smooth(0.085, 0.0, (p - centre + at(0.016, 0.018)).length());
            tint(0x4F7F92)
                .to(tint(0xC2A765), smooth(0.02, 0.14, land))
                .lit(0.45 + 0.8 * light)
        },
    );
}

fn vase(canvas: &mut PaintCanvas, foot: PlanePoint, drawn: f32) {
    let colour = tint(if drawn < 0.5 { 0xD8CDBE } else { 0x3F7A78 });
    let belly = foot - at(0.0, 0.036);
    let shape = |p: PlanePoint| {
        let neck = block(p, foot - at(0.0, 0.082), at(0.010, 0.026), 0.004);
        join(ellipse(p, belly, at(0.027, 0.036)), neck, 0.02)
    };
    canvas.fill(PaintBounds::around(belly, 0.09), shape, |p| {
        let light = smooth(0.05, -0.03, p.x - foot.x + 0.01);
        let glint = 0.5 * smooth(0.012, 0.0, (p - belly + at(0.012, 0.012)).length());
        colour.lit(0.35 + 0.75 * light).to(tint(0xFFFFFF), glint)
    });
}
