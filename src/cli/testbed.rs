//! Options of `evenkeel testbed`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `evenkeel testbed`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: sudo evenkeel testbed run thesis-fig5-3")]
pub(crate) struct TestbedArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

/// `evenkeel testbed …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Run experiments one after the other, in real time
    ///
    /// The status is 1 if a check fails
    Run(TestbedRunArgs),
    /// Start a program of a run: what the test bed does itself
    #[command(hide = true)]
    Launch(TestbedLaunchArgs),
}

/// `evenkeel testbed run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: sudo evenkeel testbed run thesis-fig5-3 --seeds 3 --out out/real")]
pub(crate) struct TestbedRunArgs {
    /// The experiments, by name
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// Run every experiment that has a real half, and report both halves
    ///
    /// Experiments whose results are complete for this commit are not run again
    #[arg(long)]
    pub(crate) all: bool,
    /// Repeat each experiment this often
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Run this many at once
    ///
    /// Where one starts its programs, the senders of others may be late by a second. late_p99_us_* shows how late the
    /// emulator was
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// Change a parameter of the scenario: rtt=200ms; a dot leads into a table
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "all")]
    pub(crate) set: Vec<String>,
    /// Write results to this folder: a subfolder ID-real each, and report.html
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Print the results as JSON, when all are there
    #[arg(long)]
    pub(crate) json: bool,
}

/// `evenkeel testbed launch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TestbedLaunchArgs {
    /// The process that has to start it
    pub(crate) parent: i32,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}
