//! Numbers about one series of rates, and about two.

/// The mean; not a number for none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// CoV: the standard deviation of a series over its mean (`thesis` equation 5.3: over all of its
/// n values, not n − 1).
///
/// Not a number for an empty series and for one whose mean is zero.
pub fn cov(rates: &[f64]) -> f64 {
    let mean = mean(rates);
    let variance = rates.iter().map(|b| (b - mean) * (b - mean)).sum::<f64>() / rates.len() as f64;
    variance.sqrt() / mean
}

/// e(t): the smaller of two flows' rates over the larger, for each t at which either is above zero
/// (`sigcomm` equation 4).
pub fn equivalence(a: &[f64], b: &[f64]) -> Vec<f64> {
    let pairs = a.iter().zip(b).filter(|(a, b)| **a > 0.0 || **b > 0.0);
    pairs.map(|(a, b)| a.min(*b) / a.max(*b)).collect()
}

/// The mean of [`equivalence`] over time: 1 for flows that always have the same rate.
pub fn equivalence_ratio(a: &[f64], b: &[f64]) -> f64 {
    mean(&equivalence(a, b))
}

/// B_i / B_(i−1) (`thesis` equation 5.4), but where B_(i−1) is zero.
pub fn throughput_ratios(rates: &[f64]) -> Vec<f64> {
    let pairs = rates.windows(2).filter(|pair| pair[0] > 0.0);
    pairs.map(|pair| pair[1] / pair[0]).collect()
}

/// The value below which this share of the values lies, by nearest rank; not a number for none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cov_is_the_deviation_over_the_mean() {
        // Mean 5; squares of the distances 9, 1, 1, 1, 0, 0, 4, 16: variance 4.
        let rates = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(cov(&rates), 0.4);
        assert_eq!(cov(&[3.0; 7]), 0.0);
        assert!(cov(&[]).is_nan());
        assert!(cov(&[0.0, 0.0]).is_nan());
    }

    #[test]
    fn equivalence_is_undefined_only_where_both_are_silent() {
        let (a, b) = ([2.0, 0.0, 0.0, 3.0], [4.0, 5.0, 0.0, 1.5]);
        assert_eq!(equivalence(&a, &b), [0.5, 0.0, 0.5]);
        assert_eq!(equivalence_ratio(&a, &b), 1.0 / 3.0);
        assert_eq!(equivalence_ratio(&a, &b), equivalence_ratio(&b, &a));
        assert!(equivalence_ratio(&[0.0], &[0.0]).is_nan());
    }

    #[test]
    fn ratios_are_of_adjacent_intervals_and_skip_what_follows_silence() {
        assert_eq!(
            throughput_ratios(&[2.0, 3.0, 0.0, 6.0, 6.0]),
            [1.5, 0.0, 1.0]
        );
    }

    #[test]
    fn quantiles_are_values_of_the_series() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 2.0);
        assert_eq!(quantile(&values, 0.75), 3.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
