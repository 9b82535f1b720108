//! This file paints the presenter's neck, shoulders and knitted pullover, in the head's units about the head's middle.

use super::canvas::{PaintBounds, PaintCanvas, Tint, tint};
use super::plane::{
    PlanePoint, at, block, bump, ellipse, join, mix, noise_over, sine, smooth, stroke,
};

/// The body's canvas holds these places.
pub(super) const BOUNDS: PaintBounds = PaintBounds::new(-1.85, 0.3, 1.85, 3.6);

/// Skin has these colours in light, between, and in shadow.
pub(super) const SKIN_TINTS: [Tint; 3] = [tint(0xFFDFC4), tint(0xEDB592), tint(0xA9654F)];

/// Wool has these colours in light and in shadow.
const WOOL_TINTS: [Tint; 2] = [tint(0x5FA39A), tint(0x123F45)];

/// A column of stitches has this width. Stitches of too few pixels fade, or else they would alias.
const STITCH_WIDTH: f32 = 0.074;

/// The collar's ellipse has this centre.
const COLLAR_CENTRE: PlanePoint = at(0.0, 1.20);

pub(super) fn paint(canvas: &mut PaintCanvas, fine: u64) {
    let unit = canvas.unit;
    // The collar behind the neck.
    canvas.fill(
        BOUNDS,
        |p| collar(p).max(p.y - COLLAR_CENTRE.y - 0.1),
        |_| WOOL_TINTS[1].lit(0.6),
    );
    canvas.fill(BOUNDS, collar_band, collar_wool);
    // Below its back the collar encloses the neck.
    let enclosed = |p: PlanePoint| neck(p).max(collar(p).min(p.y - 1.06));
    canvas.fill(BOUNDS, enclosed, |p| {
        let light = smooth(0.42, -0.38, p.x);
        let under_chin = smooth(1.36, 0.92, p.y - 0.12 * p.x);
        let tendon = 0.10 * bump((p.x + 0.16 - 0.1 * (p.y - 1.0)) / 0.07);
        skin(0.30 + 0.55 * light - tendon).to(tint(0x8A4A3E), 0.74 * under_chin)
    });
    // The collar bones and the hollow between them.
    canvas.glaze(BOUNDS, |p| {
        let q = at(p.x.abs(), p.y);
        let bone = smooth(
            0.045,
            0.0,
            stroke(q, at(0.10, 1.40), at(0.40, 1.33), (0.0, 0.0)),
        );
        let hollow = bump(at(p.x / 0.09, (p.y - 1.38) / 0.10).length().min(1.0));
        (tint(0x9A5A48), 0.16 * hollow.max(bone))
    });
    canvas.fill(
        BOUNDS,
        |p| pullover(p).max(-collar(p)),
        |p| wool(fine, p, unit),
    );
    canvas.glaze(BOUNDS, |p| {
        let outside = collar(p) - 0.108;
        let shade = smooth(0.09, 0.0, outside) * smooth(-0.01, 0.0, outside);
        (
            tint(0x0A2A30),
            0.5 * shade * smooth(COLLAR_CENTRE.y, COLLAR_CENTRE.y + 0.1, p.y),
        )
    });
    canvas.fill(
        BOUNDS,
        |p| collar_band(p).max(COLLAR_CENTRE.y - p.y),
        collar_wool,
    );
    // The collar's shadow on the skin.
    canvas.glaze(BOUNDS, |p| {
        let inside = -collar(p);
        let shade = smooth(0.09, 0.0, inside) * smooth(-0.004, 0.004, inside);
        (
            tint(0x6E3A33),
            0.45 * shade * smooth(COLLAR_CENTRE.y, COLLAR_CENTRE.y + 0.12, p.y),
        )
    });
}

/// Returns the colour of skin in this much light, from 0 to 1.
pub(super) fn skin(light: f32) -> Tint {
    let [lit, middle, dark] = SKIN_TINTS;
    if light < 0.5 {
        dark.to(middle, 2.0 * light)
    } else {
        middle.to(lit, 2.0 * light - 1.0)
    }
}

fn neck(p: PlanePoint) -> f32 {
    let slim = stroke(p, at(0.0, 0.5), at(0.0, 1.5), (0.315, 0.34));
    let slope = stroke(p, at(-0.35, 1.62), at(0.35, 1.62), (0.3, 0.3));
    join(slim, slope, 0.4)
}

