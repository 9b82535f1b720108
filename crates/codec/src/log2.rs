//! The binary logarithm, equal on every machine.

/// The inverse of the precision.
const STEPS: f64 = 32_768.0;

/// Returns the binary logarithm of `value`, rounded down to a multiple of 2^-15. A value below 1 counts as 1.
///
/// The standard library's logarithm depends on the machine, and libm's does not.
pub(crate) fn log2(value: f64) -> f64 {
    (libm::log2(value.max(1.0)) * STEPS).floor() / STEPS
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
