//! Options for the access to a media server.

use clap::Args;
use evenkeel_secure::identity::Fingerprint;

/// The access to a media server.
#[derive(Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct MediaServerArgs {
    /// Authenticate to the media server with this bearer token [default: the environment variable EVENKEEL_TOKEN]
    ///
    /// Others on this machine can read the command line, and cannot read the variable
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Trust the media server whose certificate has this fingerprint (SHA-256), and no other
    ///
    /// It is for certificates that no authority knows, as evenkeel call --web makes and shows one. Example:
    /// `--tls-fingerprint 5E:3A:...:F0`, 32 numbers in all
    #[arg(long, value_name = "SHA256")]
    pub(crate) tls_fingerprint: Option<Fingerprint>,
}
