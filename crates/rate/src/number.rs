//! Rates and times as numbers, and comparisons of numbers, none of which is NaN.
//!
//! [`f64::max`] and [`f64::min`] compile to several instructions, since they treat NaN apart.

use tfrc::time::Instant;

/// The highest rate, in bytes per second, so that arithmetic on rates stays finite.
pub(crate) const HIGHEST_RATE: f64 = 12.5e9;

/// Returns the time since the clock's zero, in seconds.
#[inline]
pub(crate) fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 * 1e-9
}

/// Returns the larger of two numbers.
#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Returns the smaller of two numbers.
#[inline]
pub(crate) fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}
