//! This file paints the presenter's head without eyes and mouth: face, nose and hair, about (0, 0).

use super::body::skin;
use super::canvas::{PaintBounds, PaintCanvas, Tint, tint};
use super::plane::{
    PlanePoint, at, block, bump, circle, egg, ellipse, join, mix, noise, noise_over, smooth, stroke,
};

/// The head's canvas holds these places.
pub(super) const BOUNDS: PaintBounds = PaintBounds::new(-1.08, -1.36, 1.08, 1.10);

/// Hair has these colours in shadow, between, and in its shine.
const HAIR_TINTS: [Tint; 3] = [tint(0x2A1510), tint(0x6B3A22), tint(0xC98A52)];

/// The hair parts at this place.
const HAIR_PARTING: PlanePoint = at(-0.27, -1.22);

/// Paints the hair that hangs behind the neck.
pub(super) fn paint_back(canvas: &mut PaintCanvas, fine: u64) {
    canvas.fill(
        BOUNDS,
        |p| hair_outline(p, fine) + 0.01 + 0.07 * smooth(0.7, 0.2, p.y),
        |p| hair(p, fine).lit(0.42),
    );
}

/// Paints the face and the hair before it.
pub(super) fn paint(canvas: &mut PaintCanvas, fine: u64) {
    // Hair beside the face, so that nothing of the room shows between both.
    let beside =
        |p: PlanePoint| (hair_outline(p, fine) + 0.02).max((p.y - 0.5).min(0.47 - p.x.abs()));
    canvas.fill(BOUNDS, beside, |p| hair(p, fine).lit(0.42));
    canvas.fill(BOUNDS, face, complexion);
    shade_features(canvas);
    // The hair's shadow on the forehead and the temples.
    canvas.glaze(BOUNDS, |p| {
        let above = hair_front(p - at(0.03, 0.07), fine);
        (
            tint(0x7A3F33),
            0.55 * smooth(0.10, -0.02, above) * smooth(1.0, 0.3, p.y),
        )
    });
    canvas.fill(
        BOUNDS,
        |p| hair_front(p, fine),
        |p| {
            let inside = -hair_front(p, fine);
            let depth = mix(0.62, 1.0, smooth(0.0, 0.11, inside));
            hair(p, fine).lit(depth)
        },
    );
}

/// Returns the distance to the face's outline.
pub(super) fn face(p: PlanePoint) -> f32 {
    let skull = egg(p, at(0.0, -0.26), (0.73, 0.40), 0.74);
    let cheeks = ellipse(p, at(0.0, 0.28), at(0.635, 0.52));
    let chin = circle(p, at(0.0, 0.66), 0.255);
    join(join(skull, cheeks, 0.12), chin, 0.12)
}

fn complexion(p: PlanePoint) -> Tint {
    // A rounded front: its normal's part towards the window, which is left, a little above, and before the face.
    let (x, y) = (p.x / 0.80, (p.y + 0.02) / 1.06);
    let front = (1.0 - x * x - y * y).max(0.02).sqrt();
    let towards = -0.56 * x - 0.30 * y + 0.66 * front;
    let light = 0.22 + 0.70 * smooth(-0.35, 0.98, towards);
    let rim = smooth(0.55, 0.76, p.x) * smooth(-0.7, 0.0, p.y);
    skin(light)
        .to(tint(0xF7A868), 0.42 * rim)
        .lit(1.0 + 0.012 * noise_over(5, p * 30.0))
}

