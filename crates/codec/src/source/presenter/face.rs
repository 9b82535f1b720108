//! This file draws the parts of the face that change with each picture: eyes, lids, brows and mouth.

use super::canvas::tint;
use super::motion::Pose;
use super::plane::{PlanePoint, at, bump, mix, smooth};
use super::sprite::Retouch;

/// Each eye has this place, from the face's middle line.
const EYE_CENTRE: PlanePoint = at(0.305, 0.005);

/// Half an eye has this width.
const EYE_HALF_WIDTH: f32 = 0.165;

/// An open eye's upper lid and lower lid have these distances from the line between its corners.
const LID_HEIGHTS: (f32, f32) = (0.098, 0.058);

/// Closed lips meet at this place.
const MOUTH_CENTRE: PlanePoint = at(0.0, 0.535);

// Each constant is a colour in Y, Cb and Cr.
const LID: [f32; 3] = tint(0xE3AA8C).video();
const CREASE: [f32; 3] = tint(0x8A4D40).video();
const WHITE_OF_EYE: [f32; 3] = tint(0xF4ECE4).video();
const SHADE_OF_EYE: [f32; 3] = tint(0xA9948F).video();
const IRIS_EDGE: [f32; 3] = tint(0x2C2018).video();
const IRIS: [f32; 3] = tint(0x4A3A22).video();
const IRIS_LIT: [f32; 3] = tint(0x8F8A4C).video();
const PUPIL: [f32; 3] = tint(0x120C0C).video();
const GLINT: [f32; 3] = tint(0xFFFFFF).video();
const LASH: [f32; 3] = tint(0x21120F).video();
const BROW: [f32; 3] = tint(0x47271B).video();
const UPPER_LIP: [f32; 3] = tint(0xB25750).video();
const LOWER_LIP: [f32; 3] = tint(0xCB6E64).video();
const LIP_LIT: [f32; 3] = tint(0xF2A898).video();
const LIP_LINE: [f32; 3] = tint(0x6B2A2A).video();
const CAVITY: [f32; 3] = tint(0x3A1214).video();
const TONGUE: [f32; 3] = tint(0xB4525A).video();
const TEETH: [f32; 3] = tint(0xF3EBE2).video();

/// The face follows a pose.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovingFace {
    pose: Pose,
}

impl MovingFace {
    pub(super) const fn new(pose: Pose) -> Self {
        Self { pose }
    }
}

impl Retouch for MovingFace {
    fn retouch(&self, place: PlanePoint, pixel: f32, video: [f32; 3]) -> [f32; 3] {
        let side = if place.x < 0.0 { -1.0 } else { 1.0 };
        let eye = at(place.x * side - EYE_CENTRE.x, place.y - EYE_CENTRE.y);
        let mut paint = FacePaint { video, pixel };
        // Most of the face is in none of these boxes. A pixel more keeps the smooth edges of coarse pictures.
        if eye.x.abs() < 0.20 + pixel && (-0.18 - pixel..0.07 + pixel).contains(&eye.y) {
            self.eye(&mut paint, eye, side);
        }
        if eye.x.abs() < 0.25 && (-0.37 - pixel..-0.18 + pixel).contains(&eye.y) {
            self.brow(&mut paint, eye, side);
        }
        let mouth = place - MOUTH_CENTRE;
        if mouth.x.abs() < 0.34 && (-0.11 - pixel..0.27 + pixel).contains(&mouth.y) {
            self.mouth(&mut paint, mouth);
        }
        paint.video
    }
}

/// A sample of the face takes paint.
struct FacePaint {
    video: [f32; 3],
    pixel: f32,
}

impl FacePaint {
    fn lay(&mut self, colour: [f32; 3], opacity: f32) {
        let opacity = opacity.clamp(0.0, 1.0);
        for (under, over) in self.video.iter_mut().zip(colour) {
            *under = mix(*under, over, opacity);
        }
    }

    /// Returns the share of a pixel that is inside a shape at this distance.
    fn cover(&self, distance: f32) -> f32 {
        (0.5 - distance / self.pixel).clamp(0.0, 1.0)
    }
}

