//! Summarises all cells together: medians, extremes and maps.

use super::BesideTcp;
use super::cell::{CellFlow, SharedPath, millis};
use crate::findings::Findings;
use crate::metrics::{least, median, most};

/// A path with the rates of the call and of TFRC, each divided by the rate of a TCP flow.
struct PathShares {
    path: SharedPath,
    of: [f64; 2],
}

pub(super) fn derive(grid: &BesideTcp, findings: &mut Findings) {
    let shares: Vec<PathShares> = grid
        .shared_paths()
        .into_iter()
        .map(|path| PathShares {
            path,
            of: CellFlow::ALL.map(|flow| findings.value(&path.metric(flow.over_tcp()))),
        })
        .collect();
    summarise(grid, findings, "", &shares, |_| true);
    for &variant in &grid.variants {
        let key = format!("_{}", variant.name());
        summarise(grid, findings, &key, &shares, |path| {
            path.variant == variant
        });
    }
    for &order in &grid.orders {
        let key = format!("_{}", order.name());
        summarise(grid, findings, &key, &shares, |path| path.order == order);
    }
    derive_recovery(grid, findings);
    let lone = grid.lone_paths().into_iter();
    let seconds = lone.map(|path| findings.value(&format!("competing_s_{}", path.name())));
    let seconds = seconds.sum::<f64>();
    findings.derive("competing_s_lone", seconds);
    let length = grid.lone_paths().len() as f64 * grid.lone.length.secs();
    findings.derive("lone_calls_s", length);
    draw_maps(grid, findings, &shares);
}

/// Adds the metrics of some of the cells. `key` ends their names.
fn summarise(
    grid: &BesideTcp,
    findings: &mut Findings,
    key: &str,
    shares: &[PathShares],
    is_of: impl Fn(&SharedPath) -> bool,
) {
    let is_unfair = |share: f64| !(grid.fair[0]..=grid.fair[1]).contains(&share);
    let cells: Vec<&PathShares> = shares.iter().filter(|cell| is_of(&cell.path)).collect();
    for (index, flow) in CellFlow::ALL.into_iter().enumerate() {
        let values: Vec<f64> = cells.iter().map(|cell| cell.of[index]).collect();
        let unfair = values.iter().filter(|share| is_unfair(**share)).count();
        let (name, over_tcp) = (flow.name(), flow.over_tcp());
        for (what, value) in [
            ("median", median(&values)),
            ("least", least(values.iter().copied())),
            ("largest", most(values.iter().copied())),
        ] {
            findings.derive(format!("{over_tcp}_{what}{key}"), value);
        }
        findings.derive(format!("{name}_cells_unfair{key}"), unfair as f64);
    }
    let unlike = cells
        .iter()
        .filter(|cell| is_unlike_tfrc(cell.of, grid.fair));
    findings.derive(
        format!("call_cells_unfair_unlike_tfrc{key}"),
        unlike.count() as f64,
    );
}

/// True if the call has too little where TFRC has not, or too much where TFRC has not.
fn is_unlike_tfrc([call, tfrc]: [f64; 2], [low, high]: [f64; 2]) -> bool {
    (call < low && tfrc >= low) || (call > high && tfrc <= high)
}

fn derive_recovery(grid: &BesideTcp, findings: &mut Findings) {
    let paths = grid.shared_paths().into_iter();
    let seconds: Vec<f64> = paths
        .map(|path| findings.value(&path.metric("lone_again_s")))
        .collect();
    let within = grid.recovered_within.secs();
    let late = seconds.iter().filter(|seconds| **seconds > within).count();
    findings.derive("lone_again_s_median", median(&seconds));
    findings.derive("lone_again_s_largest", most(seconds.iter().copied()));
    findings.derive("lone_again_cells_late", late as f64);
}

/// Draws a map of each variant and count, with the order whose share is the furthest from an equal one.
fn draw_maps(grid: &BesideTcp, findings: &mut Findings, shares: &[PathShares]) {
    let orders: Vec<&[PathShares]> = shares.chunks(grid.orders.len()).collect();
    for (index, flow) in CellFlow::ALL.into_iter().enumerate() {
        for orders in &orders {
            let path = orders[0].path;
            let shares: Vec<f64> = orders.iter().map(|cell| cell.of[index]).collect();
            let over_tcp = flow.over_tcp();
            let group = format!("{over_tcp}_{}_{}", path.variant.name(), path.count);
            let row = millis(path.queue).to_string();
            findings.draw(&group, &row, millis(path.round_trip), furthest(&shares));
        }
    }
}

/// The share that is the most times an equal one, or the least part of it.
fn furthest(shares: &[f64]) -> f64 {
    let ratio = |share: &f64| share.max(1.0 / share);
    let by_ratio = shares.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    by_ratio.copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_unlike_tfrc_on_one_side() {
        let is_unlike = |call, tfrc| is_unlike_tfrc([call, tfrc], [0.4, 2.0]);
        assert!(is_unlike(0.1, 1.0) && is_unlike(0.1, 2.5) && is_unlike(2.5, 0.1));
        assert!(!is_unlike(0.1, 0.2) && !is_unlike(2.5, f64::INFINITY) && !is_unlike(1.0, 0.1));
    }

    #[test]
    fn furthest_share_is_furthest_by_ratio() {
        assert_eq!(furthest(&[1.9, 0.5, 1.0]), 0.5);
        assert_eq!(furthest(&[1.9, 0.6, f64::INFINITY]), f64::INFINITY);
    }
}
