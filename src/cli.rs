//! The command line: what may be said, its defaults, and its help.

mod perf;
mod vod;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use evenkeel_codec::source::FrameRate;
use evenkeel_codec::{Codec, UnknownCodec};
use evenkeel_conform::Rfc;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use evenkeel_rtp::session::FeedbackMode;
use tfrc::time::Duration;
use tfrc::units::Rate;

use crate::link_rate::{self, LinkRate};
use crate::queue::{self, Queue};
use crate::tcp::MAX_FLOWS;
use crate::units;

pub(crate) use perf::{PerfArgs, PerfClientArgs, PerfCommand, PerfOutputArgs, PerfServerArgs};
pub(crate) use vod::{VodArgs, VodCommand, VodPlayArgs, VodRunArgs, VodServeArgs};

/// Live video that shares the network fairly: TFRC (RFC 5348) over RTP, end to end.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Example: evenkeel demo        then open http://127.0.0.1:8080 and move the sliders"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One subcommand a file in `cmd/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A whole call on this machine, through an emulated link whose knobs are on the page
    Demo(DemoArgs),
    /// A call between two people: each end sends and receives, and has a page of its own
    Call(CallArgs),
    /// Send one way, to `evenkeel recv` or to any RTP receiver
    Send(SendArgs),
    /// Receive what `evenkeel send` sends
    Recv(RecvArgs),
    /// Check a TFRC implementation, ours or another, by number: the thesis's 57 checks, and more
    Conform(ConformArgs),
    /// Tell what this machine offers: timestamps, segmentation offload, timers, ffmpeg, cameras
    Doctor(DoctorArgs),
    /// Emulate a link between two interfaces or two sockets: rate, delay, queue, loss
    Link(LinkArgs),
    /// Run experiments a second time, over real kernels and an emulated link; needs root
    Testbed(TestbedArgs),
    /// Run the experiments: every figure and table of the papers, from its file
    Lab(LabArgs),
    /// Generate traffic and measure it, as iperf3 does: TFRC flows between two machines
    Perf(PerfArgs),
    /// Send a title on demand, or play one: MPEG-TS at its own pace, bounded by TFRC
    Vod(VodArgs),
}

impl Command {
    /// What it says of pictures, if it sends any.
    pub(crate) fn picture(&self) -> Option<&PictureArgs> {
        match self {
            Self::Demo(args) => Some(&args.picture),
            Self::Call(args) => Some(&args.picture),
            Self::Send(args) => Some(&args.picture),
            _ => None,
        }
    }
}

/// What to send and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// Where pictures come from: `scene`, `presenter` (a drawn person who speaks), a .y4m file, any file or
    /// device that ffmpeg reads, or `v4l2:/dev/video0` (with the feature `v4l2`); with `--codec dv` a file of raw DV, or
    /// `-`. What ffmpeg reads begins again at its end; y4m and DV end the run
    #[arg(long, value_name = "SOURCE", default_value = "scene")]
    pub(crate) source: String,
    /// Picture size of the scene, presenter or camera; a file keeps its own unless this is given. Uncompressed pictures
    /// (`--codec raw`) are received in one size: the same at both ends of a call, or what --sdp tells recv
    #[arg(long, value_name = "WxH", value_parser = units::size)]
    pub(crate) size: Option<(usize, usize)>,
    /// Frames per second; a file keeps its own unless this is given
    #[arg(long, value_name = "FPS", value_parser = units::fps)]
    pub(crate) fps: Option<FrameRate>,
    /// How pictures are coded: `evenkeel demo --codec list` tells what each codec can do
    #[arg(long, value_name = "CODEC", default_value = "mjpeg")]
    pub(crate) codec: CodecChoice,
    /// How large frames may be and which are sent: `evenkeel`, or the rules of the `thesis` to compare with
    #[arg(long, value_name = "POLICY", default_value = "evenkeel")]
    pub(crate) policy: Rules,
    /// Aim at this time from capture to display, from 20ms to 2s (a bare number is ms), as in `--deadline 300ms`. The policy `evenkeel` uses a
    /// longer deadline while the path cannot hold this one, and the page and --json show both
    #[arg(long, value_name = "TIME", default_value = "150ms", allow_hyphen_values = true, value_parser = units::deadline)]
    pub(crate) deadline: Duration,
    /// Do not slow down for losses that slowing down does not avoid, as on a radio link, up to 10 % of packets; by
    /// default every loss counts (RFC 5348). Needs --feedback ccfb or twcc and --policy evenkeel, as in `--random-loss
    /// --loss 5%`. Beside TCP in a queue of a few packets the rate is then unfair
    #[arg(long)]
    pub(crate) random_loss: bool,
    /// What fills the rate where pictures leave some of it: `none`, `dummy` packets, or repair packets (`fec`,
    /// RFC 8627) as the loss asks for
    #[arg(long, value_name = "FILLER", default_value = "none")]
    pub(crate) filler: Filler,
    /// Seed of every random choice of this run [default: 1; `call` and `send` then draw what names
    /// them on the network anew each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl PictureArgs {
    /// The seed of pictures and losses: equal runs unless another is asked for.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// The codec of a run.
    pub(crate) fn codec(&self) -> Codec {
        match self.codec {
            CodecChoice::List => Codec::default(),
            CodecChoice::One(codec) => codec,
        }
    }
}

