//! How several flows share a bottleneck (`light` §IV.A).

use super::mean;

/// E: what the flows carried together, of what the bottleneck could (`light` equation 2). Rates in
/// one unit.
pub fn efficiency(throughputs: &[f64], capacity: f64) -> f64 {
    throughputs.iter().sum::<f64>() / capacity
}

/// F: Jain's index, between 1/n (one flow has all) and 1 (all have the same) (`light` equation 3).
pub fn jain(throughputs: &[f64]) -> f64 {
    let sum: f64 = throughputs.iter().sum();
    let squares: f64 = throughputs.iter().map(|x| x * x).sum();
    sum * sum / (throughputs.len() as f64 * squares)
}

/// T1: the mean throughput of flows of a protocol over the mean throughput of the TCP flows beside them; below 1 it
/// is friendly (`light` equation 4).
pub fn friendliness(throughputs: &[f64], tcp: &[f64]) -> f64 {
    mean(throughputs) / mean(tcp)
}

/// S: each flow's sample standard deviation (over m − 1) over its mean, averaged over the flows: 0 is
/// perfectly steady (`light` equation 5).
pub fn stability(flows: &[Vec<f64>]) -> f64 {
    let each: Vec<f64> = flows
        .iter()
        .map(|rates| {
            let mean = mean(rates);
            let squares: f64 = rates.iter().map(|x| (x - mean) * (x - mean)).sum();
            (squares / (rates.len() as f64 - 1.0)).sqrt() / mean
        })
        .collect();
    mean(&each)
}

/// How much more one rate is than another, in per cent of that: what a receiver has of a lie.
pub fn gain_pct(rate: f64, of_honest: f64) -> f64 {
    100.0 * (rate / of_honest - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiency_is_the_used_share_of_the_bottleneck() {
        assert_eq!(efficiency(&[300.0, 450.0], 1_000.0), 0.75);
    }

    #[test]
    fn jain_is_one_for_equal_shares_and_one_nth_for_a_monopoly() {
        assert_eq!(jain(&[5.0; 4]), 1.0);
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), 0.25);
        // (1 + 3)² / (2·(1 + 9)).
        assert_eq!(jain(&[1.0, 3.0]), 0.8);
    }

    #[test]
    fn friendliness_compares_means_of_unequal_numbers_of_flows() {
        assert_eq!(friendliness(&[2.0, 4.0], &[1.0, 2.0, 3.0, 2.0]), 1.5);
    }

    #[test]
    fn a_gain_is_relative_to_what_is_had_without() {
        assert_eq!(gain_pct(150.0, 100.0), 50.0);
        assert_eq!(gain_pct(75.0, 100.0), -25.0);
    }

    #[test]
    fn stability_is_the_mean_of_the_normalised_sample_deviations() {
        // Deviation √2 of mean 2; the other flow is steady.
        let flows = [vec![1.0, 3.0], vec![7.0, 7.0]];
        assert!((stability(&flows) - 2f64.sqrt() / 4.0).abs() < 1e-15);
    }
}
