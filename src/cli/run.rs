//! Options of every run: its length, its page and its files.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr as _;

use clap::Args;
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;

use crate::units;

/// How long to run and what to leave behind.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunArgs {
    /// Report in this format: ccfb, twcc, sack, tfrc or app [default: ccfb, twcc with --filler, or what --sdp says]
    ///
    /// Both ends need the same. With ccfb (RFC 8888) and twcc (WebRTC's format) receivers report arrivals, from which
    /// the sender measures delay and computes the loss event rate p. sack has one bit per packet, tfrc has p, and app
    /// has p in RTCP APP packets beside RTCP's own reports
    #[arg(long, value_name = "FORMAT", value_parser = FeedbackMode::from_str, help_heading = "Control")]
    pub(crate) feedback: Option<FeedbackMode>,
    /// Stop after this time (60, 90s, 5m); the default is to run until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = units::run_time)]
    pub(crate) seconds: Option<Duration>,
    /// Leave this time at the start out of the summary [default: 10 s, or half of --seconds if that is less]
    #[arg(long, value_name = "TIME", value_parser = units::run_time_or_zero)]
    pub(crate) warmup: Option<Duration>,
    /// Write the summary here as one JSON object
    ///
    /// `-` is standard output, which then has nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write every event here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Address of the page; port 0 takes any free one
    ///
    /// A page that other machines can reach, as at 0.0.0.0:8080, needs the token in the address that is printed
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = units::address)]
    pub(crate) page: SocketAddr,
    /// Do not serve the page
    #[arg(long)]
    pub(crate) headless: bool,
}

impl RunArgs {
    /// Returns the time at the start that the summary leaves out.
    pub(crate) fn warmup(&self) -> Duration {
        self.warmup.unwrap_or_else(|| {
            let half = self.seconds.map_or(WARMUP, |seconds| seconds / 2);
            WARMUP.min(half)
        })
    }
}

/// The default warm-up: a slow start over the longest path of a conversation, and a few seconds after it.
const WARMUP: Duration = Duration::from_secs(10);
