//! Options of `evenkeel doctor`.

use clap::Args;

/// `evenkeel doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
