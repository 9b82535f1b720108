//! Figures as a journal prints them: SVG that is the same to the byte for the same numbers.
//!
//! Our own writer, because a library's text placement, dash patterns, confidence bands and number
//! formats are not ours to fix, and the bytes of a figure must not change with its version.

mod axis;
mod curve;
mod map;
mod pen;
mod svg;

pub(crate) use pen::escape;
pub(crate) use svg::columns;
pub use svg::draw;

/// Colours that people with colour vision deficiencies tell apart (Okabe and Ito, 2008), the darker
/// first; yellow is left out, which white paper swallows.
const COLOURS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9",
];
/// So that a figure in grey can be read too. Not a divisor's multiple of the colours, so that curves
/// beyond the last colour still look new.
const DASHES: [&str; 5] = ["", "5 2.5", "1.5 1.5", "7 2 1.5 2", "3 1.5"];

/// A number at six significant digits: beyond these, machines may differ in what their mathematics
/// library computes, and no reader looks.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A number for a person: at most four significant digits.
pub(crate) fn readable(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let short: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if short != 0.0 && !(1e-4..1e7).contains(&short.abs()) {
        format!("{short:e}")
    } else {
        short.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_in_files_and_four_for_people() {
        assert_eq!(rounded(0.123_456_789).to_string(), "0.123457");
        assert_eq!(rounded(1e6 / 3.0).to_string(), "333333");
        assert!(rounded(f64::NAN).is_nan());
        assert_eq!(readable(0.123_456), "0.1235");
        assert_eq!(readable(15e6), "1.5e7");
        assert_eq!(readable(f64::NAN), "–");
        assert_eq!(readable(0.0), "0");
    }
}
