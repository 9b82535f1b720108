//! How soon and how steadily a rate follows a change (RFC 8868 §3, metrics 7 to 9).

use super::{least, mean, most};

/// When a rate counts as stable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stable {
    /// Rates that are averaged at a time.
    pub over: usize,
    /// Means in a row, each one rate later than the last, that are near the steady rate.
    pub hold: usize,
    /// How near, as a share of the steady rate.
    pub within: f64,
}

/// Seconds from the first of the rates, `step` seconds apart, until they are stable: near their mean over
/// the second half of the time. All of the time if they never are.
///
/// Not a number for fewer rates than are averaged.
pub fn convergence_time(rates: &[f64], step: f64, stable: Stable) -> f64 {
    let steady = mean(&rates[rates.len() / 2..]);
    let means: Vec<f64> = rates.windows(stable.over.max(1)).map(mean).collect();
    if means.is_empty() {
        return f64::NAN;
    }
    let is_near = |rate: &f64| (rate - steady).abs() <= stable.within * steady;
    let mut runs = means.windows(stable.hold.clamp(1, means.len()));
    let first = runs.position(|run| run.iter().all(is_near));
    first.unwrap_or(rates.len()) as f64 * step
}

/// Seconds to the middle of the first of the intervals, `step` seconds each, whose rate lies within bounds:
/// with those of a fair share the δ-fair convergence time (RFC 5166). Not a number if none does.
///
/// A rate that crosses the bounds on its way elsewhere reaches them all the same: see [`settling_time`].
pub fn reaching_time(rates: &[f64], step: f64, bounds: [f64; 2]) -> f64 {
    let first = rates.iter().position(|rate| is_within(*rate, bounds));
    first.map_or(f64::NAN, |index| middle(index, step))
}

/// Seconds to the middle of the first interval from which on every rate lies within bounds. Not a number if the
/// last does not: then it has not settled.
pub fn settling_time(rates: &[f64], step: f64, bounds: [f64; 2]) -> f64 {
    let inside = rates.iter().rev();
    let inside = inside.take_while(|rate| is_within(**rate, bounds)).count();
    match inside {
        0 => f64::NAN,
        inside => middle(rates.len() - inside, step),
    }
}

/// How long it takes to halve a rate. Of numbers none is one if it never was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halving {
    /// Reports that lowered the rate, up to the one that halved it. Each tells of one more loss event, and an event
    /// is a round trip of congestion: what the analysis of `sigcomm` §A.2 counts.
    pub congested: f64,
    /// Seconds from the onset to that report.
    pub elapsed: f64,
}

/// The halving after an onset of the rate that was before it; `steps` are times in seconds and rates, one a report.
pub fn halving(steps: &[(f64, f64)], onset: f64) -> Halving {
    let after = steps.partition_point(|(t, _)| *t < onset);
    let before = steps[..after].last().map_or(f64::NAN, |(_, x)| *x);
    let (mut last, mut congested) = (before, 0.0);
    for (t, x) in &steps[after..] {
        congested += f64::from(u8::from(*x < last));
        if *x <= before / 2.0 {
            let elapsed = t - onset;
            return Halving { congested, elapsed };
        }
        last = *x;
    }
    Halving {
        congested: f64::NAN,
        elapsed: f64::NAN,
    }
}

fn is_within(rate: f64, [low, high]: [f64; 2]) -> bool {
    (low..=high).contains(&rate)
}

fn middle(index: usize, step: f64) -> f64 {
    (index as f64 + 0.5) * step
}

/// How often a rate goes from `high` or above to `low` or below, or the other way.
pub fn swings(rates: &[f64], low: f64, high: f64) -> u32 {
    let mut was_high = None;
    let mut count = 0;
    for rate in rates {
        let is_high = if *rate >= high {
            true
        } else if *rate <= low {
            false
        } else {
            continue;
        };
        count += u32::from(was_high.is_some_and(|was| was != is_high));
        was_high = Some(is_high);
    }
    count
}

