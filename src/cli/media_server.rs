//! The token of a media server.

use clap::Args;

/// Who may use a media server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct MediaServerArgs {
    /// Authenticate to the media server with this bearer token [default: the environment variable EVENKEEL_TOKEN]
    ///
    /// Others on this machine can read the command line, and cannot read the variable
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
}
