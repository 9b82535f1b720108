//! This file paints the plant on the window's sill: a pot, and leaves that bend under their weight.

use super::canvas::{PaintBounds, PaintCanvas, tint};
use super::plane::{PlanePoint, at, chance, mix, noise, smooth, stroke};

/// The plant has this many leaves.
const LEAF_COUNT: i64 = 19;

/// Paints the plant; the pot stands at `foot`.
pub(super) fn paint(canvas: &mut PaintCanvas, foot: PlanePoint, fine: u64) {
    let near = PaintBounds::around(foot - at(0.0, 0.15), 0.4);
    let rim = foot - at(0.0, 0.085);
    // Leaves from the back to the front.
    for leaf in 0..LEAF_COUNT {
        let drawn = |salt: u64| chance(fine ^ (0x200 + salt), leaf);
        let back = leaf as f32 / LEAF_COUNT as f32;
        let aside = mix(
            -1.0,
            1.0,
            ((leaf * 7) % LEAF_COUNT) as f32 / (LEAF_COUNT - 1) as f32,
        );
        let length = mix(0.15, 0.27, drawn(1)) * (1.1 - 0.35 * back);
        let stem = rim + at(0.015 * aside, 0.005);
        let tip = stem
            + at(
                0.75 * aside * length,
                -length * (1.05 - 0.55 * aside * aside),
            );
        let droop = tip
            + at(
                0.34 * aside * length,
                length * (0.10 + 0.25 * aside * aside),
            );
        let bright = mix(0.55, 1.05, drawn(2)) * (0.75 + 0.3 * back) * (1.0 - 0.22 * aside);
        blade(
            canvas,
            near,
            [stem, tip, droop],
            mix(0.014, 0.021, drawn(3)),
            bright,
        );
    }
    let pot = |p: PlanePoint| {
        let low = (p.y - rim.y) / (foot.y - rim.y);
        let wide = mix(0.05, 0.036, low);
        let body = ((p.x - foot.x).abs() - wide).max((p.y - (rim.y + foot.y) / 2.0).abs() - 0.043);
        body.min(((p.x - foot.x).abs() - 0.055).max((p.y - rim.y - 0.006).abs() - 0.011))
    };
    canvas.fill(near, pot, |p| {
        let across = (p.x - foot.x) / 0.055;
        let light = smooth(1.3, -0.6, across) - 0.25 * smooth(-0.5, -1.0, across);
        let shadow =
            1.0 - 0.35 * smooth(0.024, 0.016, p.y - rim.y) * smooth(0.014, 0.018, p.y - rim.y);
        let clay = 1.0 + 0.05 * noise(9, p.y * 300.0);
        tint(0x6B3626).to(tint(0xD88A5E), light).lit(shadow * clay)
    });
}

/// Paints a leaf along the curve of three points.
fn blade(
    canvas: &mut PaintCanvas,
    near: PaintBounds,
    [from, over, to]: [PlanePoint; 3],
    half: f32,
    bright: f32,
) {
    const BLADE_STEPS: usize = 14;
    let point = |share: f32| {
        let a = from + (over - from) * share;
        let b = over + (to - over) * share;
        a + (b - a) * share
    };
    let width = |share: f32| {
        half * (0.18 + 1.9 * share * (1.0 - share) * (1.4 - 0.5 * share) * 1.2).min(1.0)
            * smooth(1.02, 0.75, share)
    };
    let points: Vec<(PlanePoint, f32)> = (0..=BLADE_STEPS)
        .map(|step| {
            let share = step as f32 / BLADE_STEPS as f32;
            (point(share), width(share))
        })
        .collect();
    let nearest = |p: PlanePoint| {
        let ways = points.windows(2).map(|ends| {
            let middle = stroke(p, ends[0].0, ends[1].0, (0.0, 0.0));
            (
                stroke(p, ends[0].0, ends[1].0, (ends[0].1, ends[1].1)),
                middle,
            )
        });
        ways.fold(
            (1.0, 1.0),
            |best: (f32, f32), way| if way.0 < best.0 { way } else { best },
        )
    };
    let slim = PaintBounds {
        least: at(
            points
                .iter()
                .fold(near.most.x, |least, (p, _)| least.min(p.x))
                - 0.03,
            points
                .iter()
                .fold(near.most.y, |least, (p, _)| least.min(p.y))
                - 0.03,
        ),
        most: at(
            points
                .iter()
                .fold(near.least.x, |most, (p, _)| most.max(p.x))
                + 0.03,
            points
                .iter()
                .fold(near.least.y, |most, (p, _)| most.max(p.y))
                + 0.03,
        ),
    };
    canvas.fill(
        slim,
        |p| nearest(p).0,
        |p| {
            let rib = smooth(0.0022, 0.0008, nearest(p).1);
            let edge = smooth(-0.002, 0.0, nearest(p).0);
            tint(0x24432F)
                .to(tint(0x7FA45C), bright - 0.35)
                .lit(0.55 + 0.5 * bright)
                .to(tint(0xB4CC86), 0.4 * rib)
                .to(tint(0x152A20), 0.4 * edge)
        },
    );
}