/// What `--codec` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodecChoice {
    /// The names of all codecs are asked for, not a run.
    List,
    One(Codec),
}

impl FromStr for CodecChoice {
    type Err = UnknownCodec;

    fn from_str(name: &str) -> Result<Self, UnknownCodec> {
        if name == "list" {
            Ok(Self::List)
        } else {
            name.parse().map(Self::One)
        }
    }
}

/// How long to run and what to leave behind.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct RunArgs {
    /// Report in this format, the same at both ends: arrivals by RFC 8888 (ccfb) or by WebRTC's format (twcc), from which
    /// the sender measures delay and computes p; one bit per packet (sack); p (tfrc), or p in RTCP APP packets beside
    /// the reports that RTCP sends anyway (app)
    /// [default: ccfb, twcc with --filler, or what --sdp says]
    #[arg(long, value_name = "FORMAT", value_parser = FeedbackMode::from_str, help_heading = "Control")]
    pub(crate) feedback: Option<FeedbackMode>,
    /// Stop after this time (60, 90s, 5m); the default is to run until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = units::run_time)]
    pub(crate) seconds: Option<Duration>,
    /// The time at the start that the summary leaves out, less than --seconds
    /// [default: 10 s, or half of --seconds if that is less]
    #[arg(long, value_name = "TIME", value_parser = units::run_time_or_zero)]
    pub(crate) warmup: Option<Duration>,
    /// Write the summary here as one JSON object (`-` for standard output, which then has nothing else)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write every event here, one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Address of the page; port 0 takes any free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = units::address)]
    pub(crate) page: SocketAddr,
    /// No page
    #[arg(long)]
    pub(crate) headless: bool,
}

impl RunArgs {
    /// What the summary leaves out of the start.
    pub(crate) fn warmup(&self) -> Duration {
        self.warmup.unwrap_or_else(|| {
            let half = self.seconds.map_or(WARMUP, |seconds| seconds / 2);
            WARMUP.min(half)
        })
    }
}

/// A slow start over the longest path of a conversation, and a few seconds of what it has led to.
const WARMUP: Duration = Duration::from_secs(10);

/// `evenkeel demo`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel demo --rate 5M --rtt 20ms --seconds 60 --json out.json\n\
        or: evenkeel demo --trace-link lte.down --rtt 40ms --queue 150kB"
)]
pub(crate) struct DemoArgs {
    /// Rate of the emulated link
    #[arg(long, value_name = "RATE", default_value = "3M", value_parser = units::rate, help_heading = "Link")]
    pub(crate) rate: Rate,
    /// Replay this file in a loop as the link's rate, as in `--trace-link lte.down`; the default is --rate. The format is
    /// Mahimahi's: each line has the millisecond at which the link can deliver 1500 bytes. Displays show the mean rate,
    /// and a --queue in time counts at the mean rate
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
    /// Drop-tail queue of 50ms (at the link's current rate), 30kB, or 20p packets; or a discipline with
    /// its settings: red:min=5,max=15 or codel, fq_codel, pie, as in codel:target=5ms,ecn,limit=100p
    #[arg(long, value_name = "QUEUE", default_value = "50ms", value_parser = queue::queue, help_heading = "Link")]
    pub(crate) queue: Queue,
    /// Packets lost at random: 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::loss, help_heading = "Link")]
    pub(crate) loss: f64,
    /// TCP flows beside the call: modelled, endless, with SACK, through the same link
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=i64::from(MAX_FLOWS)), help_heading = "Link")]
    pub(crate) tcp: u8,
    /// Change the link at given times: lines of `time, rate, delay, loss`
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    pub(crate) schedule: Option<PathBuf>,
    /// Both ends send: a two-way call through the link
    #[arg(long)]
    pub(crate) both: bool,
    /// Write the received pictures here, as y4m, or with `--codec dv` as raw DV if the name ends in .dv
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// `evenkeel call`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Example: evenkeel call 192.0.2.7:5004     and there: evenkeel call 192.0.2.9:5004"
)]
pub(crate) struct CallArgs {
    /// The other end: ADDR or ADDR:PORT (5004 unless given)
    #[arg(value_name = "PEER")]
    pub(crate) peer: String,
    /// Local address and port
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:5004", value_parser = units::address)]
    pub(crate) bind: SocketAddr,
    /// Stop sending after this long without a report, and listen on: sending resumes once the peer is heard
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::run_time)]
    pub(crate) give_up: Duration,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// `evenkeel send`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel send 192.0.2.7 --source clip.mp4 --sdp stream.sdp")]
