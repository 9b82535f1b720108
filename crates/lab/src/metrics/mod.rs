//! The metrics, each defined once.
//!
//! | Metric | Symbol | Source |
//! |---|---|---|
//! | [`Throughput::rates`] | B(t, δ), R(t, δ) | `thesis` equation 5.1, `sigcomm` equation 3 |
//! | [`cov`] | CoV(δ) | `thesis` equation 5.3, `sigcomm` §4.1.1 |
//! | [`equivalence`], [`equivalence_ratio`] | e(δ) and its mean | `sigcomm` equation 4 |
//! | [`throughput_ratios`] | B_i / B_(i−1) | `thesis` equation 5.4 |
//! | [`efficiency`] | E | `light` equation 2 |
//! | [`jain`] | F | `light` equation 3 |
//! | [`friendliness`] | T1 | `light` equation 4 |
//! | [`stability`] | S | `light` equation 5 |
//! | [`PacketLog`] | IPLR, IPTD | `vod` §4.1 |
//! | [`utilisation`], [`drop_rate`], [`lost_share`] | – | `sigcomm` table 25 |
//! | [`used_of_allowed`] | – | `thesis` §7.2 |
//! | [`convergence_time`], [`swings`], [`least_over_most`] | – | RFC 8868 §3, metrics 8, 9 and 7 |
//! | [`reaching_time`], [`settling_time`] | – | RFC 5166, and ours: from when on it stays |
//! | [`halving`] | – | `sigcomm` §A.2 |
//! | [`mean_increase`], [`largest_increase`], [`largest_increase_pct`] | δ_T | `sigcomm` §A.1 |
//! | [`deviation`] | – | of a predictor's errors: `sigcomm` figure 18 |
//! | [`dip_pct`], [`dip_after_peak_pct`] | – | ours, of `thesis` §5.3 |
//! | [`spread`], [`growth`], [`off_one`], [`gain_pct`], [`share`] | – | ours |
//! | [`over_seeds`] | mean and 90 % interval | `sigcomm` §4.1.2 |
//! | [`ratio_by_batches`] | ratio of means and 90 % interval, of one run | ours |
//!
//! A value that is not defined (the mean of nothing, a ratio to zero) is not a number, is written as
//! `null`, and passes no check.

mod batches;
mod convergence;
mod delay;
mod fairness;
mod seeds;
mod series;
mod throughput;

pub use batches::ratio_by_batches;
pub use convergence::{
    Halving, Stable, convergence_time, halving, least_over_most, reaching_time, settling_time,
    swings,
};
pub use delay::{PacketLog, lost_share};
pub use fairness::{efficiency, friendliness, gain_pct, jain, stability};
use seeds::student_95;
pub use seeds::{Estimate, over_seeds};
pub use series::{
    cov, deviation, dip_after_peak_pct, dip_pct, equivalence, equivalence_ratio, growth,
    largest_increase, largest_increase_pct, least, mean, mean_increase, median, most, off_one,
    quantile, share, spread, throughput_ratios,
};
pub use throughput::{Throughput, drop_rate, used_of_allowed, utilisation};

use tfrc::time::Duration;

/// What flows are recorded in: the timescales of the papers are multiples of it.
pub(crate) const BIN: Duration = Duration::from_millis(50);

/// The timescales of smoothness and equivalence unless others are given (`thesis` §5.2.6).
pub const TIMESCALES: [Duration; 10] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(500),
    Duration::from_millis(800),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(5),
    Duration::from_secs(8),
    Duration::from_secs(10),
];
