//! The square root, which `core` does not offer without an operating system's mathematics library.

/// The correctly rounded square root, bit for bit that of IEEE 754; NaN below zero.
///
/// Integer square root of the significand shifted so far that the result has 54 bits: 53 to keep and
/// one to round by. A tie cannot occur, because the square of a number of exactly 54 bits has more
/// significant bits than the argument.
pub(crate) fn sqrt(x: f64) -> f64 {
    if x == 0.0 || x == f64::INFINITY || x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    // A subnormal is scaled by an even power of two, which its root gives back.
    if x < f64::MIN_POSITIVE {
        return sqrt(x * EXP2_108) / EXP2_54;
    }
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1_075;
    let significand = (bits & ((1 << 52) - 1)) | (1 << 52);
    // x = significand · 2^exponent; an odd exponent lends one bit.
    let odd = exponent.rem_euclid(2);
    let root = (u128::from(significand) << (54 + odd)).isqrt() as u64;
    // The root has 54 bits at scale 2^((exponent - odd)/2 - 27), and `as` rounds it to 53, to nearest.
    let sticky = (root << 1)
        | u64::from(u128::from(root) * u128::from(root) != u128::from(significand) << (54 + odd));
    scale(sticky as f64, (exponent - odd) / 2 - 28)
}

/// 2^108 and its root.
const EXP2_108: f64 = f64::from_bits((1_023 + 108) << 52);
const EXP2_54: f64 = f64::from_bits((1_023 + 54) << 52);

/// `x · 2^power`, where the result is a normal number.
fn scale(x: f64, power: i32) -> f64 {
    x * f64::from_bits(((1_023 + power) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_roots_are_exact() {
        for (x, root) in [
            (0.0, 0.0),
            (1.0, 1.0),
            (4.0, 2.0),
            (0.25, 0.5),
            (2.0, core::f64::consts::SQRT_2),
        ] {
            assert_eq!(sqrt(x), root);
        }
        assert!(sqrt(-1.0).is_nan());
        assert_eq!(sqrt(f64::INFINITY), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn every_root_is_the_platforms_bit_for_bit(bits in 0u64..0x7ff0_0000_0000_0000) {
            let x = f64::from_bits(bits);
            prop_assert_eq!(sqrt(x).to_bits(), x.sqrt().to_bits());
        }
    }
}
