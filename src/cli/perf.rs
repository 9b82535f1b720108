//! Options of `evenkeel perf`, which have iperf3's names where iperf3 has them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr as _;

use clap::{Args, Subcommand, ValueEnum};
use evenkeel_perf::{Limits, Mode, ReportTiming, Terms};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::units;

/// `evenkeel perf`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel perf server      and elsewhere: evenkeel perf client 192.0.2.7 -t 20"
)]
pub(crate) struct PerfArgs {
    /// Which end.
    #[command(subcommand)]
    pub(crate) command: PerfCommand,
}

/// `evenkeel perf …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PerfCommand {
    /// Serve clients, within limits
    Server(PerfServerArgs),
    /// Run one test with a server
    Client(PerfClientArgs),
}

/// What both ends have.
#[derive(Clone, Debug, Args)]
pub(crate) struct PerfOutputArgs {
    /// UDP port of the server
    #[arg(short, long, value_name = "PORT", allow_hyphen_values = true, default_value_t = 5201, value_parser = port)]
    pub(crate) port: u16,
    /// Seconds between two lines; 0 for none
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, default_value = "1", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Add the lines to this file instead of printing them
    #[arg(long, value_name = "FILE")]
    pub(crate) logfile: Option<PathBuf>,
    /// Wait actively for the last microseconds before each departure
    ///
    /// Departures are exact, at the cost of one core
    #[arg(long)]
    pub(crate) spin: bool,
    /// Write every packet here, as pcapng for Wireshark
    ///
    /// Data is written without its padding
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
}

/// `evenkeel perf server`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel perf server --max-rate 100M --max-flows 8")]
pub(crate) struct PerfServerArgs {
    #[command(flatten)]
    pub(crate) output: PerfOutputArgs,
    /// Local address
    #[arg(short = 'B', long, value_name = "ADDR", default_value = "::", value_parser = units::host)]
    pub(crate) bind: SocketAddr,
    /// Serve one test and exit
    #[arg(short = '1', long)]
    pub(crate) one_off: bool,
    /// Print one JSON object a test, of iperf3's shape
    ///
    /// All else goes to standard error
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
    /// Limit the flows of all clients together
    ///
    /// One host has at most half of the flows that the others leave
    #[arg(long, value_name = "N", default_value_t = Limits::default().flows, value_parser = clap::value_parser!(u16).range(1..=i64::from(Terms::MAX_FLOWS)), help_heading = "Limits")]
    pub(crate) max_flows: u16,
    /// Limit the rate of a flow [default: no limit]
    ///
    /// A client that lies in its reports gets what it asks for: set a limit for strangers
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = units::rate, help_heading = "Limits")]
    pub(crate) max_rate: Option<Rate>,
    /// Limit the length of a test
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1h", value_parser = units::run_time, help_heading = "Limits")]
    pub(crate) max_time: Duration,
}

/// `evenkeel perf client`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel perf client 192.0.2.7 -R -P 4 -b 2M -t 20")]
pub(crate) struct PerfClientArgs {
    /// The server
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) output: PerfOutputArgs,
    /// How long to send
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, default_value = "10", value_parser = units::run_time)]
    pub(crate) time: Duration,
    /// Limit the rate of a flow; 0 leaves it to TFRC [default: 0; 1M with -u]
    #[arg(short, long, value_name = "RATE", allow_hyphen_values = true, value_parser = bitrate)]
    bitrate: Option<Bitrate>,
    /// Bytes of a packet, its UDP payload
    #[arg(short, long, value_name = "BYTES", allow_hyphen_values = true, default_value_t = 1_400, value_parser = length)]
    pub(crate) length: u16,
    /// Number of flows
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(Terms::MAX_FLOWS)))]
    pub(crate) parallel: u16,
    /// Let the server send
    #[arg(short = 'R', long)]
    pub(crate) reverse: bool,
    /// Send in both directions
    #[arg(long, conflicts_with = "reverse")]
    pub(crate) bidir: bool,
    /// Print one JSON object at the end, of iperf3's shape
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
    /// Write X, X_recv, R, p and throughput here, a line a report, as CSV
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Send UDP at the rate of -b, without congestion control
    ///
    /// Use it for comparison, on a path that nobody else needs
    #[arg(short, long, conflicts_with = "mode")]
    udp: bool,
    /// Choose the standard of TFRC
    #[arg(long, value_enum, default_value = "rfc5348", help_heading = "TFRC")]
    mode: PerfMode,
    /// Format of the receivers' reports: ccfb, twcc, sack, tfrc or app
    ///
    /// With ccfb (RFC 8888), twcc (WebRTC's transport-wide feedback) and sack (one bit a packet) receivers report
    /// arrivals, and the sender computes the loss event rate p. With tfrc they report p, with app they report p in RTCP
    /// APP packets
    #[arg(long, value_name = "FORMAT", value_parser = FeedbackMode::from_str, default_value = FeedbackMode::Tfrc.name(), conflicts_with = "udp", help_heading = "TFRC")]
    pub(crate) feedback: FeedbackMode,
    /// Set the segment size s, to which the rate X is in proportion [default: as -l; 1460 for sp]
    ///
    /// With rfc5348 and rfc3448 half of -l takes half a fair share of the path, twice -l takes two. With sp it is the
    /// packet size of the competing flows, whose share small packets then get. It has no effect with -u
    #[arg(long, value_name = "BYTES", conflicts_with = "udp", value_parser = clap::value_parser!(u16).range(1..=i64::from(Terms::MAX_LENGTH)), help_heading = "TFRC")]
    packet_size: Option<u16>,
    /// Send as ECN-capable: marks count as losses do
    #[arg(long, help_heading = "TFRC")]
    pub(crate) ecn: bool,
    /// Limit a burst to what X sends in this time; one packet always may go
    ///
    /// With -u the rate of -b stands in for X
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "250us", value_parser = burst, help_heading = "TFRC")]
    pub(crate) burst: Duration,
    /// Set a floor under the nofeedback timer
    ///
    /// Without it, reports that are late by more than four round trips halve the rate
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "20ms", value_parser = nofeedback_floor, help_heading = "TFRC")]
    pub(crate) nofeedback_floor: Duration,
    /// Report every N quarters of a round trip
    #[arg(long, value_name = "N", default_value_t = ReportTiming::default().quarters, value_parser = clap::value_parser!(u16).range(1..=i64::from(ReportTiming::MAX_QUARTERS)), conflicts_with = "udp", help_heading = "Reports")]
    report_quarters: u16,
    /// Session bandwidth, of which RTCP takes a twentieth [default: as -b, or the least of a session]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = units::rate, conflicts_with = "udp", help_heading = "Reports")]
    session_bandwidth: Option<Rate>,
    /// Send reports only in compound packets, when RTCP's timer fires
    ///
    /// Needs --feedback app
    #[arg(long, conflicts_with = "udp", help_heading = "Reports")]
    piggy_backed: bool,
}