/// Paints the cheeks, the nose, the eye sockets, and the shadow under the lip.
fn shade_features(canvas: &mut PaintCanvas) {
    let glow = |canvas: &mut PaintCanvas,
                centre: PlanePoint,
                radii: PlanePoint,
                colour: u32,
                opacity: f32| {
        canvas.glaze(BOUNDS, |p| {
            let q = p - centre;
            (
                tint(colour),
                opacity * bump(at(q.x / radii.x, q.y / radii.y).length().min(1.0)),
            )
        });
    };
    for side in [-1.0, 1.0] {
        glow(
            canvas,
            at(0.40 * side, 0.31),
            at(0.30, 0.23),
            0xE8745F,
            0.36,
        );
        glow(
            canvas,
            at(0.30 * side, -0.10),
            at(0.30, 0.17),
            0xA5604E,
            if side < 0.0 { 0.30 } else { 0.42 },
        );
        glow(
            canvas,
            at(0.30 * side, 0.16),
            at(0.24, 0.07),
            0xA5604E,
            0.17,
        );
    }
    // The nose: the shadow of its bridge to the right, its side, its tip and nostrils.
    canvas.glaze(BOUNDS, |p| {
        let bridge = stroke(p, at(0.085, -0.16), at(0.145, 0.24), (0.0, 0.0));
        (
            tint(0xA9654F),
            0.50 * smooth(0.10, 0.0, bridge) * smooth(-0.25, 0.15, p.y),
        )
    });
    glow(canvas, at(-0.02, -0.02), at(0.055, 0.30), 0xFFEBD6, 0.50);
    glow(canvas, at(0.0, 0.30), at(0.22, 0.10), 0xB56B55, 0.40);
    glow(canvas, at(0.01, 0.215), at(0.135, 0.125), 0xF6C0A0, 0.85);
    glow(canvas, at(-0.035, 0.18), at(0.07, 0.07), 0xFFF3E4, 0.75);
    canvas.glaze(BOUNDS, |p| {
        let wing = |side: f32| {
            let curve = ellipse(p, at(0.105 * side, 0.245), at(0.065, 0.06)).abs();
            smooth(0.022, 0.0, curve) * smooth(0.07, 0.15, p.x * side)
        };
        let nostril = |side: f32| {
            smooth(
                0.012,
                -0.016,
                ellipse(p, at(0.062 * side, 0.297), at(0.038, 0.017)),
            )
        };
        let wings = 0.55 * wing(-1.0).max(wing(1.0) * 1.2);
        (
            tint(0x7A3B30),
            wings.max(0.72 * nostril(-1.0).max(nostril(1.0))),
        )
    });
    // Between nose and lip, under the lip, and the chin's light.
    glow(canvas, at(0.012, 0.40), at(0.045, 0.07), 0xB56B55, 0.32);
    glow(canvas, at(0.0, 0.70), at(0.20, 0.07), 0xA9604E, 0.42);
    glow(canvas, at(-0.06, 0.79), at(0.16, 0.09), 0xFFE0C6, 0.35);
    canvas.glaze(BOUNDS, |p| {
        let fold = |side: f32| {
            let line = stroke(
                at(p.x * side, p.y),
                at(0.185, 0.30),
                at(0.33, 0.50),
                (0.0, 0.0),
            );
            smooth(0.035, 0.0, line)
        };
        (tint(0xB06A55), 0.15 * fold(-1.0).max(fold(1.0)))
    });
}

/// Returns the distance to the outline of all the hair, whose ends are uneven.
fn hair_outline(p: PlanePoint, fine: u64) -> f32 {
    let crown = ellipse(p, at(0.0, -0.30), at(0.93, 0.98));
    let sides = block(p, at(0.0, 0.18), at(0.93 + 0.05 * p.y, 0.72), 0.34);
    let ends = 0.026 * noise(fine ^ 0x81, p.x * 7.0) + 0.016 * noise(fine ^ 0x82, p.x * 38.0);
    join(crown, sides, 0.2) + ends * smooth(0.3, 0.8, p.y)
}

/// Returns the distance to the hair before the face: the outline without an opening.
fn hair_front(p: PlanePoint, fine: u64) -> f32 {
    let opening = block(p, at(0.015, 0.55), at(0.655, 1.40), 0.62);
    // The fringe falls from the parting to both sides.
    let right = smooth(-0.36, 0.84, p.x);
    let left = smooth(-0.20, -0.74, p.x);
    let fringe = -0.73 + 0.66 * right * right.sqrt() + 0.40 * left;
    let locks = 0.013 * noise(fine ^ 0x83, p.x * 9.0 + 5.0 * p.y);
    let bare = -join(-opening, (p.y - fringe - locks) * 0.8, 0.16);
    hair_outline(p, fine).max(-bare)
}

/// Returns the colour of the hair; strands fan out from the parting and fall.
fn hair(p: PlanePoint, fine: u64) -> Tint {
    let q = p - HAIR_PARTING;
    let fall = q.y.max(0.0) + 0.22 * q.x.abs() + 0.04;
    let fan = 1.30 * fall / (fall + 0.42) + 0.06;
    let strand = q.x / fan + 0.06 * noise(fine ^ 0x84, q.y * 2.2);
    let lock = noise(fine ^ 0x85, strand * 7.0);
    let thread =
        0.55 * noise(fine ^ 0x86, strand * 24.0) + 0.45 * noise(fine ^ 0x87, strand * 58.0);
    // A band of light runs over the crown; another one is weaker, near the ends.
    let height = p.y + 0.30 * p.x * p.x + 0.05 * lock;
    let band = bump((height + 0.74) / 0.30) + 0.55 * bump((height - 0.36) / 0.34);
    let side = smooth(1.0, -0.7, p.x);
    let shine = band * (0.25 + 0.75 * side) * (0.55 + 0.5 * thread);
    let [dark, middle, light] = HAIR_TINTS;
    let body = dark.to(middle, 0.42 + 0.30 * side + 0.26 * lock + 0.30 * thread);
    let warm = smooth(0.72, 0.98, p.x) * smooth(-1.0, -0.2, p.y);
    body.to(light, 0.75 * shine.max(0.0))
        .to(tint(0xE39A55), 0.30 * warm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hair_leaves_the_face_free() {
        for place in [at(0.0, 0.0), at(-0.3, 0.0), at(0.3, 0.0), at(0.0, 0.5)] {
            assert!(face(place) < 0.0 && hair_front(place, 1) > 0.0, "{place:?}");
        }
        assert!(hair_front(at(0.0, -1.1), 1) < 0.0);
    }
}
