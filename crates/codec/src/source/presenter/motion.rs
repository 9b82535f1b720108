//! This file computes how the presenter moves: head, eyes, breath and hand, each from the time and the seed.

use super::plane::{PlanePoint, at, chance, mix, noise, sine, smooth};
use super::speech::Speech;

/// The eyes blink once in this many milliseconds.
const BLINK_CELL_MILLIS: u64 = 3_300;

/// A blink takes this many milliseconds, closing and opening.
const BLINK_MILLIS: f32 = 230.0;

/// The eyes stay on a thing for this many milliseconds.
const GAZE_CELL_MILLIS: u64 = 1_500;

/// The hand makes at most one gesture in this many milliseconds.
const GESTURE_CELL_MILLIS: u64 = 7_600;

/// A pose describes the presenter at a moment; lengths are in the head's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    /// The head's distance from its place at rest.
    pub(super) head: PlanePoint,
    /// The sine of its tilt.
    pub(super) tilt: f32,
    /// The way of the nose's tip over the face, as the head turns aside and nods.
    pub(super) turn: PlanePoint,
    /// The height by which the shoulders rise.
    pub(super) breath: f32,
    /// The distance by which the body leans aside.
    pub(super) lean: f32,
    /// 0 with open eyes, 1 with closed ones.
    pub(super) blink: f32,
    /// The direction of the eyes, from -1 to 1 both ways.
    pub(super) gaze: PlanePoint,
    /// The height by which the brows rise, from 0 to 1.
    pub(super) brows: f32,
    pub(super) opening: f32,
    pub(super) vowel: f32,
    /// The height of the hand: 0 below the picture, and 1 raised.
    pub(super) raised: f32,
    /// The beat of the raised hand, from -1 to 1.
    pub(super) beat: f32,
}

impl Pose {
    pub(super) fn at_time(seed: u64, millis: u64) -> Self {
        let speech = Speech::new(seed);
        let seconds = millis as f32 / 1_000.0;
        let wander = |salt: u64, period: f32| {
            let slow = noise(seed ^ salt, seconds / period);
            slow + 0.35 * noise(seed ^ salt ^ 0xFF00, seconds / period * 2.7)
        };
        let opening = speech.opening(millis);
        let voice = speech.voice(millis);
        // The head moves more while it speaks.
        let liveliness = mix(0.55, 1.0, voice);
        let nod = wander(0x61, 0.8) * liveliness;
        let aside = wander(0x62, 1.7);
        let lean = wander(0x63, 3.9);
        Self {
            head: at(0.05 * aside + 0.045 * lean, 0.022 * nod),
            tilt: 0.045 * wander(0x64, 2.3),
            turn: at(0.11 * aside, 0.05 * nod - 0.012),
            breath: 0.5 + 0.5 * sine(seconds / 4.1),
            lean: 0.045 * lean,
            blink: blink(seed, millis),
            gaze: gaze(seed, millis),
            brows: (0.25 + 0.6 * wander(0x65, 1.1) * voice).clamp(0.0, 1.0),
            opening,
            vowel: speech.vowel(millis),
            raised: raised(seed, millis),
            beat: wander(0x66, 0.45),
        }
    }
}

fn blink(seed: u64, millis: u64) -> f32 {
    let cell = (millis / BLINK_CELL_MILLIS) as i64;
    let within = (millis % BLINK_CELL_MILLIS) as f32;
    let start = chance(seed ^ 0x71, cell) * (BLINK_CELL_MILLIS as f32 - 2.2 * BLINK_MILLIS);
    // Some blinks are double.
    let has_pause = chance(seed ^ 0x72, cell) < 0.2;
    let lid = |begin: f32| {
        let share = (within - begin) / BLINK_MILLIS;
        smooth(0.0, 0.35, share) * smooth(1.0, 0.45, share)
    };
    let second = if has_pause {
        lid(start + BLINK_MILLIS)
    } else {
        0.0
    };
    lid(start).max(second)
}

fn gaze(seed: u64, millis: u64) -> PlanePoint {
    let cell = (millis / GAZE_CELL_MILLIS) as i64;
    // Most of the time the eyes are on the camera.
    let target = |cell: i64| {
        if chance(seed ^ 0x73, cell) < 0.6 {
            return at(0.0, 0.0);
        }
        let aside = 1.5 * chance(seed ^ 0x74, cell) - 0.75;
        at(aside, chance(seed ^ 0x75, cell) - 0.5)
    };
    let share = smooth(0.0, 90.0, (millis % GAZE_CELL_MILLIS) as f32);
    let (from, to) = (target(cell - 1), target(cell));
    from + (to - from) * share
}

fn raised(seed: u64, millis: u64) -> f32 {
    let cell = (millis / GESTURE_CELL_MILLIS) as i64;
    if chance(seed ^ 0x76, cell) > 0.65 {
        return 0.0;
    }
    let within = (millis % GESTURE_CELL_MILLIS) as f32;
    let start = mix(300.0, 2_500.0, chance(seed ^ 0x77, cell));
    let length = mix(2_200.0, 3_800.0, chance(seed ^ 0x78, cell));
    smooth(start, start + 650.0, within) * smooth(start + length, start + length - 750.0, within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eyes_blink_a_few_times_a_minute() {
        let closed = (0..60_000)
            .step_by(10)
            .filter(|&millis| blink(5, millis) > 0.9);
        assert!((50..400).contains(&closed.count()));
    }

    #[test]
    fn hand_rises_now_and_then() {
        let up = (0..120_000)
            .step_by(100)
            .filter(|&millis| raised(5, millis) > 0.5);
        assert!((100..800).contains(&up.count()));
    }
}
