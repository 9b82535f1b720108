//! The TCP throughput equation (RFC 5348 §3.1) and its inverse.

use core::time::Duration;

use libm::sqrt;

use crate::units::{Bytes, LossEventRate, Rate};

/// Returns X_Bps = s / (R·f(p)), with b = 1 and t_RTO = 4R (RFC 5348 §3.1).
///
/// The rate is infinite at p = 0, where the equation does not bind, and at R = 0.
#[inline]
pub fn rate(segment: Bytes, rtt: Duration, p: LossEventRate) -> Rate {
    let denominator = rtt.as_secs_f64() * f(sqrt(p.get()));
    if denominator > 0.0 {
        Rate::from_bytes_per_sec(segment.as_f64() / denominator)
    } else {
        Rate::INFINITY
    }
}

/// Returns the same as [`rate`] with another t_RTO (RFC 5348 §3.1).
pub fn rate_with_timeout(
    segment: Bytes,
    rtt: Duration,
    timeout: Duration,
    p: LossEventRate,
) -> Rate {
    let (p, root) = (p.get(), sqrt(p.get()));
    let timeouts = timeout.as_secs_f64() / 4.0 * (CUBIC * p * (1.0 + 32.0 * p * p));
    let denominator = root * (rtt.as_secs_f64() * LINEAR + timeouts);
    if denominator > 0.0 {
        Rate::from_bytes_per_sec(segment.as_f64() / denominator)
    } else {
        Rate::INFINITY
    }
}

/// Returns the loss event rate at which the equation allows `rate`: the inverse of the synthetic first interval.
///
/// RFC 5348 §6.3.1 asks for an accuracy of 5 %; this result is exact to rounding. The result is one where even p =
/// 1 allows more than `rate`, and zero where `rate` is infinite.
pub fn loss_event_rate(segment: Bytes, rtt: Duration, rate: Rate) -> LossEventRate {
    let (root, _) = invert(target_of(segment, rtt, rate));
    LossEventRate::new(root * root)
}

/// Returns the number of Newton steps that [`loss_event_rate`] takes; these steps are its cost.
pub fn steps_to_loss_event_rate(segment: Bytes, rtt: Duration, rate: Rate) -> u32 {
    invert(target_of(segment, rtt, rate)).1
}

/// Returns the value that f must have for the equation to allow `rate`.
fn target_of(segment: Bytes, rtt: Duration, rate: Rate) -> f64 {
    segment.as_f64() / (rtt.as_secs_f64() * rate.bytes_per_sec())
}

/// The factors √(2/3) and 12·√(3/8) of f(p) = √(2p/3) + 12·√(3p/8)·p·(1 + 32p²), a polynomial in √p.
const LINEAR: f64 = 0.816_496_580_927_726;
const CUBIC: f64 = 7.348_469_228_349_535;

/// Returns f(p) at p = root² (RFC 5348 §8.1).
fn f(root: f64) -> f64 {
    let p = root * root;
    root * (LINEAR + CUBIC * p * (1.0 + 32.0 * p * p))
}