pub(crate) struct SendArgs {
    /// The receiver: ADDR or ADDR:PORT (5004 unless given)
    #[arg(value_name = "DEST")]
    pub(crate) dest: String,
    /// Local address and port; any free port unless given
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) bind: Option<SocketAddr>,
    /// Write the session description here before sending
    #[arg(long, value_name = "FILE")]
    pub(crate) sdp: Option<PathBuf>,
    /// Send at this rate, on a path that is yours alone, instead of the 128 kb/s that a receiver without
    /// RTCP gets. Circuit breakers hold if reception reports come
    #[arg(long, value_name = "RATE", value_parser = units::rate)]
    pub(crate) fixed_rate: Option<Rate>,
    /// End, with status 1, after this long without a report, or when a circuit breaker stops media for good. With
    /// --fixed-rate no report is waited for
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = units::run_time)]
    pub(crate) give_up: Duration,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

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
    /// What receivers report, and so which list is checked: tfrc, ccfb, twcc, sack
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
    /// The standard that is checked.
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

/// `evenkeel doctor`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `evenkeel lab`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab run --all        then open out/report.html")]
pub(crate) struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// `evenkeel lab …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments: where each is from, and how long it takes
    List(LabListArgs),
    /// Run experiments; the status is 1 if a check fails
    Run(LabRunArgs),
    /// Write the report of what was run: the simulator's figures, and the test bed's beside them
    Report(LabReportArgs),
}

/// `evenkeel lab report`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab report --out out        then open out/report.html")]
pub(crate) struct LabReportArgs {
    /// Folder of results: one a folder ID or ID-real
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
}

/// `evenkeel lab list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab list        then evenkeel lab run ID")]
pub(crate) struct LabListArgs {
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `evenkeel lab run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: evenkeel lab run sigcomm-fig19 --set rtt=200ms --out out/slow")]
pub(crate) struct LabRunArgs {
    /// The experiments, by name. What the folder of results has complete for this commit is not run again
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// Every experiment, and a report of all
    #[arg(long)]
    pub(crate) all: bool,
    /// Seeds of random experiments, in place of each file's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Change a parameter of the scenario: rtt=200ms; a dot leads into a table
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "all")]
    pub(crate) set: Vec<String>,
    /// Folder of results: one a folder ID, and report.html
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Runs at once; as many as there are cores unless given. Results are the same with any number
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print the results as JSON, when all are there
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of golden results: fail if a metric is not what is written there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seeds", "set"])]
    pub(crate) golden: Option<PathBuf>,
    /// Write the golden results instead, to be committed with the reason why they changed
    #[arg(long, requires = "golden")]
    pub(crate) bless: bool,
}

/// `evenkeel testbed`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: sudo evenkeel testbed run thesis-fig5-3")]
pub(crate) struct TestbedArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TestbedCommand,
}

/// `evenkeel testbed …`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Run experiments one after the other, in real time; the status is 1 if a check fails
    Run(TestbedRunArgs),
    /// Start a program of a run: what the test bed does itself
    #[command(hide = true)]
    Launch(TestbedLaunchArgs),
}

/// `evenkeel testbed run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example: sudo evenkeel testbed run thesis-fig5-3 --seeds 3 --out out/real")]
pub(crate) struct TestbedRunArgs {
    /// The experiments, by name
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,
    /// Every experiment that has a real half, and a report of both halves. What is complete for this
    /// commit is not run again
    #[arg(long)]
    pub(crate) all: bool,
    /// Repetitions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Runs at once. Where one starts its programs the senders of others may stand still for a second; by how much
    /// the emulator was late is in late_p99_us_*
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
    /// Change a parameter of the scenario: rtt=200ms; a dot leads into a table
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "all")]
    pub(crate) set: Vec<String>,
    /// Folder of results: one a folder ID-real, and report.html
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Folder of the experiments
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// Print the results as JSON, when all are there
    #[arg(long)]
    pub(crate) json: bool,
}

