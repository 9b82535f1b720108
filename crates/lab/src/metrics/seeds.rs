//! One quantity over several seeds.

use serde::{Deserialize, Serialize};

use super::mean;

/// A mean and its 90 % confidence interval: over seeds, or over the batches of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    #[serde(with = "text")]
    pub mean: f64,
    /// Half the width of the interval; `None` with fewer than two seeds or batches.
    #[serde(with = "text::any")]
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The mean of independent ones, whose errors add as squares.
    pub fn mean_of(estimates: &[Self]) -> Self {
        let means: Vec<f64> = estimates.iter().map(|estimate| estimate.mean).collect();
        let squares: Option<f64> = estimates
            .iter()
            .map(|estimate| estimate.half_width.map(|half| half * half))
            .sum();
        Self {
            mean: mean(&means),
            half_width: squares.map(|sum| sum.sqrt() / estimates.len() as f64),
        }
    }

    /// How many times another, independent one: relative errors add as squares.
    pub fn over(self, other: Self) -> Self {
        let ratio = self.mean / other.mean;
        let halves = self.half_width.zip(other.half_width);
        let half_width = halves.map(|(half, of_other)| {
            let [a, b] = [half / self.mean, of_other / other.mean];
            ratio * (a * a + b * b).sqrt()
        });
        Self {
            mean: ratio,
            half_width,
        }
    }

    /// The interval's ends, if it has any.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.half_width
            .map(|half| (self.mean - half, self.mean + half))
    }
}

/// JSON has numbers for neither what is undefined nor what is infinite.
mod text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }

    pub(super) mod any {
        use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

        pub(in super::super) fn serialize<S: Serializer>(
            value: &Option<f64>,
            to: S,
        ) -> Result<S::Ok, S::Error> {
            value.map(|value| value.to_string()).serialize(to)
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<f64>, D::Error> {
            let text = Option::<String>::deserialize(from)?;
            let value = text.map(|text| text.parse());
            value.transpose().map_err(de::Error::custom)
        }
    }
}

impl From<f64> for Estimate {
    fn from(mean: f64) -> Self {
        Self {
            mean,
            half_width: None,
        }
    }
}

/// The mean of independent values and its 90 % interval by Student's t distribution.
pub fn over_seeds(values: &[f64]) -> Estimate {
    let mean = mean(values);
    let freedom = values.len().saturating_sub(1);
    let half_width = (freedom > 0).then(|| {
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let variance = squares / freedom as f64;
        student_95(freedom) * (variance / values.len() as f64).sqrt()
    });
    Estimate { mean, half_width }
}

/// The 95th percentile of Student's t, which leaves 5 % on either side. Between the rows of the
/// table the next smaller number of degrees holds, which errs to the wide side.
pub(super) fn student_95(freedom: usize) -> f64 {
    const TABLE: [(usize, f64); 23] = [
        (1, 6.314),
        (2, 2.920),
        (3, 2.353),
        (4, 2.132),
        (5, 2.015),
        (6, 1.943),
        (7, 1.895),
        (8, 1.860),
        (9, 1.833),
        (10, 1.812),
        (11, 1.796),
        (12, 1.782),
        (13, 1.771),
        (14, 1.761),
        (15, 1.753),
        (16, 1.746),
        (17, 1.740),
        (18, 1.734),
        (19, 1.729),
        (20, 1.725),
        (30, 1.697),
        (60, 1.671),
        (120, 1.658),
    ];
    let row = TABLE.iter().rev().find(|(degrees, _)| *degrees <= freedom);
    row.map_or(f64::NAN, |(_, t)| *t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seeds_give_the_interval_of_four_degrees_of_freedom() {
        // Mean 6, squares 16 + 4 + 0 + 4 + 16 = 40, variance 10, its root over √5 is √2.
        let estimate = over_seeds(&[2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(estimate.mean, 6.0);
        let half = estimate.half_width.unwrap();
        assert!((half - 2.132 * 2f64.sqrt()).abs() < 1e-12, "{half}");
    }

    #[test]
    fn errors_of_what_is_independent_add_as_squares() {
        let estimate = |mean, half| Estimate {
            mean,
            half_width: Some(half),
        };
        let ratio = estimate(10.0, 3.0).over(estimate(5.0, 2.0));
        assert_eq!((ratio.mean, ratio.half_width), (2.0, Some(1.0)));
        let mean = Estimate::mean_of(&[estimate(1.0, 3.0), estimate(3.0, 4.0)]);
        assert_eq!((mean.mean, mean.half_width), (2.0, Some(2.5)));
        assert_eq!(ratio.over(1.0.into()).half_width, None);
    }

    #[test]
    fn one_seed_has_no_interval() {
        assert_eq!(
            over_seeds(&[3.0]),
            Estimate {
                mean: 3.0,
                half_width: None
            }
        );
    }

    #[test]
    fn fourteen_seeds_use_thirteen_degrees_and_many_the_last_row() {
        assert_eq!(student_95(13), 1.771);
        assert_eq!(student_95(25), 1.725);
        assert_eq!(student_95(100_000), 1.658);
    }
}
