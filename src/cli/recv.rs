//! Options of `evenkeel recv`.

use std::path::PathBuf;

use clap::Args;

use super::{ConnectionArgs, MediaServerArgs, RunArgs};

/// `evenkeel recv`.
#[derive(Clone, Args)]
#[command(
    after_help = "Example: evenkeel recv --record received.mp4      or: evenkeel recv [::]:5004 --plain"
)]
pub(crate) struct RecvArgs {
    /// The invitation of `evenkeel send`, or where to listen: ADDR:PORT
    ///
    /// Without an invitation this end invites, and prints one; it listens at any free port unless ADDR:PORT is given. With
    /// --plain the default is port 5004, or the port in --sdp. The address of a group, as 239.1.2.3 or ff15::1%eth0,
    /// joins it: nothing is then reported to the sender, whose rate is fixed, so that many receivers do not flood it. Of
    /// --sdp only a group's address is taken
    #[arg(value_name = "INVITATION|BIND")]
    pub(crate) bind: Option<String>,
    /// Play what a media server has at this URL of WHEP
    ///
    /// Example: `--whep https://example.org/live/whep`
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["bind", "sdp", "plain", "rendezvous", "from", "feedback"]
    )]
    pub(crate) whep: Option<String>,
    /// With --plain, accept datagrams from this address only, at any port unless one is given
    ///
    /// A group of IPv4 is joined for this source alone, as it is for those of a=source-filter in --sdp
    #[arg(long, value_name = "ADDR")]
    pub(crate) from: Option<String>,
    /// Read the sender's description of the stream
    ///
    /// It has the payload type and the extension numbers, and its profile says if the stream is encrypted. Codecs other than
    /// mjpeg and h264 need it, as only it has the size of their pictures
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    /// Write the received pictures here: .mp4, .mkv, .ts or .y4m
    ///
    /// `-` is standard output, as y4m. All formats but .y4m are written by ffmpeg and keep the coded pictures unchanged.
    /// If the description is of DV and the name ends in .dv, the file is raw DV
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Seed of this end's network identifiers [default: drawn anew]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(flatten)]
    pub(crate) server: MediaServerArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