/// Returns the √p at which f is `target`, and the number of steps; √p is one where f never reaches `target`.
///
/// f is convex and increasing in √p, so Newton's method from the right never overshoots. Every step shrinks the
/// error at least by a seventh and squares it near the root, so the method ends well before 64 steps.
fn invert(target: f64) -> (f64, u32) {
    if target.is_nan() || target >= f(1.0) {
        return (1.0, 0);
    }
    let mut root = if target < LINEAR {
        target / LINEAR
    } else {
        1.0
    };
    for step in 1..=64 {
        let p = root * root;
        let slope = LINEAR + CUBIC * p * (3.0 + 7.0 * 32.0 * p * p);
        let next = root - (f(root) - target) / slope;
        if next >= root || next <= 0.0 {
            return (root, step);
        }
        root = next;
    }
    (root, 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::duration_from_secs;
    use proptest::prelude::*;

    /// The expected rates are table B.3.3 of the thesis, recomputed from the equation (bytes per second).
    #[test]
    fn the_conformance_table_holds_to_a_hundred_thousandth() {
        for (s, p, r, x) in [
            (1_500, 0.006, 0.01, 2.250_06e6),
            (1_500, 0.026, 0.01, 919_512.0),
            (1_500, 0.1, 0.01, 265_515.0),
            (1_500, 0.01, 0.01, 1.684_98e6),
            (4_800, 0.006, 0.01, 7.200_21e6),
            (9_000, 0.006, 0.01, 1.350_04e7),
            (1_500, 0.006, 0.001, 2.250_06e7),
            (1_500, 0.006, 0.2, 112_503.0),
            (1_500, 0.006, 0.4, 56_251.6),
        ] {
            let got =
                rate(Bytes::new(s), duration_from_secs(r), LossEventRate::new(p)).bytes_per_sec();
            assert!(
                (got / x - 1.0).abs() < 1e-5,
                "s {s} p {p} R {r}: {got}, not {x}"
            );
        }
    }

    #[test]
    fn a_longer_timeout_weighs_where_loss_is_high() {
        let (s, rtt) = (Bytes::new(1_460), Duration::from_millis(100));
        let ratio = |timeout, p| {
            let p = LossEventRate::new(p);
            rate_with_timeout(s, rtt, timeout, p) / rate(s, rtt, p)
        };
        for p in [1e-6, 0.01, 0.5] {
            assert!((ratio(4 * rtt, p) - 1.0).abs() < 1e-12);
        }
        // At p = 0.1 the terms are √(0.2/3) = 0.2582 and 12·√(0.0375)·0.1·1.32 = 0.3067 for 4R.
        let second = Duration::from_secs(1);
        let expected = (0.258_199 + 0.306_740) / (0.258_199 + 2.5 * 0.306_740);
        assert!((ratio(second, 0.1) - expected).abs() < 1e-6);
        assert!(ratio(second, 1e-6) > 0.999_9);
    }

    #[test]
    fn without_loss_there_is_no_bound() {
        let rtt = Duration::from_millis(100);
        assert_eq!(
            rate(Bytes::new(1_000), rtt, LossEventRate::ZERO),
            Rate::INFINITY
        );
        assert_eq!(
            loss_event_rate(Bytes::new(1_000), rtt, Rate::INFINITY),
            LossEventRate::ZERO
        );
        assert_eq!(
            loss_event_rate(Bytes::new(1_000), rtt, Rate::ZERO),
            LossEventRate::ONE
        );
        assert_eq!(
            loss_event_rate(Bytes::ZERO, Duration::ZERO, Rate::ZERO),
            LossEventRate::ONE
        );
    }

    proptest! {
        #[test]
        fn the_inverse_gives_back_the_loss_event_rate(exponent in -12.0..0.0f64, rtt_us in 100u64..20_000_000) {
            let p = LossEventRate::new(10f64.powf(exponent));
            let (s, rtt) = (Bytes::new(1_460), Duration::from_micros(rtt_us));
            let back = loss_event_rate(s, rtt, rate(s, rtt, p)).get();
            prop_assert!((back / p.get() - 1.0).abs() < 1e-9, "{} became {back}", p.get());
        }

        #[test]
        fn the_rate_falls_as_loss_and_round_trip_rise(p in 1e-8..0.5f64, rtt_us in 100u64..10_000_000) {
            let s = Bytes::new(1_460);
            let rtt = Duration::from_micros(rtt_us);
            let here = rate(s, rtt, LossEventRate::new(p));
            prop_assert!(rate(s, rtt, LossEventRate::new(p * 1.01)) < here);
            prop_assert!(rate(s, rtt + rtt / 50, LossEventRate::new(p)) < here);
        }
    }
}