fn pullover(p: PlanePoint) -> f32 {
    let p = at(p.x.abs(), p.y);
    let shoulder = join(
        stroke(p, at(0.0, 1.50), at(0.62, 1.70), (0.40, 0.34)),
        stroke(p, at(0.62, 1.76), at(1.14, 2.10), (0.34, 0.42)),
        0.12,
    );
    let arm = stroke(p, at(1.14, 2.10), at(1.30, 3.9), (0.42, 0.44));
    let chest = block(p, at(0.0, 3.2), at(1.35, 1.3), 0.3);
    join(join(shoulder, arm, 0.1), chest, 0.3)
}

fn collar(p: PlanePoint) -> f32 {
    ellipse(p, COLLAR_CENTRE, at(0.375, 0.25))
}

/// Returns the distance to the collar's ring of ribs.
fn collar_band(p: PlanePoint) -> f32 {
    (collar(p) - 0.05).abs() - 0.058
}

fn collar_wool(p: PlanePoint) -> Tint {
    let q = p - COLLAR_CENTRE;
    let angle = q.x / (q.x.abs() + q.y.abs() * 1.2).max(0.01);
    let ribs = sine(angle * 13.0);
    let round = (collar(p) - 0.05) / 0.065;
    let light = 0.30 + 0.32 * (1.0 - round * round) + 0.16 * ribs - 0.35 * smooth(-0.4, 0.6, p.x);
    WOOL_TINTS[1].to(WOOL_TINTS[0], light)
}

/// Returns the colour of the pullover at a place, in the light that falls there.
fn wool(fine: u64, p: PlanePoint, unit: f32) -> Tint {
    let inside = (-pullover(p)).max(0.0);
    let edge = smooth(0.0, 0.5, inside);
    // The window lights the left shoulder from above; the lamp warms the right one's edge.
    let side = smooth(1.75, -1.5, p.x);
    let from_above = smooth(2.9, 1.6, p.y);
    let folds = 0.13 * noise_over(fine, at(p.x * 1.6 + 0.7 * p.y, p.y * 0.9 - 0.5 * p.x))
        + 0.07 * noise_over(fine ^ 1, at(p.x * 3.1 - p.y, p.y * 1.7));
    let arms = bump((p.x.abs() - 0.98 - 0.02 * (p.y - 2.4)) / 0.12) * smooth(2.25, 2.75, p.y);
    let light = 0.06 + 0.50 * side + 0.24 * from_above * (0.4 + side) + folds
        - 0.30 * arms
        - 0.16 * (1.0 - edge) * smooth(-0.5, 0.9, p.x)
        + 0.13 * (1.0 - edge) * smooth(0.3, -0.9, p.x);
    let warm = (1.0 - smooth(0.0, 0.10, inside)) * smooth(0.5, 1.5, p.x);
    wool_of(light, p, unit).to(tint(0xE0A060), 0.36 * warm)
}

/// Returns the colour of knitting at a place, in this much light from 0 to 1.
pub(super) fn wool_of(light: f32, p: PlanePoint, unit: f32) -> Tint {
    WOOL_TINTS[1]
        .to(WOOL_TINTS[0], light)
        .lit(1.0 + stitches(p) * smooth(1.5, 5.5, STITCH_WIDTH * unit))
}

/// Returns the relief of knitting, which has columns of small arrows.
fn stitches(p: PlanePoint) -> f32 {
    const ROW_HEIGHT: f32 = 0.060;
    let bend = p.x + 0.05 * (p.y - 1.8) * p.x;
    let column = bend / STITCH_WIDTH;
    let across = 2.0 * (column - column.floor()) - 1.0;
    let row = p.y / ROW_HEIGHT + 0.8 * across.abs() - 0.12 * p.x * p.x;
    let down = row - row.floor();
    let loops = 1.0 - 4.0 * (down - 0.5) * (down - 0.5);
    let gap = bump(1.0 - across.abs()) * 0.8;
    let fuzz = 0.10 * noise_over(31, p * 38.0);
    let cable = mix(-0.10, 0.14, loops) - 0.16 * gap - 0.12 * bump(across / 0.18);
    0.85 * cable + fuzz
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neck_reaches_below_the_collar() {
        assert!(neck(at(0.0, 1.4)) < 0.0 && collar(at(0.0, 1.4)) < 0.0);
        assert!(pullover(at(0.0, 2.5)) < 0.0 && pullover(at(1.9, 2.5)) > 0.0);
    }

    #[test]
    fn skin_grows_lighter_with_light() {
        assert!(skin(0.9).video()[0] > skin(0.1).video()[0] + 20.0);
    }
}