impl MovingFace {
    /// Draws an eye; `p.x` goes outwards from the eye's middle.
    fn eye(&self, paint: &mut FacePaint, p: PlanePoint, side: f32) {
        let pose = &self.pose;
        let across = p.x / EYE_HALF_WIDTH;
        let arch = (1.0 - across * across).max(0.0);
        // The outer corner is a little higher than the inner one.
        let slant = -0.007 * across;
        let skewed = arch * (1.0 + 0.10 * across);
        let low = slant + LID_HEIGHTS.1 * arch;
        let open_lid = slant - LID_HEIGHTS.0 * skewed;
        let lid = mix(open_lid + 0.008 * pose.gaze.y, low - 0.004, pose.blink);
        let within = 1.0 - smooth(0.97, 1.03, across.abs());
        // The upper lid's skin, and its crease.
        let skin = paint.cover(open_lid - 0.035 * arch - p.y) * paint.cover(p.y - low) * within;
        paint.lay(LID, skin * (0.35 + 0.65 * pose.blink));
        let crease =
            (p.y - (slant - 0.012 - 0.135 * (1.0 - across * across * 0.8)) - 0.012 * pose.blink)
                .abs();
        paint.lay(
            CREASE,
            0.45 * smooth(0.016, 0.003, crease) * smooth(1.12, 0.75, across.abs()),
        );
        let ball = paint.cover(lid - p.y) * paint.cover(p.y - low) * within;
        if ball > 0.0 {
            self.ball(paint, p, side, ball, p.y - lid);
        }
        self.lashes(paint, p, across, lid, low);
    }

    /// Draws the eyeball in the lids' opening; `below` is the way down from the upper lid.
    fn ball(&self, paint: &mut FacePaint, p: PlanePoint, side: f32, cover: f32, below: f32) {
        let shaded = smooth(0.055, 0.0, below);
        let edge = smooth(0.5, 1.0, (p.x / EYE_HALF_WIDTH).abs());
        paint.lay(WHITE_OF_EYE, cover);
        paint.lay(SHADE_OF_EYE, cover * (0.75 * shaded).max(0.5 * edge));
        let gaze = self.pose.gaze;
        let iris = at(p.x * side, p.y) - at(0.048 * gaze.x - 0.006 * side, 0.022 * gaze.y - 0.018);
        let radius = iris.length();
        paint.lay(IRIS_EDGE, cover * paint.cover(radius - 0.088));
        let lit = smooth(-0.06, 0.07, iris.y) * (0.75 + 0.25 * smooth(-0.06, 0.05, iris.x));
        let bright = [0, 1, 2].map(|i| mix(IRIS[i], IRIS_LIT[i], lit));
        paint.lay(bright, cover * paint.cover(radius - 0.073));
        paint.lay(PUPIL, cover * paint.cover(radius - 0.040));
        paint.lay(PUPIL, 0.45 * cover * shaded * paint.cover(radius - 0.088));
        // The window's reflection, and a weak one of the lamp.
        let window = (iris - at(-0.030, -0.034)).length() - 0.021;
        paint.lay(GLINT, 0.95 * cover * paint.cover(window));
        let lamp = (iris - at(0.036, 0.034)).length() - 0.010;
        paint.lay(GLINT, 0.40 * cover * paint.cover(lamp));
    }

    fn lashes(&self, paint: &mut FacePaint, p: PlanePoint, across: f32, lid: f32, low: f32) {
        let long = smooth(-1.0, 1.0, across);
        let ends = smooth(1.14, 0.96, across.abs());
        let thick = mix(0.009, 0.024, long) * ends;
        // Beyond the outer corner the lashes go on upwards.
        let wing = 0.10 * (across - 0.92).max(0.0);
        let upper = (p.y - lid + wing + 0.4 * thick).abs() - thick;
        paint.lay(LASH, 0.95 * paint.cover(upper) * ends);
        let lower = (p.y - low).abs() - 0.005;
        paint.lay(
            LASH,
            0.42 * paint.cover(lower) * smooth(1.0, 0.8, across.abs()) * (0.4 + 0.6 * long),
        );
    }

