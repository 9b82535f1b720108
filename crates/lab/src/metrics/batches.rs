//! How sure the ratio of two throughputs of one run is.

use super::{Estimate, deviation, mean, student_95};

/// The ratio of the means of two series, and the 90 % interval of that ratio by the means of batches.
///
/// Each pair of values is what both had in one batch: a part of a run, as long as all others. Batches must be longer than
/// the flows remember, so that one says little of the next; then the distances of the pairs from the ratio, `x - ratio·y`,
/// are nearly independent, whatever the rates do within a batch and however one flow's gain is the other's loss. Their
/// standard error over the mean of the second series is the ratio's (the classical estimator of a ratio: Cochran,
/// “Sampling Techniques”, §6.4), and Student's t has one degree of freedom less than there are batches.
///
/// No interval with fewer than two batches.
pub fn ratio_by_batches(of: &[f64], over: &[f64]) -> Estimate {
    let batches = of.len().min(over.len());
    let (of, over) = (&of[..batches], &over[..batches]);
    let ratio = mean(of) / mean(over);
    let half_width = (batches > 1).then(|| {
        let distances = of.iter().zip(over).map(|(x, y)| x - ratio * y);
        // Their mean is zero. The deviation is over n, the error of a mean is that over the root of n - 1.
        let error = deviation(&distances.collect::<Vec<f64>>()) / ((batches - 1) as f64).sqrt();
        student_95(batches - 1) * error / mean(over)
    });
    Estimate {
        mean: ratio,
        half_width,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_batches_give_the_interval_of_two_degrees_of_freedom() {
        // Means 6 and 3: ratio 2. Distances 4 - 8, 6 - 4, 8 - 6: -4, 2, 2, variance 24 / 2 = 12, its root over √3 is 2,
        // over 3 is 2/3.
        let estimate = ratio_by_batches(&[4.0, 6.0, 8.0], &[4.0, 2.0, 3.0]);
        assert_eq!(estimate.mean, 2.0);
        let half = estimate.half_width.unwrap();
        assert!((half - 2.920 * 2.0 / 3.0).abs() < 1e-12, "{half}");
    }

    #[test]
    fn flows_that_rise_and_fall_together_have_a_ratio_that_is_sure() {
        let estimate = ratio_by_batches(&[2.0, 8.0, 4.0], &[1.0, 4.0, 2.0]);
        assert_eq!((estimate.mean, estimate.half_width), (2.0, Some(0.0)));
    }

    #[test]
    fn one_batch_has_no_interval_and_none_no_ratio() {
        let one = ratio_by_batches(&[3.0], &[2.0]);
        assert_eq!((one.mean, one.half_width), (1.5, None));
        assert!(ratio_by_batches(&[], &[]).mean.is_nan());
    }

    #[test]
    fn beside_nothing_there_is_neither() {
        let estimate = ratio_by_batches(&[1.0, 2.0], &[0.0, 0.0]);
        assert!(!estimate.mean.is_finite());
        assert!(estimate.half_width.is_some_and(|half| !half.is_finite()));
    }
}
