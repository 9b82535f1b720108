//! Options of every end that meets another over a network.

use clap::Args;

/// How to reach the other end.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
    /// In the clear: RTP to or at an address, for any receiver or sender
    ///
    /// Who is on the path then sees and can change pictures. Without this they are encrypted (DTLS and SRTP), and one end
    /// joins by the other's invitation. --sdp and the address of a group imply this
    #[arg(long)]
    pub(crate) plain: bool,
    /// Ask this server for a way through NATs: stun:HOST or turn:USER:PASSWORD@HOST
    ///
    /// A STUN server tells this end's address beyond its router, and a TURN server carries packets where no other way is
    /// found. Both listen at port 3478 unless HOST:PORT is given. The option can be repeated
    #[arg(long = "ice-server", value_name = "URL", conflicts_with = "plain")]
    pub(crate) ice_servers: Vec<String>,
}