    fn brow(&self, paint: &mut FacePaint, p: PlanePoint, side: f32) {
        let share = ((p.x + 0.20) / 0.43).clamp(0.0, 1.0);
        let rise = 0.050 * self.pose.brows + 0.010 * side * self.pose.turn.x;
        let line = -0.268 - 0.006 * (1.0 - share) - rise + 0.046 * smooth(0.42, 1.0, share);
        let half = mix(0.022, 0.012, share) * smooth(-0.22, -0.12, p.x) * smooth(0.245, 0.17, p.x);
        let distance = (p.y - line).abs() - half;
        let soft = 1.0 - smooth(-0.012, 0.010 + 0.5 * paint.pixel, distance);
        let hair = p.x * 38.0 + p.y * 22.0;
        let hairs = 0.86 + 0.14 * bump(2.0 * (hair - hair.floor()) - 1.0);
        if half > 0.002 {
            paint.lay(
                BROW,
                soft * hairs * mix(0.62, 0.86, smooth(0.0, 0.35, share)),
            );
        }
    }

    /// Draws the mouth; `p` is relative to [`MOUTH_CENTRE`].
    fn mouth(&self, paint: &mut FacePaint, p: PlanePoint) {
        let Pose { opening, vowel, .. } = self.pose;
        let wide = 0.265 + 0.030 * vowel.max(0.0) - 0.055 * (-vowel).max(0.0) - 0.020 * opening;
        let across = p.x / wide;
        let arch = (1.0 - across * across).max(0.0);
        let smile = 0.010 - 0.058 * across * across;
        let rounded = arch.sqrt() * 0.5 + arch * 0.5;
        // The lips' inner and outer edges.
        let inner_top = smile - 0.022 * opening * rounded + 0.008 * bump(across / 0.35);
        let inner_low = smile + 0.155 * opening * rounded + 0.006 * bump(across / 0.4);
        let bow = 0.014 * bump(across / 0.22);
        let outer_top =
            smile - (0.064 + 0.006 * opening) * arch.min(0.92) + bow - 0.020 * opening * rounded;
        let outer_low = inner_low + (0.086 - 0.012 * opening) * arch;
        let within = 1.0 - smooth(0.98, 1.02, across.abs());
        let upper = paint.cover(outer_top - p.y) * paint.cover(p.y - inner_low) * within;
        paint.lay(UPPER_LIP, 0.92 * upper);
        let lower = paint.cover(inner_top - p.y) * paint.cover(p.y - outer_low) * within;
        let lit = bump((p.y - (inner_low + 0.45 * (outer_low - inner_low))) / 0.035)
            * bump((p.x + 0.05) / 0.16);
        let lip = [0, 1, 2].map(|i| mix(LOWER_LIP[i], LIP_LIT[i], 0.65 * lit));
        paint.lay(lip, 0.92 * lower * paint.cover(inner_low - p.y));
        let gap = paint.cover(inner_top - p.y) * paint.cover(p.y - inner_low) * within;
        if opening > 0.01 && gap > 0.0 {
            paint.lay(CAVITY, gap);
            let tongue = at(p.x, p.y - inner_low - 0.012);
            let tongue = at(tongue.x / 0.15, tongue.y / 0.07).length();
            paint.lay(
                TONGUE,
                gap * smooth(1.05, 0.75, tongue) * smooth(0.15, 0.5, opening),
            );
            // The upper teeth hang from the lip.
            let teeth =
                inner_top + 0.040 * smooth(0.0, 0.4, opening) * (1.0 - 0.5 * across * across);
            let row = paint.cover(p.y - teeth) * smooth(0.92, 0.78, across.abs());
            paint.lay(TEETH, 0.92 * gap * row);
        }
        // Where the lips meet, and the corners.
        let line = (p.y - mix(inner_top, inner_low, 0.15)).abs();
        let meet = smooth(0.011 + 0.5 * paint.pixel, 0.002, line) * smooth(1.06, 0.9, across.abs());
        paint.lay(LIP_LINE, 0.80 * meet * (1.0 - smooth(0.05, 0.25, opening)));
        let corner = at(p.x.abs() - wide, p.y - smile).length();
        paint.lay(LIP_LINE, 0.38 * smooth(0.045, 0.0, corner));
    }
}
