//! The flows of a network: what they speak, and when and where they run.

use evenkeel_link::Random;
use evenkeel_sim::tcp::{self, InitialWindow, Variant};
use evenkeel_sim::{GapFrom, Traffic, WebConfig, WebReceiver, WebSender};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};

use super::broken;
use super::protocol::{Feedback, Protocol, Tfrc};
use crate::scenario::{Impossible, RunError, require};
use crate::units::{Size, Time};

/// How TCP behaves where the papers leave it to their simulator.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Loss recovery.
    pub variant: TcpVariant,
    /// The least retransmission timeout.
    pub min_rto: Time,
    /// The tick of the retransmission timer and of measured round trips.
    pub clock: Time,
    /// Every second packet is acknowledged, or after 100 ms; else every one at once.
    pub delayed_ack: bool,
    /// Cuts what congestion leaves of the window to whole packets, as ns-2 does.
    #[serde(default)]
    pub whole_windows: bool,
    /// Grows the window by the packets that an acknowledgement covers, as Linux does, not by
    /// acknowledgements.
    #[serde(default)]
    pub byte_counting: bool,
    /// Any acknowledgement of new data ends the backing off of the timer, as in ns-2's SACK.
    #[serde(default)]
    pub ends_backoff: bool,
    /// The window before the first acknowledgement, in packets; that of RFC 3390 unless given.
    #[serde(default)]
    pub initial_window: Option<u32>,
    /// The receiver's window in packets; beyond any path unless given, and on the test bed the kernel's own.
    #[serde(default)]
    pub receive_window: Option<u32>,
    /// Says that its packets may be marked, and heeds marks (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// On the test bed: the kernel's congestion control, if not that of the variant.
    #[serde(default)]
    pub kernel: Option<Kernel>,
}

/// Congestion control of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// NewReno, with SACK as the kernel has it.
    Reno,
    /// CUBIC.
    Cubic,
    /// BBR.
    Bbr,
}

/// What `docs/METHOD.md` states: SACK, a timer of at least 200 ms, every packet acknowledged.
impl Default for Tcp {
    fn default() -> Self {
        Self {
            variant: TcpVariant::Sack,
            min_rto: Time(Duration::from_millis(200)),
            clock: Time(Duration::ZERO),
            delayed_ack: false,
            whole_windows: false,
            byte_counting: false,
            ends_backoff: false,
            initial_window: None,
            receive_window: None,
            ecn: false,
            kernel: None,
        }
    }
}

/// [`Variant`] as experiments name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TcpVariant {
    /// Tahoe.
    Tahoe,
    /// Reno.
    Reno,
    /// NewReno (RFC 6582).
    Newreno,
    /// SACK (RFC 6675).
    Sack,
    /// CUBIC (RFC 9438).
    Cubic,
}

impl TcpVariant {
    /// As it stands in a file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::Newreno => "newreno",
            Self::Sack => "sack",
            Self::Cubic => "cubic",
        }
    }
}

/// Headers of a TCP packet.
pub(super) const TCP_HEADER: Bytes = Bytes::new(40);
/// What UDP over IP can carry, roughly.
pub(crate) const MOST_PACKET: Bytes = Bytes::new(65_000);
/// The longest that a delayed acknowledgement waits.
const ACK_DELAY: Duration = Duration::from_millis(100);

impl Tcp {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        for (window, key) in [
            (self.initial_window, "initial_window"),
            (self.receive_window, "receive_window"),
        ] {
            require(window != Some(0), key, "at least 1 packet")?;
        }
        let waits = self.min_rto.0 + self.clock.0;
        require(!waits.is_zero(), "min_rto", "above 0, or a clock above 0")
    }

    /// What the kernel of a test bed calls this congestion control.
    pub(crate) fn kernel_name(&self) -> &'static str {
        match (self.kernel, self.variant) {
            (Some(Kernel::Bbr), _) => "bbr",
            (Some(Kernel::Cubic), _) | (None, TcpVariant::Cubic) => "cubic",
            (Some(Kernel::Reno), _) | (None, _) => "reno",
        }
    }

    pub(crate) fn config(self, packet: Bytes) -> tcp::Config {
        let standard = tcp::Config::default();
        tcp::Config {
            variant: match self.variant {
                TcpVariant::Tahoe => Variant::Tahoe,
                TcpVariant::Reno => Variant::Reno,
                TcpVariant::Newreno => Variant::NewReno,
                TcpVariant::Sack => Variant::Sack,
                TcpVariant::Cubic => Variant::Cubic,
            },
            segment: packet - TCP_HEADER,
            header: TCP_HEADER,
            min_rto: self.min_rto.0,
            clock_granularity: self.clock.0,
            delayed_ack: self.delayed_ack.then_some(ACK_DELAY),
            whole_windows: self.whole_windows,
            byte_counting: self.byte_counting,
            ends_backoff: self.ends_backoff,
            ecn: self.ecn,
            initial_window: self
                .initial_window
                .map_or(InitialWindow::Rfc3390, InitialWindow::Packets),
            receive_window: self.receive_window.unwrap_or(standard.receive_window),
            ..standard
        }
    }
}

