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
    /// Run experiments one after the other, in real time; the status is 1 if a check fails
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
    /// Every experiment that has a real half, and a report of both halves. What is complete for this
    /// commit is not run again
    #[arg(long)]
    pub(crate) all: bool,
    /// Repetitions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Runs at once. Where one starts its programs the senders of others may stand still for a second; by how much
    /// the emulator was late is in late_p99_us_*
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// Change a parameter of the scenario: rtt=200ms; a dot leads into a table
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "all")]
    pub(crate) set: Vec<String>,
    /// Folder of results: one a folder ID-real, and report.html
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
