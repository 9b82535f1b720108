//! Options of `evenkeel link`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tfrc::time::Duration;

use crate::emulated_link::{self, LinkRate};
use crate::queue::{self, LinkQueue};
use crate::units;

/// `evenkeel link`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel link router veth0 veth1 --rate 10M --delay 20ms --queue 30p"
)]
pub(crate) struct LinkArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: LinkCommand,
}

/// `evenkeel link …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Join two interfaces of this network namespace; needs root
    ///
    /// All frames of Ethernet are carried
    Router(LinkRouterArgs),
    /// Pass on the UDP datagrams of one flow, without root
    Relay(LinkRelayArgs),
}

/// `evenkeel link router`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: sudo evenkeel link router veth0 veth1 --rate 10M --delay 20ms --queue 30p --pcap link.pcapng"
)]
pub(crate) struct LinkRouterArgs {
    /// The interface that faces the senders
    #[arg(value_name = "A")]
    pub(crate) a: String,
    /// The interface that faces the receivers
    #[arg(value_name = "B")]
    pub(crate) b: String,
    #[command(flatten)]
    pub(crate) emulation: EmulationArgs,
}

/// `evenkeel link relay`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel link relay 127.0.0.1:5004 127.0.0.1:5006 --rate 2M --delay 40ms\n\
        with: evenkeel recv 127.0.0.1:5006 --plain        and: evenkeel send 127.0.0.1:5004 --plain\n\
        or: evenkeel link relay 127.0.0.1:5004 127.0.0.1:5006 --rate trace:lte.down --queue 150kB"
)]
pub(crate) struct LinkRelayArgs {
    /// Where the sender sends to
    #[arg(value_name = "LISTEN", value_parser = units::address)]
    pub(crate) listen: SocketAddr,
    /// The receiver
    #[arg(value_name = "TO", value_parser = units::address)]
    pub(crate) to: SocketAddr,
    /// Send to the receiver from this address [default: any]
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) from: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) emulation: EmulationArgs,
}

/// The links that are emulated, and the records of them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Link")]
pub(crate) struct EmulationArgs {
    /// Read the links from A to B and back from this TOML file
    ///
    /// It has the tables `forward` and `reverse`, each with rate, delay, queue, discipline, loss, jitter, reordering,
    /// duplication
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "delay", "queue", "loss"])]
    pub(crate) config: Option<PathBuf>,
    /// Limit the rate each way, as in `--rate 2M` [default: no limit]
    ///
    /// `--rate trace:FILE` replays a file in a loop, in Mahimahi's format: each line has the millisecond at which the
    /// link can deliver 1500 bytes
    #[arg(long, value_name = "RATE|trace:FILE", allow_hyphen_values = true, value_parser = emulated_link::link_rate)]
    pub(crate) rate: Option<LinkRate>,
    /// Propagation delay, each way
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "0ms", value_parser = units::delay)]
    pub(crate) delay: Duration,
    /// Queue each way, as in `evenkeel demo`
    #[arg(long, value_name = "QUEUE", default_value = "50ms", value_parser = queue::queue)]
    pub(crate) queue: LinkQueue,
    /// Packets lost at random from A to B: 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::loss)]
    pub(crate) loss: f64,
    /// Change the link from A to B at the times in this file
    ///
    /// A line of `time, rate, delay, loss` changes these; delays hold both ways. A line of `time, MESSAGE` does what
    /// this message to --control does
    #[arg(long, value_name = "FILE")]
    pub(crate) schedule: Option<PathBuf>,
    /// Take changes of the link from this socket while it runs
    ///
    /// Changeable are rate, delay, queue, discipline, loss and schedule. Each line of JSON, as {"both": {"delay":
    /// "80ms", "discipline": {"codel": {}}}}, is answered by a line of JSON
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Write the events of each packet here, one a line
    ///
    /// The events are entering a link, being dropped, and leaving
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Capture packets at both ends of each link, as pcapng
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Seed losses and jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop after this time; the default is to run until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = units::run_time)]
    pub(crate) seconds: Option<Duration>,
    /// Print what became of the packets as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
