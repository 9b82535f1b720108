//! This file paints the presenter's forearm and hand, with the wrist at (0, 0) and the fingers upwards.

use super::body::{skin, wool_of};
use super::canvas::{PaintBounds, PaintCanvas, tint};
use super::plane::{PlanePoint, at, bump, join, sine, smooth, stroke};

/// The hand's canvas holds these places.
pub(super) const BOUNDS: PaintBounds = PaintBounds::new(-0.85, -1.25, 1.35, 2.3);

/// Each finger has a root and a tip.
const FINGER_LINES: [(PlanePoint, PlanePoint); 4] = [
    (at(-0.215, -0.44), at(-0.40, -0.86)),
    (at(-0.075, -0.52), at(-0.155, -1.05)),
    (at(0.075, -0.52), at(0.085, -1.07)),
    (at(0.205, -0.45), at(0.30, -0.95)),
];

pub(super) fn paint(canvas: &mut PaintCanvas) {
    let unit = canvas.unit;
    let sleeve = |p: PlanePoint| stroke(p, at(0.04, 0.24), at(0.75, 2.4), (0.255, 0.46));
    // The shadow on the pullover.
    canvas.paint(BOUNDS, |p| {
        let near = hand(p - at(0.07, 0.06)).min(sleeve(p - at(0.09, 0.05)));
        (
            tint(0x06181C),
            0.38 * smooth(0.10, -0.04, near) * smooth(-0.1, 0.15, p.x),
        )
    });
    canvas.fill(BOUNDS, hand, |p| {
        let inside = (-hand(p)).max(0.0);
        let light = 0.50 + 0.40 * smooth(0.35, -0.4, p.x)
            - 0.34 * smooth(0.06, 0.0, inside) * smooth(-0.3, 0.3, p.x);
        skin(light)
    });
    creases(canvas);
    canvas.fill(BOUNDS, sleeve, |p| {
        // Round like a tube: light on the window's side, darker at both edges.
        let inside = (-sleeve(p)).max(0.0);
        let across = p.x - 0.33 * p.y;
        let light = 0.86 - 0.62 * smooth(-0.22, 0.40, across) - 0.42 * smooth(0.09, 0.0, inside);
        wool_of(light, p + at(0.2, 0.0), unit)
    });
    let cuff = |p: PlanePoint| {
        let tube = stroke(p, at(0.0, 0.17), at(0.09, 0.44), (0.262, 0.275));
        tube.max(p.y + 0.25 * p.x - 0.47)
    };
    canvas.glaze(BOUNDS, |p| {
        (tint(0x06181C), 0.45 * smooth(0.07, 0.0, cuff(p)))
    });
    canvas.fill(BOUNDS, cuff, |p| {
        let ribs = 0.10 * sine(p.x * 11.0);
        let light = 0.78 - 0.6 * smooth(-0.2, 0.3, p.x) + ribs;
        wool_of(light, at(0.037, 0.0), unit).lit(0.95)
    });
}

/// Returns the distance to the outline of the hand.
fn hand(p: PlanePoint) -> f32 {
    let palm = join(
        stroke(p, at(-0.09, -0.34), at(0.09, -0.34), (0.20, 0.20)),
        stroke(p, at(0.0, 0.2), at(0.0, -0.1), (0.155, 0.19)),
        0.22,
    );
    let thumb = join(
        stroke(p, at(0.16, -0.12), at(0.40, -0.34), (0.13, 0.095)),
        stroke(p, at(0.40, -0.34), at(0.50, -0.58), (0.095, 0.072)),
        0.04,
    );
    let fingers = FINGER_LINES
        .iter()
        .map(|&(root, tip)| stroke(p, root, tip, (0.092, 0.066)));
    let fingers = fingers.fold(f32::MAX, f32::min);
    join(join(palm, fingers, 0.07), thumb, 0.09)
}

/// Paints the lines of the palm, and shadows between the fingers and at their joints.
fn creases(canvas: &mut PaintCanvas) {
    canvas.glaze(BOUNDS, |p| {
        let life = ((p - at(0.27, -0.06)).length() - 0.25).abs() + 0.4 * (p.x - 0.12).max(0.0);
        let heart =
            (p.y + 0.40 + 0.10 * p.x - 0.5 * p.x * p.x).abs() + 0.5 * (p.x.abs() - 0.15).max(0.0);
        let lines = smooth(0.018, 0.0, life).max(smooth(0.016, 0.0, heart));
        (tint(0xB0654F), 0.5 * lines)
    });
    for (root, tip) in FINGER_LINES {
        for share in [0.06, 0.42, 0.70] {
            let joint = root + (tip - root) * share;
            canvas.glaze(PaintBounds::around(joint, 0.1), |p| {
                let along = ((p.y - joint.y) + 0.25 * (p.x - joint.x)).abs();
                let across = bump((p.x - joint.x) / 0.08);
                (tint(0xB56B55), 0.42 * smooth(0.016, 0.0, along) * across)
            });
        }
        canvas.glaze(PaintBounds::around(tip, 0.12), |p| {
            (tint(0xF29A84), 0.30 * bump((p - tip).length() / 0.1))
        });
    }
    canvas.glaze(BOUNDS, |p| {
        let ball = bump((p - at(0.17, -0.14)).length() / 0.2);
        (tint(0xFFDCC2), 0.35 * ball)
    });
    canvas.glaze(BOUNDS, |p| {
        (tint(0x7A3F33), 0.55 * smooth(-0.12, 0.12, p.y))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingers_are_apart_at_their_tips() {
        let between = (FINGER_LINES[1].1 + FINGER_LINES[2].1) * 0.5;
        assert!(hand(FINGER_LINES[1].1) < 0.0 && hand(between) > 0.0);
    }
}
