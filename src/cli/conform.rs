//! Options of `evenkeel conform`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use evenkeel_conform::Rfc;
use evenkeel_rtp::session::FeedbackMode;

use crate::units;

/// `evenkeel conform`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel conform --only B.3.1      with 192.0.2.7 receiving: evenkeel conform --receiver 192.0.2.7:5004"
)]
pub(crate) struct ConformArgs {
    /// Test the sender at this address, which sends full packets to --bind
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) sender: Option<String>,
    /// Test the receiver at this address
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) receiver: Option<String>,
    /// Size of that sender's packets; checks that need another are left out
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "1000",
        requires = "sender"
    )]
    pub(crate) packet_size: u16,
    /// The standard that is checked, and that our own implementation follows
    #[arg(long, value_name = "NUMBER", value_enum, default_value = "5348")]
    rfc: ConformRfc,
    /// Format of the receivers' reports: tfrc, ccfb, twcc or sack
    ///
    /// Each format has its own list of checks
    #[arg(long, value_name = "FORMAT", default_value = "tfrc")]
    pub(crate) feedback: FeedbackMode,
    /// Only checks that have this in their number: B.3.1, or B.3.1-16
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Option<String>,
    /// List the checks and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "list")]
    pub(crate) json: bool,
    /// Local address of the interface system [default: any port; 5004 with --sender]
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) bind: Option<SocketAddr>,
    /// Be one of the implementations: what the suite starts
    #[arg(long, hide = true)]
    pub(crate) role: Option<ConformRole>,
    #[arg(long, hide = true)]
    pub(crate) peer: Option<SocketAddr>,
    #[arg(long, hide = true)]
    pub(crate) run: Option<String>,
}

impl ConformArgs {
    /// Returns the standard that is checked.
    pub(crate) fn rfc(&self) -> Rfc {
        match self.rfc {
            ConformRfc::Rfc3448 => Rfc::Rfc3448,
            ConformRfc::Rfc5348 => Rfc::Rfc5348,
        }
    }
}

/// What a process of the suite is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConformRole {
    Sender,
    Receiver,
}

/// The standards by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ConformRfc {
    #[value(name = "3448")]
    Rfc3448,
    #[value(name = "5348")]
    Rfc5348,
}
