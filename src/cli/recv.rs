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
    /// The description that the sender wrote, for its payload type and extension numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    /// Write the received pictures here, as y4m, or of a description of DV as raw DV if the name ends in .dv
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Seed of what names this end on the network; drawn anew each time unless given
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