/// How the ends of a flow behave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stacks {
    /// Of every data packet, on the wire.
    pub(crate) packet: Size,
    /// Of those of a TCP beside it: TFRC-SP takes the rate of one.
    pub(crate) tcp_packet: Size,
    pub(crate) tcp: Tcp,
    pub(crate) tfrc: Tfrc,
}

impl Stacks {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify()?;
        self.tcp.verify()?;
        let room = self.packet.0 > TCP_HEADER && self.packet.0 <= MOST_PACKET;
        require(room, "packet", "from 41B to 65kB")
    }
}

/// The link that all share, and the flows' ways to it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// Of every data packet, on the wire.
    pub packet: Size,
    /// Round-trip times with empty queues: each flow's is drawn evenly from between these.
    pub rtt: [Time; 2],
    /// Starts: each flow's is drawn evenly from between these.
    pub start: [Time; 2],
    /// The TCP flows.
    pub tcp: Tcp,
    /// The TFRC flows.
    #[serde(default)]
    pub tfrc: Tfrc,
    /// What receivers of TFRC report; p and X_recv unless given.
    #[serde(default)]
    pub feedback: Feedback,
}

impl Flows {
    pub(crate) fn stacks(&self) -> Stacks {
        Stacks {
            packet: self.packet,
            tcp_packet: self.packet,
            tcp: self.tcp,
            tfrc: self.tfrc,
        }
    }

    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        let ordered = |range: [Time; 2]| range[0] <= range[1];
        require(
            ordered(self.rtt) && !self.rtt[0].0.is_zero(),
            "rtt",
            "[least, most], above 0",
        )?;
        require(ordered(self.start), "start", "[earliest, latest]")?;
        self.stacks().verify()
    }
}

/// The longest of the short connections (`sigcomm` §B: up to twenty packets).
const WEB_PACKETS: u32 = 20;

/// What a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speaks {
    /// Data without end, and what receivers of TFRC report.
    Long(Protocol, Feedback),
    /// Short TCP connections of 1 to [`WEB_PACKETS`] packets, as a Poisson process of this mean rate.
    Web(Rate),
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) speaks: Speaks,
    pub(crate) stacks: Stacks,
    /// Its data goes against that of the others.
    pub(crate) reverse: bool,
    /// Round-trip time with empty queues.
    pub(crate) rtt: Duration,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
}

impl Flows {
    /// Flows that never end, their round trips and starts drawn from the seed, a stream each.
    pub(crate) fn draw(&self, protocols: &[Protocol], seed: u64) -> Vec<Member> {
        let members = protocols.iter().enumerate().map(|(index, protocol)| {
            let mut random = Random::new(seed, 1 + index as u64);
            let [rtt, start] = [self.rtt, self.start].map(|[least, most]| {
                let span = most.secs() - least.secs();
                duration_from_secs(least.secs() + span * random.unit())
            });
            Member {
                speaks: Speaks::Long(*protocol, self.feedback),
                stacks: self.stacks(),
                reverse: false,
                rtt,
                start: Instant::ZERO + start,
                stop: Instant::MAX,
            }
        });
        members.collect()
    }
}

impl Member {
    /// The ticks at which its host lets packets leave, if not at any time.
    pub(super) fn timer(self) -> Option<Time> {
        match self.speaks {
            Speaks::Long(Protocol::Tfrc, _) => self.stacks.tfrc.timer,
            Speaks::Long(..) | Speaks::Web(_) => None,
        }
    }

    pub(super) fn ends(self, random: Random) -> Result<[Traffic; 2], RunError> {
        let stacks = &self.stacks;
        match self.speaks {
            Speaks::Long(protocol, feedback) => {
                let times = [self.start, self.stop];
                protocol.ends(feedback, times, stacks, random)
            }
            Speaks::Web(rate) => {
                let tcp = stacks.tcp.config(stacks.packet.0);
                let mean = stacks.packet.0.as_f64() * f64::from(1 + WEB_PACKETS) / 2.0;
                let config = WebConfig {
                    file: [1, WEB_PACKETS.into()].map(|n| Bytes::new(n * tcp.segment.get())),
                    tcp,
                    gap: duration_from_secs(mean / rate.bytes_per_sec()),
                    gap_from: GapFrom::Start,
                    start: self.start,
                    first_gap: true,
                    stop: self.stop,
                    ..WebConfig::default()
                };
                let sender = WebSender::new(config.clone(), random);
                let receiver = WebReceiver::new(&config);
                Ok([
                    Traffic::from(sender.map_err(|error| broken(&error))?),
                    Traffic::from(receiver.map_err(|error| broken(&error))?),
                ])
            }
        }
    }
}