impl PerfClientArgs {
    /// Returns the rate of a flow, if it is limited.
    pub(crate) fn rate(&self) -> Result<Option<Rate>, &'static str> {
        match (self.udp, self.bitrate) {
            (true, None) => Ok(Some(Rate::from_bits_per_sec(1e6))),
            (true, Some(Bitrate(None))) => {
                Err("--udp sends at a fixed rate: give one with --bitrate")
            }
            (_, asked) => Ok(asked.and_then(|Bitrate(rate)| rate)),
        }
    }

    /// Returns the control of the rate.
    pub(crate) fn mode(&self) -> Mode {
        match self.mode {
            _ if self.udp => Mode::Fixed,
            PerfMode::Rfc5348 => Mode::Rfc5348,
            PerfMode::Rfc3448 => Mode::Rfc3448,
            PerfMode::Sp => Mode::SmallPackets,
        }
    }

    /// Returns the times at which receivers report.
    pub(crate) fn reports(&self) -> ReportTiming {
        ReportTiming {
            quarters: self.report_quarters,
            session_bandwidth: self.session_bandwidth,
            piggy_backed: self.piggy_backed,
        }
    }

    /// Returns s.
    pub(crate) fn segment_size(&self) -> u16 {
        self.packet_size.unwrap_or(match self.mode {
            PerfMode::Sp => 1_460,
            PerfMode::Rfc5348 | PerfMode::Rfc3448 => self.length,
        })
    }
}

/// TFRC by its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PerfMode {
    /// RFC 5348
    Rfc5348,
    /// RFC 3448, its first edition
    Rfc3448,
    /// TFRC-SP for small packets (RFC 4828): a packet every 10 ms at most
    Sp,
}

fn port(text: &str) -> Result<u16, String> {
    let number = text.trim().parse::<u16>();
    number.map_err(|_| "not a port: write a number from 0 to 65535".to_owned())
}

/// Parses a number of bytes without a unit.
fn length(text: &str) -> Result<u16, String> {
    let lengths = Terms::MIN_LENGTH..=Terms::MAX_LENGTH;
    let number = text.trim().parse::<u16>().ok();
    number
        .filter(|bytes| lengths.contains(bytes))
        .ok_or_else(|| {
            format!(
                "not a length: write bytes, a number from {} to {}",
                lengths.start(),
                lengths.end()
            )
        })
}

/// Parses a time as long as a run may be, with an error of its own.
fn interval(text: &str) -> Result<Duration, String> {
    units::run_time_or_zero(text).map_err(|_| {
        "not an interval: write 0.1s to a year, as 0.5s or 10, or 0 for none".to_owned()
    })
}

/// A rate limit, or none.
#[derive(Clone, Copy, Debug)]
struct Bitrate(Option<Rate>);

fn bitrate(text: &str) -> Result<Bitrate, String> {
    match text.trim() {
        "0" => Ok(Bitrate(None)),
        text => units::rate(text).map(|rate| Bitrate(Some(rate))),
    }
}

fn burst(text: &str) -> Result<Duration, String> {
    at_most(text, Terms::MAX_BURST)
}

fn nofeedback_floor(text: &str) -> Result<Duration, String> {
    at_most(text, Terms::MAX_NOFEEDBACK)
}

fn at_most(text: &str, most: Duration) -> Result<Duration, String> {
    match units::delay(text)? {
        time if time > most => Err(format!(
            "out of range: at most {most:?} (a number without a unit is in seconds)"
        )),
        time => Ok(time),
    }
}
