//! A bottleneck that TCP and TFRC flows share, as the papers' simulations have it: what experiments
//! say of it, and what they measure of it.

use evenkeel_link::{LinkConfig, QueueLimit, Random};
use evenkeel_sim::tcp::{self, Variant};
use evenkeel_sim::{
    Access, Body, End, FlowId, LinkId, Observer, Outcome, Packet, Shape, Simulation, TcpReceiver,
    TcpSender, TfrcConfig, TfrcReceiver, TfrcSender, Traffic,
};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};
use tfrc::{ReceiverConfig, SenderConfig};

use crate::metrics::Throughput;
use crate::scenario::{Impossible, Job, RunError, require};
use crate::units::{BitRate, Size, Time};

/// The queue of a bottleneck.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// Packets that it holds.
        packets: u32,
    },
}

impl Queue {
    /// In names of metrics.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::DropTail { .. } => "droptail",
        }
    }

    pub(crate) fn verify(self) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets } => require(packets > 0, "packets", "at least 1"),
        }
    }

    /// The same queue for a link that is so many times as fast.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let times = |packets: u32| ((f64::from(packets) * factor).round() as u32).max(2);
        match self {
            Self::DropTail { packets } => Self::DropTail {
                packets: times(packets),
            },
        }
    }

    fn apply(self, config: &mut LinkConfig) {
        match self {
            Self::DropTail { packets } => config.queue = QueueLimit::Packets(packets.into()),
        }
    }
}

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

/// Headers of a TCP packet.
const TCP_HEADER: Bytes = Bytes::new(40);
/// The longest that a delayed acknowledgement waits.
const ACK_DELAY: Duration = Duration::from_millis(100);

impl Tcp {
    fn config(&self, packet: Bytes) -> tcp::Config {
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
            ..tcp::Config::default()
        }
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
}

impl Flows {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        let ordered = |range: [Time; 2]| range[0] <= range[1];
        require(
            ordered(self.rtt) && !self.rtt[0].0.is_zero(),
            "rtt",
            "[least, most], above 0",
        )?;
        require(ordered(self.start), "start", "[earliest, latest]")?;
        let room = self.packet.0 > TCP_HEADER && self.packet.0 <= Bytes::new(65_000);
        require(room, "packet", "from 41B to 65kB")
    }
}

/// Which protocol a flow speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Tfrc,
}

/// One simulation: a dumbbell with flows, and what was seen of it.
pub(crate) struct Run {
    sim: Simulation<Traffic>,
    bottleneck: LinkId,
    record: Record,
}

/// Between two instants: what each flow sent and what came of it.
struct Record {
    sent: Vec<Throughput>,
    received: Vec<Throughput>,
}

impl Observer<Traffic> for Record {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Sender {
            self.sent[flow.index()].add(now, packet.size);
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver {
            self.received[flow.index()].add(now, packet.size);
        }
    }
}

/// What was measured.
pub(crate) struct Measured {
    /// What each flow sent, in the order of the flows.
    pub(crate) sent: Vec<Throughput>,
    /// What arrived of it.
    pub(crate) received: Vec<Throughput>,
    /// Packets that came to the bottleneck.
    pub(crate) arrived: u64,
    /// Packets that its queue dropped.
    pub(crate) dropped: u64,
    /// Bytes that it carried.
    pub(crate) carried: Bytes,
}

/// Access links are this many times as fast as the bottleneck: they drop and delay nothing.
const ACCESS_SPEED: f64 = 10.0;
/// All timescales of the papers are multiples of this.
const BIN: Duration = Duration::from_millis(50);
/// Between two looks at whether the run is still wanted.
const SLICE: Duration = Duration::from_secs(1);

