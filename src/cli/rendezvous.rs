//! Options of `evenkeel rendezvous`.

use std::net::{Ipv6Addr, SocketAddr};

use clap::Args;

use crate::units;

/// The default address.
const DEFAULT_BIND: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::UNSPECIFIED), 8_088);

/// `evenkeel rendezvous`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel rendezvous        and at an end: evenkeel call --rendezvous http://HOST:8088"
)]
pub(crate) struct RendezvousArgs {
    /// Address and port to listen at; both ends of a call must reach it over HTTP
    ///
    /// For https, put a proxy with a certificate in front. Replies are sealed by the ends in either case
    #[arg(long, value_name = "ADDR:PORT", default_value_t = DEFAULT_BIND, value_parser = units::address)]
    pub(crate) bind: SocketAddr,
}
