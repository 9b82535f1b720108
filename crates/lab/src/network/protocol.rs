//! Which protocol a flow speaks: TCP, TFRC, their relatives, and what heeds nothing. All of them are the
//! two [`Agent`](evenkeel_sim::Agent)s of a flow to the simulator.

use evenkeel_link::Random;
use evenkeel_sim::tcp::{self, Binomial, Variant};
use evenkeel_sim::{
    RapReceiver, RapSender, SessionEnd, TcpReceiver, TcpSender, TearReceiver, TearSender,
    TfrcConfig, TfrcReceiver, TfrcSender, Traffic,
};
use serde::Deserialize;
use tfrc::time::Instant;

use super::stacks::Stacks;
use super::tcp::TCP_HEADER;
use super::tfrc_rules::Feedback;
use super::udp::Udp;
use crate::error::{Impossible, RunError, broken, require};

/// What a long flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Protocol {
    /// TCP, as [`Tcp`](super::Tcp) says.
    Tcp,
    /// TFRC, as [`Tfrc`](super::Tfrc) says.
    Tfrc,
    /// The same TCP, with other constants.
    Aimd {
        /// Packets that a round trip adds to the window.
        a: f64,
        /// The share of the window that a loss takes.
        b: f64,
    },
    /// The same TCP, with square root increase and decrease.
    Sqrt,
    /// The same TCP, with inverse increase and additive decrease.
    Iiad,
    /// AIMD of a rate.
    Rap,
    /// The window of a TCP at the receiver, smoothed.
    Tear,
    /// UDP.
    Udp(Udp),
}

impl Protocol {
    pub(crate) fn verify(self) -> Result<(), Impossible> {
        match self {
            Self::Aimd { a, b } => {
                require(a > 0.0 && a.is_finite(), "a", "above 0")?;
                require(b > 0.0 && b < 1.0, "b", "between 0 and 1")
            }
            Self::Udp(udp) => udp.verify(),
            Self::Tcp | Self::Tfrc | Self::Sqrt | Self::Iiad | Self::Rap | Self::Tear => Ok(()),
        }
    }

    /// The two ends of a flow from `start` to `stop`.
    pub(super) fn ends(
        self,
        feedback: Feedback,
        [start, stop]: [Instant; 2],
        stacks: &Stacks,
        mut random: Random,
    ) -> Result<[Traffic; 2], RunError> {
        let packet = stacks.packet.0;
        let binomial = |rule| {
            let config = tcp::Config {
                variant: Variant::Binomial(rule),
                ..stacks.tcp.config(packet)
            };
            tcp_ends(&config, [start, stop])
        };
        match self {
            Self::Tcp => tcp_ends(&stacks.tcp.config(packet), [start, stop]),
            Self::Aimd { a, b } => binomial(Binomial::aimd(a, b)),
            Self::Sqrt => binomial(Binomial::SQRT),
            Self::Iiad => binomial(Binomial::IIAD),
            Self::Tfrc => {
                let config = TfrcConfig {
                    start,
                    stop: Some(stop),
                    packet_size: packet,
                    tfrc: stacks.tfrc.sender(stacks.tcp_packet.0 - TCP_HEADER),
                    ecn: stacks.tfrc.ecn,
                };
                let estimator = stacks.tfrc.receiver();
                if stacks.tfrc.session || feedback != Feedback::Tfrc {
                    let (mode, seed) = (feedback.mode(), random.next_u64());
                    let rtcp = stacks.tfrc.rtcp();
                    let ends = SessionEnd::pair(&config, &estimator, mode, rtcp, seed);
                    Ok(ends.map(Traffic::from))
                } else {
                    Ok([
                        Traffic::from(TfrcSender::new(config)),
                        Traffic::from(TfrcReceiver::new(estimator)),
                    ])
                }
            }
            Self::Rap => Ok([
                Traffic::from(RapSender::new(packet, start, stop)),
                Traffic::from(RapReceiver::new(TCP_HEADER)),
            ]),
            Self::Tear => Ok([
                Traffic::from(TearSender::new(packet, start, stop)),
                Traffic::from(TearReceiver::new(TCP_HEADER)),
            ]),
            Self::Udp(udp) => udp.ends([start, stop], random),
        }
    }
}

fn tcp_ends(config: &tcp::Config, [start, stop]: [Instant; 2]) -> Result<[Traffic; 2], RunError> {
    let sender = TcpSender::new(config, start, stop);
    let receiver = TcpReceiver::new(config);
    Ok([
        Traffic::from(sender.map_err(|error| broken(&error))?),
        Traffic::from(receiver.map_err(|error| broken(&error))?),
    ])
}
