//! A bottleneck that TCP and TFRC flows share, as the papers' simulations have it: what experiments
//! say of it, and what they measure of it.

use evenkeel_link::{Change, Jitter, LinkConfig, Loss, QueueLimit, Random};
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
    /// The same, counted in bytes.
    DropTailBytes {
        /// Bytes that it holds.
        size: Size,
    },
}

impl Queue {
    /// In names of metrics.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::DropTail { .. } | Self::DropTailBytes { .. } => "droptail",
        }
    }

    pub(crate) fn verify(self) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets } => require(packets > 0, "packets", "at least 1"),
            // Anything that a `Size` can be; less than a packet drops whatever has to wait.
            Self::DropTailBytes { .. } => Ok(()),
        }
    }

    /// The same queue for a link that is so many times as fast.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let times = |packets: u32| ((f64::from(packets) * factor).round() as u32).max(2);
        match self {
            Self::DropTail { packets } => Self::DropTail {
                packets: times(packets),
            },
            Self::DropTailBytes { size } => Self::DropTailBytes {
                size: Size(Bytes::new((size.0.as_f64() * factor).round() as u64)),
            },
        }
    }

    fn apply(self, config: &mut LinkConfig) {
        match self {
            Self::DropTail { packets } => config.queue = QueueLimit::Packets(packets.into()),
            Self::DropTailBytes { size } => config.queue = QueueLimit::Bytes(size.0),
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

/// What `docs/METHOD.md` states: SACK, a timer of at least 200 ms, every packet acknowledged.
impl Default for Tcp {
    fn default() -> Self {
        Self {
            variant: TcpVariant::Sack,
            min_rto: Time(Duration::from_millis(200)),
            clock: Time(Duration::ZERO),
            delayed_ack: false,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP, as [`Tcp`] says.
    Tcp,
    /// TFRC.
    Tfrc,
}

/// The shared link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bottleneck {
    pub(crate) rate: Rate,
    pub(crate) queue: Queue,
    /// What it loses besides, along the data.
    pub(crate) loss: Loss,
    /// Each sender's packets are late by a random time up to so many packet times of the bottleneck.
    /// Without it, who is dropped at a full queue is a matter of phase, not of rates (Floyd and
    /// Jacobson, 1992).
    pub(crate) jitter: f64,
}

impl Bottleneck {
    /// One that only its queue makes drop.
    pub(crate) fn new(rate: BitRate, queue: Queue) -> Self {
        Self {
            rate: rate.0,
            queue,
            loss: Loss::None,
            jitter: 0.0,
        }
    }
}

impl Bottleneck {
    fn jitter(&self, packet: Bytes) -> Jitter {
        let most = (packet / self.rate).as_secs_f64() * self.jitter;
        if most > 0.0 {
            Jitter::Uniform(duration_from_secs(most))
        } else {
            Jitter::None
        }
    }
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) protocol: Protocol,
    /// Round-trip time with empty queues.
    pub(crate) rtt: Duration,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    /// TFRC spaces its packets by √R against oscillation (RFC 5348 §4.5).
    pub(crate) spacing: bool,
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
                protocol: *protocol,
                rtt,
                start: Instant::ZERO + start,
                stop: Instant::MAX,
                spacing: true,
            }
        });
        members.collect()
    }
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
    /// A bottleneck with these flows. What happens in `[from, to)` is measured.
    pub(crate) fn new(
        bottleneck: &Bottleneck,
        (packet, tcp): (Size, &Tcp),
        members: &[Member],
        [from, to]: [Instant; 2],
        seed: u64,
    ) -> Result<Self, RunError> {
        // A quarter of the least round trip each way on the shared link, the rest before and after it.
        let least = members.iter().map(|member| member.rtt).min();
        let shared = least.unwrap_or(Duration::ZERO) / 4;
        let mut forward = link(bottleneck.rate, shared);
        forward.loss = bottleneck.loss;
        bottleneck.queue.apply(&mut forward);
        let accesses = members.iter().map(|member| {
            let each = (member.rtt - 2 * shared) / 4;
            let plain = link(bottleneck.rate * ACCESS_SPEED, each);
            let late = LinkConfig {
                jitter: bottleneck.jitter(packet.0),
                ..plain
            };
            Access {
                sender: [late, plain],
                receiver: [plain; 2],
            }
        });
        let shape = Shape::dumbbell([forward, link(bottleneck.rate, shared)], accesses)
            .map_err(|error| broken(&error))?;
        let mut sim = Simulation::new(&shape.topology, seed);
        let config = tcp.config(packet.0);
        for (place, member) in shape.places.iter().zip(members) {
            let [sender, receiver] = member.ends(packet.0, &config)?;
            sim.add_flow(&place.forward, &place.reverse, sender, receiver);
        }
        let empty = vec![Throughput::new(from, to, BIN); members.len()];
        Ok(Self {
            sim,
            bottleneck: shape.bottlenecks[0][0],
            record: Record {
                sent: empty.clone(),
                received: empty,
            },
        })
    }

    /// Runs it until then and gives its bottleneck another rate.
    pub(crate) fn change_rate(
        &mut self,
        at: Instant,
        rate: Rate,
        job: Job<'_>,
    ) -> Result<(), RunError> {
        advance(&mut self.sim, at, job, &mut self.record)?;
        let change = Change {
            at: at - Instant::ZERO,
            rate: Some(rate),
            delay: None,
            loss: None,
        };
        self.sim.change_link(self.bottleneck, &change);
        Ok(())
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

fn broken(error: &dyn std::fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}

impl Member {
    fn ends(self, packet: Bytes, tcp: &tcp::Config) -> Result<[Traffic; 2], RunError> {
        match self.protocol {
            Protocol::Tcp => {
                let sender = TcpSender::new(tcp, self.start, self.stop);
                let receiver = TcpReceiver::new(tcp);
                Ok([
                    Traffic::from(sender.map_err(|error| broken(&error))?),
                    Traffic::from(receiver.map_err(|error| broken(&error))?),
                ])
            }
            Protocol::Tfrc => Ok([
                Traffic::from(TfrcSender::new(TfrcConfig {
                    start: self.start,
                    stop: Some(self.stop),
                    packet_size: packet,
                    tfrc: SenderConfig {
                        oscillation_reduction: self.spacing,
                        ..SenderConfig::default()
                    },
                    ..TfrcConfig::default()
                })),
                Traffic::from(TfrcReceiver::new(ReceiverConfig::default())),
            ]),
        }
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
