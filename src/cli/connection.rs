//! Options for the connection to a peer over a network.

use clap::Args;
use evenkeel_secure::invitation::RendezvousUrl;

/// The connection to the peer.
#[derive(Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(crate) struct ConnectionArgs {
    /// Send and receive RTP in the clear, at addresses such as 192.0.2.7:5004
    ///
    /// Anyone on the path can then read and change the pictures. The default is encryption (DTLS and SRTP), where one end
    /// joins by the invitation of the other. --sdp beside an address and the address of a group imply this option
    #[arg(long)]
    pub(crate) plain: bool,
    /// Ask this server for a way through NATs: stun:HOST or turn:USER:PASSWORD@HOST, which ?transport=tcp may follow
    ///
    /// A STUN server tells this end's address beyond its router, and a TURN server carries packets where no other way is
    /// found. Both listen at port 3478 unless HOST:PORT is given. A network that lets no UDP out needs TCP to a TURN server, as in
    /// turn:USER:PASSWORD@HOST:443?transport=tcp. The option can be repeated. With --web browsers are told of the server and the
    /// password, too
    #[arg(long = "ice-server", value_name = "URL", conflicts_with = "plain")]
    pub(crate) ice_servers: Vec<String>,
    /// Let the end that joins leave its addresses at this host, which runs evenkeel rendezvous
    ///
    /// It is for the end that invites, whose invitation names the host. Without it a person may
    /// have to paste the joining end's reply into this end's terminal. The host learns neither the secret nor the addresses,
    /// as the reply is sealed. Example: `--rendezvous http://example.org:8088`
    #[arg(long, value_name = "URL", conflicts_with = "plain")]
    pub(crate) rendezvous: Option<RendezvousUrl>,
}
