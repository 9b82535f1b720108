//! Numbers about one series of rates, and about two.

/// The mean; not a number for none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// CoV: the standard deviation of a series over its mean (`thesis` equation 5.3: over all of its
/// n values, not n − 1).
///
/// Not a number for fewer than two values, which cannot vary, and where the mean is zero.
pub fn cov(rates: &[f64]) -> f64 {
    match rates {
        [] | [_] => f64::NAN,
        _ => deviation(rates) / mean(rates),
    }
}

/// The standard deviation over all n values; not a number for none.
pub fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|x| (x - centre) * (x - centre)).sum();
    (squares / values.len() as f64).sqrt()
}

/// The smallest value; not a number for none.
pub fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::min)
}

/// The largest value; not a number for none.
pub fn most(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::NAN, f64::max)
}

/// From the 5th to the 95th percentile: the amplitude of a queue, the width of a distribution of ratios.
pub fn spread(values: &[f64]) -> f64 {
    quantile(values, 0.95) - quantile(values, 0.05)
}

/// How far the least of the rates lies below a reference, in per cent of it: below what the rate was just before
/// an event, or below the mean of all that followed its peak ([`dip_after_peak_pct`]).
pub fn dip_pct(reference: f64, rates: impl IntoIterator<Item = f64>) -> f64 {
    100.0 * (1.0 - least(rates) / reference)
}

/// [`dip_pct`] of the rates from the first largest on below their mean: what a cascade of losses after slow start
/// costs.
pub fn dip_after_peak_pct(rates: &[f64]) -> f64 {
    let peak = most(rates.iter().copied());
    let first = rates.iter().position(|rate| *rate == peak);
    let after = &rates[first.unwrap_or_default()..];
    dip_pct(mean(after), after.iter().copied())
}

/// The largest increase from one value to the next; not a number for fewer than two values.
pub fn largest_increase(values: &[f64]) -> f64 {
    most(values.windows(2).map(|pair| pair[1] - pair[0]))
}

/// The same in per cent of the earlier value.
pub fn largest_increase_pct(values: &[f64]) -> f64 {
    let pairs = values.windows(2);
    most(pairs.map(|pair| (pair[1] / pair[0] - 1.0) * 100.0))
}

/// The mean increase from one value to the next; not a number for fewer than two values.
pub fn mean_increase(values: &[f64]) -> f64 {
    match values {
        [first, .., last] => (last - first) / (values.len() - 1) as f64,
        _ => f64::NAN,
    }
}

/// The mean of the second half less the mean of the first: unbounded growth shows here.
pub fn growth(values: &[f64]) -> f64 {
    let (earlier, later) = values.split_at(values.len() / 2);
    mean(later) - mean(earlier)
}

/// The largest distance from one, of values that should be.
pub fn off_one(values: impl IntoIterator<Item = f64>) -> f64 {
    most(values.into_iter().map(|value| (value - 1.0).abs()))
}

/// The share of values that fit; not a number for none.
pub fn share(values: &[f64], fits: impl Fn(f64) -> bool) -> f64 {
    let fitting = values.iter().filter(|value| fits(**value)).count();
    fitting as f64 / values.len() as f64
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

/// The value below which this share of the values lies, by nearest rank; not a number for none. What is undefined is no
/// value: of it even the sign differs from build to build.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let sorted = in_order(values);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The value in the middle, or the mean of the two there; as [`quantile`] else.
pub fn median(values: &[f64]) -> f64 {
    match &in_order(values)[..] {
        [] => f64::NAN,
        sorted => mean(&[sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]]),
    }
}

/// What is defined.
fn in_order(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.retain(|value| !value.is_nan());
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cov_is_the_deviation_over_the_mean() {
        // Mean 5; squares of the distances 9, 1, 1, 1, 0, 0, 4, 16: variance 4.
        let rates = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(cov(&rates), 0.4);
        assert_eq!(deviation(&rates), 2.0);
        assert_eq!(cov(&[3.0; 7]), 0.0);
        assert!(cov(&[3.0]).is_nan(), "one value cannot vary");
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
    fn extremes_are_of_what_is_there() {
        assert_eq!((least([3.0, 1.0, 2.0]), most([3.0, 1.0, 2.0])), (1.0, 3.0));
        assert!(least([]).is_nan() && most([]).is_nan());
        assert_eq!(off_one([0.75, 1.0, 1.125]), 0.25);
    }

    #[test]
    fn a_spread_leaves_the_outermost_twentieths_out() {
        let values: Vec<f64> = (1..=40).map(f64::from).collect();
        // The 38th less the second.
        assert_eq!(spread(&values), 36.0);
    }

    #[test]
    fn a_dip_is_below_its_reference_and_after_a_peak_below_the_mean_since() {
        assert_eq!(dip_pct(50.0, [40.0, 45.0, 30.0]), 40.0);
        assert_eq!(dip_pct(50.0, [75.0]), -50.0);
        assert!(dip_pct(50.0, []).is_nan());
        // 8, 2, 4, 6: mean 5. What came before the peak does not count.
        assert_eq!(dip_after_peak_pct(&[1.0, 8.0, 2.0, 4.0, 6.0]), 60.0);
        assert_eq!(dip_after_peak_pct(&[7.0; 3]), 0.0);
    }

    #[test]
    fn increases_are_from_one_value_to_the_next() {
        let values = [4.0, 5.0, 3.0, 4.5, 6.0];
        assert_eq!(largest_increase(&values), 1.5);
        // From 3 to 4.5.
        assert_eq!(largest_increase_pct(&values), 50.0);
        assert_eq!(mean_increase(&values), 0.5);
        assert_eq!(largest_increase(&[3.0, 2.0]), -1.0);
        assert!(largest_increase(&[3.0]).is_nan() && mean_increase(&[3.0]).is_nan());
    }

    #[test]
    fn growth_compares_the_halves() {
        assert_eq!(growth(&[1.0, 3.0, 6.0, 8.0]), 5.0);
        assert_eq!(growth(&[4.0; 4]), 0.0);
    }

    #[test]
    fn a_share_is_of_all_values() {
        assert_eq!(share(&[1.0, 2.0, 3.0, 4.0], |x| x > 1.0), 0.75);
        assert!(share(&[], |_| true).is_nan());
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 3.0, 2.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn quantiles_are_values_of_the_series() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 2.0);
        assert_eq!(quantile(&values, 0.75), 3.0);
        assert_eq!(quantile(&values, 1.0), 4.0);
        assert!(quantile(&[], 0.5).is_nan());
        let undefined = [2.0, f64::NAN, 1.0, -f64::NAN, 3.0];
        assert_eq!(
            [0.0, 0.5, 1.0].map(|share| quantile(&undefined, share)),
            [1.0, 2.0, 3.0]
        );
    }
}
