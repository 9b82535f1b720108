//! The distributions that traffic is drawn from, by arithmetic that gives the same on every machine.

use evenkeel_link::Random;

/// How a quantity is distributed. Means are in the unit of the quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Constant(f64),
    /// Exponential.
    Exponential {
        /// Its mean, above 0.
        mean: f64,
    },
    /// Pareto, heavy-tailed: with a shape of at most 2 its variance is infinite.
    Pareto {
        /// Its mean, above 0.
        mean: f64,
        /// Its shape, above 1.
        shape: f64,
    },
}

impl Law {
    /// True if it is what its fields say that it must be, with a mean above zero.
    pub fn is_valid(&self) -> bool {
        match *self {
            Self::Constant(mean) | Self::Exponential { mean } => mean > 0.0 && mean.is_finite(),
            Self::Pareto { mean, shape } => {
                mean > 0.0 && mean.is_finite() && shape > 1.0 && shape.is_finite()
            }
        }
    }

    /// The next value.
    pub fn draw(&self, random: &mut Random) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential { mean } => mean * exponential(random),
            Self::Pareto { mean, shape } => {
                // Its logarithm above the least value is exponential.
                let least = mean * (shape - 1.0) / shape;
                least * exp(exponential(random) / shape)
            }
        }
    }
}

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

/// e^x for x from 0 up, to twelve digits: the series near zero, then squared.
pub(crate) fn exp(x: f64) -> f64 {
    let (mut near, mut squarings) = (x, 0);
    while near > 1.0 / 16.0 {
        near /= 2.0;
        squarings += 1;
    }
    let series = (1..=9)
        .rev()
        .fold(1.0, |sum, n| 1.0 + near / f64::from(n) * sum);
    (0..squarings).fold(series, |power, _| power * power)
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

    fn draws(law: Law) -> Vec<f64> {
        let mut random = Random::new(1, 0);
        (0..200_000).map(|_| law.draw(&mut random)).collect()
    }

    fn share_above(draws: &[f64], bound: f64) -> f64 {
        draws.iter().filter(|&&draw| draw > bound).count() as f64 / draws.len() as f64
    }

    #[test]
    fn the_pareto_has_its_least_value_its_mean_and_its_tail() {
        let law = Law::Pareto {
            mean: 3.0,
            shape: 3.0,
        };
        let draws = draws(law);
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
        let least = draws.iter().copied().fold(f64::MAX, f64::min);
        assert!((2.0..2.001).contains(&least), "{least}");
        // (2/x)³.
        assert!((share_above(&draws, 4.0) - 0.125).abs() < 0.005);
        assert!((share_above(&draws, 20.0) - 0.001).abs() < 0.000_4);
    }

    #[test]
    fn the_power_of_e_has_twelve_digits() {
        for x in [0.0, 1e-9, 0.06, 0.5, 1.0, 7.5, 30.0] {
            assert!((exp(x) / f64::exp(x) - 1.0).abs() < 1e-12, "{x}");
        }
    }

    #[test]
    fn what_has_no_mean_is_invalid() {
        let invalid = [
            Law::Constant(0.0),
            Law::Exponential { mean: f64::NAN },
            Law::Pareto {
                mean: 1.0,
                shape: 1.0,
            },
        ];
        assert!(invalid.iter().all(|law| !law.is_valid()));
    }
}