/// `evenkeel testbed launch`.
#[derive(Clone, Debug, Args)]
pub(crate) struct TestbedLaunchArgs {
    /// The process that has to start it
    pub(crate) parent: i32,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}

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
    /// Join two interfaces of this network namespace, for all that Ethernet carries; needs root
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
        with: evenkeel recv 127.0.0.1:5006        and: evenkeel send 127.0.0.1:5004\n\
        or: evenkeel link relay 127.0.0.1:5004 127.0.0.1:5006 --rate trace:lte.down --queue 150kB"
)]
pub(crate) struct LinkRelayArgs {
    /// Where the sender sends to
    #[arg(value_name = "LISTEN", value_parser = units::address)]
    pub(crate) listen: SocketAddr,
    /// The receiver
    #[arg(value_name = "TO", value_parser = units::address)]
    pub(crate) to: SocketAddr,
    /// Address from which the receiver gets what is passed on; any unless given
    #[arg(long, value_name = "ADDR:PORT", value_parser = units::address)]
    pub(crate) from: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) emulation: EmulationArgs,
}

/// What is emulated, and what is told of it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Link")]
pub(crate) struct EmulationArgs {
    /// The links from A to B and back as a TOML file: tables `forward` and `reverse`, each with rate, delay,
    /// queue, discipline, loss, jitter, reordering, duplication
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "delay", "queue", "loss"])]
    pub(crate) config: Option<PathBuf>,
    /// Limit the rate each way, as in `--rate 2M`; the default is no limit. trace:FILE replays a file in a loop, in
    /// Mahimahi's format: each line has the millisecond at which the link can deliver 1500 bytes
    #[arg(long, value_name = "RATE|trace:FILE", allow_hyphen_values = true, value_parser = link_rate::link_rate)]
    pub(crate) rate: Option<LinkRate>,
    /// Propagation delay, each way
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "0ms", value_parser = units::delay)]
    pub(crate) delay: Duration,
    /// Queue, each way: as that of `evenkeel demo`
    #[arg(long, value_name = "QUEUE", default_value = "50ms", value_parser = queue::queue)]
    pub(crate) queue: Queue,
    /// Packets lost at random from A to B: 2% or 0.02
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = units::loss)]
    pub(crate) loss: f64,
    /// Change the link from A to B at given times: lines of `time, rate, delay, loss`; delays hold both ways.
    /// A line of `time, MESSAGE` changes whatever a message to --control does
    #[arg(long, value_name = "FILE")]
    pub(crate) schedule: Option<PathBuf>,
    /// Listen here for changes of rate, delay, queue, discipline, loss and schedule while it runs: a line of JSON
    /// in, as {"both": {"delay": "80ms", "discipline": {"codel": {}}}}, a line of JSON out
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Write what happens to each packet here: a line for each time that one enters a link, is dropped or
    /// leaves
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Capture every packet where it enters a link and where it leaves, as pcapng
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Fixes losses and jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop after this time; the default is to run until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = units::run_time)]
    pub(crate) seconds: Option<Duration>,
    /// Print what became of the packets as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_media::policy::PolicyConfig;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_that_is_shown_has_an_example() {
        use clap::CommandFactory as _;
        fn look(command: &clap::Command, path: &str) {
            for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
                let path = format!("{path} {}", inner.get_name());
                let after = inner.get_after_help().map(ToString::to_string);
                let shown = after.is_some_and(|text| text.contains(&path));
                assert!(shown, "{path} --help shows no example of it");
                look(inner, &path);
            }
        }
        look(&Cli::command(), "evenkeel");
    }

    #[test]
    fn deadline_holds_for_whatever_sends_video() {
        for command in [
            &["demo"][..],
            &["call", "192.0.2.7"],
            &["send", "192.0.2.7"],
        ] {
            let deadline = |arguments: &[&str]| {
                let words = ["evenkeel"].iter().chain(command).chain(arguments);
                let cli = Cli::try_parse_from(words).expect("well formed");
                cli.command.picture().expect("it sends").deadline
            };
            assert_eq!(deadline(&[]), PolicyConfig::DEADLINE, "{command:?}");
            let given = deadline(&["--deadline", "300ms"]);
            assert_eq!(given, Duration::from_millis(300), "{command:?}");
        }
    }

    #[test]
    fn our_policy_and_no_filler_are_the_default() {
        let cli = Cli::try_parse_from(["evenkeel", "demo"]).expect("well formed");
        let Command::Demo(demo) = cli.command else {
            panic!("another command");
        };
        let picture = &demo.picture;
        assert_eq!(
            (picture.policy, picture.filler),
            (Rules::Evenkeel, Filler::None)
        );
    }
}
