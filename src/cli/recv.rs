//! Options of `evenkeel recv`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::RunArgs;
use crate::units;

/// `evenkeel recv`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel recv 0.0.0.0:5004 --record received.y4m")]
pub(crate) struct RecvArgs {
    /// Local address and port
    #[arg(value_name = "BIND", default_value = "0.0.0.0:5004", value_parser = units::address)]
    pub(crate) bind: SocketAddr,
    /// Read the sender's description of the stream
    ///
    /// It has the payload type and the extension numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    /// Write the received pictures here: .mp4, .mkv, .ts or .y4m
    ///
    /// `-` is standard output, as y4m. What ffmpeg writes, all but .y4m, keeps the coded pictures as they came.
    /// If the description is of DV and the name ends in .dv, the file is raw DV
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Seed of this end's network identifiers [default: drawn anew]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
