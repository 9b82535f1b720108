//! The binary logarithm, equal on every machine.

/// The binary logarithm of what is at least 1 (less counts as 1), to 2^-16.
///
/// The library's is not the same on every machine; this is exact arithmetic: a square's logarithm is
/// twice the number's.
pub(crate) fn log2(value: f64) -> f64 {
    let mut mantissa = value.max(1.0);
    let mut logarithm = 0.0;
    while mantissa >= 2.0 {
        mantissa /= 2.0;
        logarithm += 1.0;
    }
    let mut bit = 0.5;
    while bit > 1.0 / 65_536.0 {
        mantissa *= mantissa;
        if mantissa >= 2.0 {
            mantissa /= 2.0;
            logarithm += bit;
        }
        bit /= 2.0;
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right_to_four_digits() {
        for value in [1.0, 1.5, 2.0, 1000.0, 123_456_789.0, 1e19] {
            assert!((log2(value) - f64::log2(value)).abs() < 1e-4, "{value}");
        }
        assert_eq!((log2(0.0), log2(f64::NAN)), (0.0, 0.0));
    }
}
