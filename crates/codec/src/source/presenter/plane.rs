//! This file computes points, distances to shapes, noise and a sine from + - * / and square roots alone.

use core::ops::{Add, Mul, Sub};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// SplitMix64 adds this to its state before each number (Steele et al. 2014).
const SPLIT_MIX_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A point or a vector has x to the right and y downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlanePoint {
    pub(super) x: f32,
    pub(super) y: f32,
}

pub(super) const fn at(x: f32, y: f32) -> PlanePoint {
    PlanePoint { x, y }
}

impl PlanePoint {
    pub(super) fn length(self) -> f32 {
        (self.x * self.x + self.y * self.y).sqrt()
    }

    fn dot(self, other: Self) -> f32 {
        self.x * other.x + self.y * other.y
    }

    /// Returns the vector turned clockwise on the screen by an angle of this sine.
    pub(super) fn turned(self, sine: f32) -> Self {
        let cosine = (1.0 - sine * sine).sqrt();
        at(
            self.x * cosine - self.y * sine,
            self.x * sine + self.y * cosine,
        )
    }
}

impl Add for PlanePoint {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        at(self.x + other.x, self.y + other.y)
    }
}

impl Sub for PlanePoint {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        at(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f32> for PlanePoint {
    type Output = Self;
    fn mul(self, factor: f32) -> Self {
        at(self.x * factor, self.y * factor)
    }
}

pub(super) fn mix(from: f32, to: f32, share: f32) -> f32 {
    from + (to - from) * share
}

/// Returns 0 up to `from`, 1 beyond `to`, and 3t² - 2t³ between; `to` may be below `from`.
pub(super) fn smooth(from: f32, to: f32, value: f32) -> f32 {
    let t = ((value - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Returns 1 at 0, less on both sides, and 0 from -1 and 1 on.
pub(super) fn bump(value: f32) -> f32 {
    let rest = (1.0 - value * value).max(0.0);
    rest * rest
}

/// Returns the sine of a number of turns, to 0.001, from a parabola and its square.
pub(super) fn sine(turns: f32) -> f32 {
    let phase = turns - turns.floor();
    let (half, sign) = if phase < 0.5 {
        (2.0 * phase, 1.0)
    } else {
        (2.0 * phase - 1.0, -1.0)
    };
    let arch = 4.0 * half * (1.0 - half);
    sign * arch * (0.775 + 0.225 * arch)
}

/// Returns a number from 0 to 1 for each index: the number of this index, from 1, in the stream of the seed.
pub(super) fn chance(seed: u64, index: i64) -> f32 {
    let passed = (index as u64).wrapping_sub(1).wrapping_mul(SPLIT_MIX_STEP);
    let number = SplitMix64::seed_from_u64(seed.wrapping_add(passed)).next_u64();
    (number >> 40) as f32 / 16_777_216.0
}

/// Returns value noise from -1 to 1 along a line.
pub(super) fn noise(seed: u64, place: f32) -> f32 {
    let cell = place.floor();
    let share = smooth(0.0, 1.0, place - cell);
    let cell = cell as i64;
    2.0 * mix(chance(seed, cell), chance(seed, cell + 1), share) - 1.0
}

/// Returns value noise from -1 to 1 over the plane.
pub(super) fn noise_over(seed: u64, place: PlanePoint) -> f32 {
    let row = place.y.floor();
    let share = smooth(0.0, 1.0, place.y - row);
    let row_seed = |row: f32| seed.wrapping_add((row as i64 as u64).wrapping_mul(0x632B_E59B));
    mix(
        noise(row_seed(row), place.x),
        noise(row_seed(row + 1.0), place.x),
        share,
    )
}

/// Returns the distance to an ellipse, exact at the edge.
pub(super) fn ellipse(place: PlanePoint, centre: PlanePoint, radii: PlanePoint) -> f32 {
    let p = place - centre;
    let scaled = at(p.x / radii.x, p.y / radii.y).length();
    let slope = at(p.x / (radii.x * radii.x), p.y / (radii.y * radii.y)).length();
    scaled * (scaled - 1.0) / slope.max(1e-6)
}

pub(super) fn circle(place: PlanePoint, centre: PlanePoint, radius: f32) -> f32 {
    (place - centre).length() - radius
}

/// Returns the distance to a box with round corners; `half` has half of each side.
pub(super) fn block(place: PlanePoint, centre: PlanePoint, half: PlanePoint, round: f32) -> f32 {
    let p = place - centre;
    let beyond = at(p.x.abs() - half.x + round, p.y.abs() - half.y + round);
    at(beyond.x.max(0.0), beyond.y.max(0.0)).length() + beyond.x.max(beyond.y).min(0.0) - round
}

/// Returns the distance to a line whose thickness goes from one radius to the next.
pub(super) fn stroke(
    place: PlanePoint,
    from: PlanePoint,
    to: PlanePoint,
    radii: (f32, f32),
) -> f32 {
    let (p, line) = (place - from, to - from);
    let share = (p.dot(line) / line.dot(line).max(1e-9)).clamp(0.0, 1.0);
    (p - line * share).length() - mix(radii.0, radii.1, share)
}

/// Returns the distance to the hull of two circles, the second one straight below the first.
pub(super) fn egg(place: PlanePoint, centre: PlanePoint, radii: (f32, f32), height: f32) -> f32 {
    let p = at((place.x - centre.x).abs(), place.y - centre.y);
    let slope = (radii.0 - radii.1) / height;
    let cosine = (1.0 - slope * slope).max(0.0).sqrt();
    let along = p.y * cosine - p.x * slope;
    if along < 0.0 {
        p.length() - radii.0
    } else if along > cosine * height {
        at(p.x, p.y - height).length() - radii.1
    } else {
        p.x * cosine + p.y * slope - radii.0
    }
}

/// Returns the union of two shapes with a fillet of this size.
pub(super) fn join(a: f32, b: f32, fillet: f32) -> f32 {
    let overlap = (fillet - (a - b).abs()).max(0.0) / fillet;
    a.min(b) - overlap * overlap * fillet * 0.25
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_is_near_the_true_one() {
        for (turns, value) in [(0.0, 0.0), (1.0 / 12.0, 0.5), (0.25, 1.0), (-0.25, -1.0)] {
            assert!((sine(turns) - value).abs() < 2e-3, "{turns}");
        }
    }

    #[test]
    fn noise_stays_between_its_bounds() {
        for step in -500_i16..500 {
            let place = f32::from(step) * 0.37;
            assert!(noise(3, place).abs() <= 1.0);
            assert!(noise_over(3, at(place, -place * 0.3)).abs() <= 1.0);
        }
    }

    #[test]
    fn distances_are_zero_at_the_edges() {
        let origin = at(0.0, 0.0);
        for distance in [
            ellipse(at(2.0, 0.0), origin, at(2.0, 1.0)),
            circle(at(0.0, 1.0), origin, 1.0),
            block(at(1.0, 0.0), origin, at(1.0, 2.0), 0.3),
            stroke(at(1.0, 0.5), origin, at(2.0, 0.0), (0.5, 0.5)),
            egg(at(0.0, -1.0), origin, (1.0, 0.5), 2.0),
            egg(at(0.0, 2.5), origin, (1.0, 0.5), 2.0),
        ] {
            assert!(distance.abs() < 1e-5, "{distance}");
        }
    }
}
