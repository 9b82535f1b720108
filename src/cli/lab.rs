//! Options of `evenkeel lab`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `evenkeel lab`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab run --all        then open out/report.html")]
pub(crate) struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// `evenkeel lab …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments: where each is from, and how long it takes
    List(LabListArgs),
    /// Run experiments; the status is 1 if a check fails
    Run(LabRunArgs),
    /// Write a report of earlier runs
    ///
    /// It has the simulator's figures, and the test bed's beside them
    Report(LabReportArgs),
}

/// `evenkeel lab report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab report --out out        then open out/report.html")]
pub(crate) struct LabReportArgs {
    /// Read results from this folder, which has a subfolder ID or ID-real for each experiment
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
}

/// `evenkeel lab list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab list        then evenkeel lab run ID")]
pub(crate) struct LabListArgs {
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `evenkeel lab run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab run sigcomm-fig19 --set rtt=200ms --out out/slow")]
pub(crate) struct LabRunArgs {
    /// Run these experiments, by name
    ///
    /// Experiments whose results are complete in --out for this commit are not run again
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// Every experiment, and a report of all
    #[arg(long)]
    pub(crate) all: bool,
    /// Seeds of random experiments, in place of each file's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Change a parameter of the scenario: rtt=200ms; a dot leads into a table
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "all")]
    pub(crate) set: Vec<String>,
    /// Write results to this folder: a subfolder ID each, and report.html
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Run this many at once [default: the number of cores]
    ///
    /// Results are the same with any number
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print the results as JSON, when all are there
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of golden results: fail if a metric is not what is written there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seeds", "set"])]
    pub(crate) golden: Option<PathBuf>,
    /// Write the golden results instead of comparing with them
    ///
    /// Commit them with the reason of their change
    #[arg(long, requires = "golden")]
    pub(crate) bless: bool,
}
