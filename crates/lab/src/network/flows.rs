//! The flows of a network: their protocols, places and times.

use evenkeel_link::Random;
use evenkeel_sim::{GapFrom, Traffic, WebConfig, WebReceiver, WebSender};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};

use super::protocol::Protocol;
use super::stacks::Stacks;
use super::tcp::Tcp;
use super::tfrc_rules::{Feedback, Tfrc};
use crate::error::{Impossible, RunError, broken, require};
use crate::units::{Size, Time};

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
    /// Its data flows in the opposite direction.
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