/// The least mean throughput of several flows over the largest: RFC 8868 asks for a third at least
/// among flows of one priority.
pub fn least_over_most(throughputs: &[f64]) -> f64 {
    least(throughputs.iter().copied()) / most(throughputs.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STABLE: Stable = Stable {
        over: 2,
        hold: 3,
        within: 0.1,
    };

    #[test]
    fn a_rate_has_converged_when_it_stays_for_a_while() {
        // Steady at 10; the means of two are 1, 5.5, 10, 9.5, 9.5, 10, …
        let rates = [1.0, 1.0, 10.0, 10.0, 9.0, 10.0, 10.0, 11.0, 10.0, 10.0];
        assert_eq!(convergence_time(&rates, 0.5, STABLE), 1.0);
        // On its way through 10 it is not there yet: 10, 15, 20, 15, 10, 10, 10.
        let overshoot = [10.0, 10.0, 20.0, 20.0, 10.0, 10.0, 10.0, 10.0];
        assert_eq!(convergence_time(&overshoot, 0.5, STABLE), 2.0);
        assert_eq!(convergence_time(&[7.0; 6], 0.5, STABLE), 0.0);
    }

    #[test]
    fn a_rate_that_never_settles_takes_all_of_the_time() {
        let rates = [1.0, 1.0, 9.0, 9.0, 1.0, 1.0, 9.0, 9.0];
        assert_eq!(convergence_time(&rates, 2.0, STABLE), 16.0);
        assert!(convergence_time(&rates[..1], 2.0, STABLE).is_nan());
    }

    #[test]
    fn a_rate_has_settled_once_it_never_leaves_again() {
        // In at 2.5 s, out again, and in for good from the interval that begins at 20 s on.
        let rates = [1.1, 3.0, 2.0, 0.5, 0.9, 1.2, 0.8];
        assert_eq!(reaching_time(&rates, 5.0, [0.8, 1.2]), 2.5);
        assert_eq!(settling_time(&rates, 5.0, [0.8, 1.2]), 22.5);
        assert_eq!(settling_time(&rates[4..], 5.0, [0.8, 1.2]), 2.5);
    }

    #[test]
    fn what_never_comes_or_does_not_stay_has_no_time() {
        let rates = [3.0, 1.0, 3.0];
        assert_eq!(reaching_time(&rates, 2.0, [0.8, 1.2]), 3.0);
        assert!(settling_time(&rates, 2.0, [0.8, 1.2]).is_nan());
        assert!(reaching_time(&rates, 2.0, [4.0, 5.0]).is_nan());
        assert!(settling_time(&[], 2.0, [0.8, 1.2]).is_nan());
    }

    #[test]
    fn only_reports_that_lower_the_rate_count_as_congestion() {
        let steps = [
            (9.9, 8.0),
            (10.1, 8.0),
            (10.2, 6.0),
            (10.3, 6.0),
            (10.5, 4.0),
            (10.6, 3.0),
        ];
        let halved = halving(&steps, 10.0);
        assert_eq!(halved.congested, 2.0);
        assert!((halved.elapsed - 0.5).abs() < 1e-9);
        assert!(halving(&steps[..4], 10.0).congested.is_nan());
    }

    #[test]
    fn a_swing_is_from_one_watermark_to_the_other() {
        // Down, up, down; what stays between the marks, or returns to the same, is none.
        let rates = [9.0, 5.0, 8.5, 2.0, 5.0, 1.0, 9.0, 5.0, 2.0];
        assert_eq!(swings(&rates, 2.0, 8.0), 3);
        assert_eq!(swings(&[5.0; 4], 2.0, 8.0), 0);
    }

    #[test]
    fn the_ratio_is_of_the_extremes() {
        assert_eq!(least_over_most(&[2.0, 8.0, 4.0]), 0.25);
        assert!(least_over_most(&[]).is_nan());
    }
}
