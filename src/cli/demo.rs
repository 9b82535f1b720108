//! Options of `evenkeel demo`.

use std::path::PathBuf;

use clap::Args;
use tfrc::time::Duration;
use tfrc::units::Rate;

use super::{PictureArgs, RunArgs};
use crate::queue::{self, LinkQueue};
use crate::tcp::MAX_FLOWS;
use crate::units;

/// `evenkeel demo`.
#[derive(Clone, Args)]
#[command(
    after_help = "Example: evenkeel demo --rate 5M --rtt 20ms --seconds 60 --json out.json\n\
        or: evenkeel demo --trace-link lte.down --rtt 40ms --queue 150kB"
)]
pub(crate) struct DemoArgs {
    /// Rate of the emulated link
    #[arg(long, value_name = "RATE", default_value = "3M", value_parser = units::rate, help_heading = "Link")]
    pub(crate) rate: Rate,
    /// Replay the rates of this file in a loop, in place of --rate
    ///
    /// The format is Mahimahi's: each line has the millisecond at which the link can deliver 1500 bytes. Displays show
    /// the mean rate, and a --queue in time counts at the mean rate. Example: `--trace-link lte.down`
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "rate",
        help_heading = "Link"
    )]
    pub(crate) trace_link: Option<PathBuf>,
    /// Round-trip time of the link with empty queues; half of it each way
    #[arg(long, value_name = "TIME", default_value = "60ms", value_parser = units::delay, help_heading = "Link")]
    pub(crate) rtt: Duration,
    /// Length of the link's queue: 50ms (at its current rate), 30kB or 20p
    ///
    /// The queue is drop-tail (p: packets), or a discipline with its settings: red:min=5,max=15 or codel, fq_codel,
    /// pie, as in `--queue codel:target=5ms,ecn,limit=100p`
    #[arg(long, value_name = "QUEUE", default_value = "50ms", value_parser = queue::queue, help_heading = "Link")]
    pub(crate) queue: LinkQueue,
    /// Packets lost at random: 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::loss, help_heading = "Link")]
    pub(crate) loss: f64,
    /// Run this many TCP flows through the link beside the call
    ///
    /// The flows are modelled and endless, with selective acknowledgements
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_FLOWS)), help_heading = "Link")]
    pub(crate) tcp: u8,
    /// Change the link at given times: lines of `time, rate, delay, loss`
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    pub(crate) schedule: Option<PathBuf>,
    /// Both ends send: a two-way call through the link
    #[arg(long)]
    pub(crate) both: bool,
    /// Write the received pictures here: .mp4, .mkv, .ts or .y4m
    ///
    /// `-` is standard output, as y4m. All formats but .y4m are written by ffmpeg and keep the coded pictures unchanged.
    /// With `--codec dv` and a name that ends in .dv, the file is raw DV
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
