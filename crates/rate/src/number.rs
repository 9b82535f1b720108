//! Comparisons of numbers, none of which is NaN.
//!
//! [`f64::max`] and [`f64::min`] compile to several instructions, since they pass over NaN.

/// The larger of two numbers.
#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The smaller of two numbers.
#[inline]
pub(crate) fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}
