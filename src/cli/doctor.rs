//! Options of `evenkeel doctor`.

use clap::Args;

/// `evenkeel doctor`. It ends with status 1 if the machine is too slow for the default video.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
