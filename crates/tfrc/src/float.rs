//! The square root, which `core` does not offer without an operating system's mathematics library.

/// The correctly rounded square root, bit for bit that of IEEE 754; NaN below zero.
///
/// Newton's method on the significand comes within a unit of the last place, and one exact comparison
/// rounds. A tie cannot occur: the square of a number of exactly 54 bits has more significant bits than
/// the argument.
#[inline]
pub fn sqrt(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = bits >> 52;
    // Zero, a subnormal, infinity, NaN, or a sign.
    if exponent.wrapping_sub(1) >= 0x7fe {
        return sqrt_of_other(x);
    }
    // Half the exponent and half the fraction is too large by 6 % at most. Each step halves the square
    // of the relative error, so four leave less than rounding does.
    let mut root = f64::from_bits((bits >> 1) + (1_023 << 51));
    for _ in 0..4 {
        root = 0.5 * (root + x / root);
    }
    // The significand in units of 2^-52: 2^52 ≤ significand ≤ 2^53. What its square leaves of that of x,
    // which an odd exponent lends one bit, is below 2^55, so that the low bits tell it. The nearest root
    // is the one with −significand < rest ≤ significand.
    let root = root.to_bits();
    let (half, odd) = ((exponent + 1) >> 1, (exponent + 1) & 1);
    let significand = root - ((510 + half) << 52);
    let rest = (bits << 52 << odd).wrapping_sub(significand.wrapping_mul(significand)) as i64;
    let significand = significand as i64;
    f64::from_bits(if rest > significand {
        root + 1
    } else if rest <= -significand {
        root - 1
    } else {
        root
    })
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