impl Run {
    /// A bottleneck of this rate and queue with these flows, whose round trips and starts are drawn
    /// from the job's seed, a stream each. What happens in `[from, to)` is measured.
    pub(crate) fn new(
        (rate, queue): (BitRate, Queue),
        flows: &Flows,
        protocols: &[Protocol],
        [from, to]: [Instant; 2],
        seed: u64,
    ) -> Result<Self, RunError> {
        let broken = |error: &dyn std::fmt::Display| RunError::Failed(error.to_string());
        let draw = |flow: usize| {
            let mut random = Random::new(seed, 1 + flow as u64);
            [flows.rtt, flows.start].map(|[least, most]| {
                let span = most.secs() - least.secs();
                duration_from_secs(least.secs() + span * random.unit())
            })
        };
        let drawn: Vec<[Duration; 2]> = (0..protocols.len()).map(draw).collect();
        // A quarter of the least round trip each way on the shared link, the rest before and after it.
        let shared = flows.rtt[0].0 / 4;
        let mut forward = link(rate.0, shared);
        queue.apply(&mut forward);
        let accesses = drawn.iter().map(|[rtt, _]| {
            let each = (*rtt - 2 * shared) / 4;
            Access::even(link(rate.0 * ACCESS_SPEED, each))
        });
        let shape = Shape::dumbbell([forward, link(rate.0, shared)], accesses)
            .map_err(|error| broken(&error))?;
        let mut sim = Simulation::new(&shape.topology, seed);
        for ((place, protocol), [_, start]) in shape.places.iter().zip(protocols).zip(&drawn) {
            let start = Instant::ZERO + *start;
            let [sender, receiver] = match protocol {
                Protocol::Tcp => {
                    let config = flows.tcp.config(flows.packet.0);
                    let sender = TcpSender::new(&config, start, Instant::MAX);
                    let receiver = TcpReceiver::new(&config);
                    [
                        Traffic::TcpSender(sender.map_err(|error| broken(&error))?),
                        Traffic::TcpReceiver(receiver.map_err(|error| broken(&error))?),
                    ]
                }
                Protocol::Tfrc => [
                    Traffic::TfrcSender(TfrcSender::new(TfrcConfig {
                        start,
                        packet_size: flows.packet.0,
                        tfrc: SenderConfig::default(),
                        ..TfrcConfig::default()
                    })),
                    Traffic::TfrcReceiver(TfrcReceiver::new(ReceiverConfig::default())),
                ],
            };
            sim.add_flow(&place.forward, &place.reverse, sender, receiver);
        }
        let empty = vec![Throughput::new(from, to, BIN); protocols.len()];
        Ok(Self {
            sim,
            bottleneck: shape.bottlenecks[0][0],
            record: Record {
                sent: empty.clone(),
                received: empty,
            },
        })
    }

    /// Runs it to its end, while `observer` looks on from its beginning.
    pub(crate) fn watch(
        mut self,
        to: Instant,
        job: Job<'_>,
        observer: &mut impl Observer<Traffic>,
    ) -> Result<(), RunError> {
        advance(&mut self.sim, to, job, observer)
    }

    /// Runs it to its end.
    pub(crate) fn measure(
        mut self,
        [from, to]: [Instant; 2],
        job: Job<'_>,
    ) -> Result<Measured, RunError> {
        advance(&mut self.sim, from, job, &mut self.record)?;
        let before = self.sim.link(self.bottleneck).counters();
        advance(&mut self.sim, to, job, &mut self.record)?;
        let after = self.sim.link(self.bottleneck).counters();
        Ok(Measured {
            sent: self.record.sent,
            received: self.record.received,
            arrived: after.received.packets - before.received.packets,
            dropped: after.dropped.packets - before.dropped.packets,
            carried: after.delivered.bytes - before.delivered.bytes,
        })
    }
}

fn advance(
    sim: &mut Simulation<Traffic>,
    to: Instant,
    job: Job<'_>,
    observer: &mut impl Observer<Traffic>,
) -> Result<(), RunError> {
    while sim.now() < to {
        job.go_on()?;
        let what = match sim.run_observed(to.min(sim.now() + SLICE), observer) {
            Outcome::Reached => continue,
            Outcome::NothingLeft { at } => {
                format!("nothing is left that could happen at {at} s, before {to} s")
            }
            Outcome::TimeStandsStill { at, flow } => {
                format!("time stands still at {at} s: flow {}", flow.index())
            }
        };
        return Err(RunError::Failed(what));
    }
    Ok(())
}

/// A link whose queue holds whatever comes.
fn link(rate: Rate, delay: Duration) -> LinkConfig {
    LinkConfig {
        rate,
        delay,
        ..LinkConfig::default()
    }
}
