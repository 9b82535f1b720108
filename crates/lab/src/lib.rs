//! Experiments as data: each figure and table of the papers from one file and one command.
//!
//! ```text
//! experiments/ID.toml ──► Experiment ──► runs (cell × seed) ──► Findings ──► checks
//!                                                                   │   └──► figure.svg, series.csv
//!                                                                   └──────► result.json ──► report.html
//! ```
//!
//! The program that draws a figure is the one that asserts it: a check is a metric of the same run with
//! its bounds and where they are from.
#![forbid(unsafe_code)]

mod atomic_file;
mod cellular;
pub mod comparison;
mod comparison_table;
pub mod error;
pub mod experiment;
pub mod figure;
pub mod findings;
mod flow;
pub mod golden;
pub mod job;
pub mod machine;
pub mod metrics;
pub mod nearest;
pub mod network;
mod reader;
pub mod real;
pub mod recorded;
pub mod report;
pub mod result;
mod run_cache;
pub mod runner;
pub mod scenario;
#[cfg(test)]
mod trial;
pub mod units;
pub mod whole_file;
