//! `evenkeel vod`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tfrc::time::Duration;

use crate::units;

/// `evenkeel vod`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel vod play --out - | ffplay -      and: evenkeel vod serve title.ts --to 127.0.0.1"
)]
pub(crate) struct VodArgs {
    /// Which end.
    #[command(subcommand)]
    pub(crate) command: VodCommand,
}

/// `evenkeel vod …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum VodCommand {
    /// Send a title at its own pace, bounded by TFRC
    Serve(VodServeArgs),
    /// Receive a title, and count what a viewer would see of the network
    Play(VodPlayArgs),
}

/// `evenkeel vod serve`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel vod serve title-1M.ts title-3M.ts --to 192.0.2.7\n\n\
        Renditions have key frames at equal times, every two seconds here:\n  \
        ffmpeg -i FILE -c:v libx264 -b:v 1M -g 50 -keyint_min 50 -sc_threshold 0 -f mpegts title-1M.ts"
)]
pub(crate) struct VodServeArgs {
    /// Renditions of one title, as MPEG-TS
    #[arg(value_name = "FILE", required_unless_present = "trace")]
    pub(crate) files: Vec<PathBuf>,
    /// Send frames of these sizes (a line `time,type,size` each) in place of a title
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    pub(crate) trace: Option<PathBuf>,
    /// The player; its port is 5004 if not given
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) to: String,
    /// Send at the title's pace whatever the network does, for comparison
    #[arg(long)]
    pub(crate) udp: bool,
    /// Local address and port; any free port if not given
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) bind: Option<SocketAddr>,
    /// Describe the stream here, for players that need --udp
    ///
    /// Play it with `ffplay -protocol_whitelist file,udp,rtp FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: VodRunArgs,
}

/// `evenkeel vod play`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel vod play --buffer 4s --out title.ts\n\n\
        It waits for a server until Ctrl-C or --seconds. It ends with the title: at the server's goodbye,\n\
        or once a server that was there has been silent for 25 s"
)]
pub(crate) struct VodPlayArgs {
    /// Local address and port
    #[arg(value_name = "BIND", default_value = "[::]:5004", value_parser = units::address)]
    pub(crate) bind: SocketAddr,
    /// How much is buffered before playing begins, and after a stall
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = units::run_time)]
    pub(crate) buffer: Duration,
    /// Write the MPEG-TS here when it is played (`-` for standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: VodRunArgs,
}

/// What both ends have.
#[derive(Clone, Debug, Args)]
pub(crate) struct VodRunArgs {
    /// Stop after this time; the default is the end of the title
    #[arg(long, value_name = "TIME", value_parser = units::run_time)]
    pub(crate) seconds: Option<Duration>,
    /// Print the summary as one JSON object, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
