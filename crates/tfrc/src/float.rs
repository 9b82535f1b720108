//! The square root, which `core` does not offer without an operating system's mathematics library.

/// The correctly rounded square root, bit for bit that of IEEE 754; NaN below zero.
///
/// Newton's method on the significand comes within a unit of the last place, and one exact comparison
/// rounds. A tie cannot occur: the square of a number of exactly 54 bits has more significant bits than
/// the argument.
pub(crate) fn sqrt(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return sqrt_of_other(x);
    }
    let bits = x.to_bits();
    let fraction = bits & (ONE - 1);
    let exponent = (bits >> 52) as i64 - 1_023;
    // x = square · 4^half, 1 ≤ square < 4: an odd exponent lends one bit.
    let (half, odd) = (exponent >> 1, (exponent & 1) as u64);
    let square = f64::from_bits(fraction | (1_023 + odd) << 52);
    // Half the exponent and half the fraction is too large by 6 % at most. Each step halves the square
    // of the relative error, so four leave less than rounding does.
    let mut root = f64::from_bits((square.to_bits() >> 1) + (1_023 << 51));
    for _ in 0..4 {
        root = 0.5 * (root + square / root);
    }
    // In units of 2^-52: 2^52 ≤ root ≤ 2^53. What it leaves of the square is below 2^55, so that the low
    // bits tell it. The nearest root is the one with −root < rest ≤ root.
    let root = root.to_bits() - (1_022 << 52);
    let rest = ((fraction | ONE) << (52 + odd)).wrapping_sub(root.wrapping_mul(root)) as i64;
    let up = u64::from(rest > root as i64);
    let down = u64::from(rest <= -(root as i64));
    // At 2^53 the exponent takes the carry.
    f64::from_bits(root + up - down + ((1_022 + half) << 52) as u64)
}

/// What is not positive, normal and finite.
#[cold]
fn sqrt_of_other(x: f64) -> f64 {
    if x < 0.0 {
        f64::NAN
    } else if x > 0.0 && x < f64::MIN_POSITIVE {
        // A subnormal is scaled by an even power of two, which its root gives back.
        sqrt(x * EXP2_108) / EXP2_54
    } else {
        x
    }
}

/// The leading bit of a significand.
const ONE: u64 = 1 << 52;
/// 2^108 and its root.
const EXP2_108: f64 = f64::from_bits((1_023 + 108) << 52);
const EXP2_54: f64 = f64::from_bits((1_023 + 54) << 52);

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
        /// Next to a square, where rounding is closest to a tie.
        #[test]
        fn roots_beside_squares_are_the_platforms(root in 1u64 << 26..1 << 27, by in -3i64..=3, exponent in 1u64..0x7fe) {
            let square = (root * root) as f64;
            let significand = (square.to_bits() as i64 + by) as u64 & ((1 << 52) - 1);
            let x = f64::from_bits(significand | exponent << 52);
            prop_assert_eq!(sqrt(x).to_bits(), x.sqrt().to_bits());
        }

        #[test]
        fn every_root_is_the_platforms_bit_for_bit(bits in 0u64..0x7ff0_0000_0000_0000) {
            let x = f64::from_bits(bits);
            prop_assert_eq!(sqrt(x).to_bits(), x.sqrt().to_bits());
        }
    }
}
