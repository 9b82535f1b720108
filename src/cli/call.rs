//! Options of `evenkeel call`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tfrc::time::Duration;

use super::{ConnectionArgs, PictureArgs, RunArgs};
use crate::units;

/// `evenkeel call`.
#[derive(Clone, Args)]
#[command(
    after_help = "Example: evenkeel call        prints an invitation; and there: evenkeel call INVITATION"
)]
pub(crate) struct CallArgs {
    /// The other end's invitation; without one this end invites, and prints one
    ///
    /// With --plain the other end's ADDR or ADDR:PORT (5004 unless given)
    #[arg(value_name = "INVITATION")]
    pub(crate) peer: Option<String>,
    /// Local address and port [default: any free port, or port 5004 with --plain]
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) bind: Option<SocketAddr>,
    /// With --plain, accept datagrams from this address only, at any port unless one is given
    #[arg(long, value_name = "ADDR")]
    pub(crate) from: Option<String>,
    /// Let a browser join: print a link that a person opens in Chromium, Firefox or Safari (default address: `[::]:8443`)
    ///
    /// The page is served over HTTPS, and on loopback in the clear. WHIP and WHEP clients join, too. Pictures are coded in H.264,
    /// and one browser is in the call at a time. Example: `evenkeel call --web`
    #[arg(
        long,
        value_name = "ADDR:PORT",
        value_parser = units::address,
        num_args = 0..=1,
        default_missing_value = "[::]:8443",
        conflicts_with_all = ["peer", "plain", "from", "rendezvous", "feedback", "filler"]
    )]
    pub(crate) web: Option<SocketAddr>,
    /// With --web, the name of the room in the link: letters, digits, - and _
    #[arg(long, value_name = "NAME", default_value = "call", requires = "web", value_parser = units::room)]
    pub(crate) room: String,
    /// With --web, the certificate of the page with its chain, in PEM [default: one that is made for the run]
    #[arg(long, value_name = "FILE", requires_all = ["web", "tls_key"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// With --web, the private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["web", "tls_cert"])]
    pub(crate) tls_key: Option<PathBuf>,
    /// Stop sending after this long without a report, and listen on
    ///
    /// Sending resumes once the peer is heard again
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::run_time)]
    pub(crate) give_up: Duration,
    /// Write the received pictures here: .mp4, .mkv, .ts or .y4m
    ///
    /// `-` is standard output, as y4m. All formats but .y4m are written by ffmpeg and keep the coded pictures unchanged
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
