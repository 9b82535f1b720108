//! Random times, by arithmetic that gives the same on every machine.

use evenkeel_link::Random;

/// Exponential with mean 1, exactly: von Neumann's method (1951), which compares uniform numbers where
/// others take a logarithm.
///
/// Uniform numbers are drawn while they fall. If the first one that does not is the second, fourth …
/// of them, the first was an exponential's fraction; otherwise that exceeds one more whole.
pub(crate) fn exponential(random: &mut Random) -> f64 {
    let mut whole = 0.0;
    loop {
        let fraction = random.unit();
        let (mut last, mut falling) = (fraction, 1);
        loop {
            let next = random.unit();
            if next >= last {
                break;
            }
            last = next;
            falling += 1;
        }
        if falling % 2 == 1 {
            return whole + fraction;
        }
        whole += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_has_its_moments_and_its_tail() {
        let mut random = Random::new(1, 0);
        let drawn: Vec<f64> = (0..100_000).map(|_| exponential(&mut random)).collect();
        let mean = |of: &dyn Fn(f64) -> f64| drawn.iter().map(|&x| of(x)).sum::<f64>() / 1e5;
        let near = |value: f64, expected: f64| {
            assert!(
                (value / expected - 1.0).abs() < 0.03,
                "{value}, not {expected}"
            );
        };
        near(mean(&|x| x), 1.0);
        near(mean(&|x| x * x), 2.0);
        for tail in [0.1, 0.5, 1.0, 2.0, 3.0] {
            near(mean(&|x| f64::from(x > tail)), f64::exp(-tail));
        }
    }
}
