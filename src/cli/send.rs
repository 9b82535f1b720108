//! Options of `evenkeel send`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tfrc::time::Duration;
use tfrc::units::Rate;

use super::{ConnectionArgs, MediaServerArgs, PictureArgs, RunArgs};
use crate::units;

/// `evenkeel send`.
#[derive(Clone, Args)]
#[command(
    after_help = "Example: evenkeel send INVITATION --source clip.mp4     or: evenkeel send 192.0.2.7 --plain"
)]
pub(crate) struct SendArgs {
    /// The invitation of `evenkeel recv`; without one this end invites, and prints one
    ///
    /// With --plain the receiver's ADDR or ADDR:PORT (5004 unless given). A group, as 239.1.2.3, is always sent to in
    /// the clear, and needs --fixed-rate, as its members report nothing
    #[arg(value_name = "INVITATION")]
    pub(crate) dest: Option<String>,
    /// Publish H.264 to a media server at this URL of WHIP (RFC 9725)
    ///
    /// Example: `--whip https://example.org/live/whip`
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["dest", "sdp", "fixed_rate", "plain", "rendezvous", "feedback", "filler"]
    )]
    pub(crate) whip: Option<String>,
    /// Local address and port; any free port unless given
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) bind: Option<SocketAddr>,
    /// Hops that datagrams to a group may take
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) ttl: u8,
    /// Write the session description here before sending, for recv --sdp or a program of another maker
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    /// Send at this rate, on a path that nobody else uses
    ///
    /// A receiver without RTCP gets 128 kb/s otherwise. Circuit breakers (RFC 8083) hold if reception reports come
    #[arg(long, value_name = "RATE", conflicts_with = "max_rate", value_parser = units::rate)]
    pub(crate) fixed_rate: Option<Rate>,
    /// End with status 1 after this long without a report
    ///
    /// So does a circuit breaker that stops media for good. With --fixed-rate no report is awaited
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::run_time)]
    pub(crate) give_up: Duration,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) server: MediaServerArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
