//! A bottleneck that TCP and TFRC flows share, as the papers' simulations have it: what experiments
//! say of it, and what they measure of it.

use evenkeel_link::{Change, Discipline, Jitter, LinkConfig, Loss, QueueLimit, Random, RedConfig};
use evenkeel_sim::tcp::{self, Variant};
use evenkeel_sim::{
    Access, Body, End, FlowId, GapFrom, LinkId, Observer, Outcome, Packet, Shape, Simulation,
    TcpReceiver, TcpSender, TfrcConfig, TfrcReceiver, TfrcSender, Traffic, WebConfig, WebReceiver,
    WebSender,
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
    /// Random early detection (Floyd and Jacobson, 1993), in packets.
    Red {
        /// Packets that it holds at most.
        packets: u32,
        /// Below this average it drops none.
        min: u32,
        /// From this average on it drops all; if gentle, from twice this on.
        max: u32,
        /// The probability of dropping at `max`.
        max_p: f64,
        /// Lets the probability rise above `max` instead of jumping.
        gentle: bool,
    },
    /// The same as `DropTail`, counted in bytes.
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
            Self::Red { .. } => "red",
        }
    }

    pub(crate) fn verify(self) -> Result<(), Impossible> {
        match self {
            Self::DropTail { packets } => require(packets > 0, "packets", "at least 1"),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                ..
            } => {
                require(packets > 0, "packets", "at least 1")?;
                require(min < max, "max", "above min")?;
                require((0.0..=1.0).contains(&max_p), "max_p", "from 0 to 1")
            }
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
            Self::Red {
                packets,
                min,
                max,
                max_p,
                gentle,
            } => Self::Red {
                packets: times(packets),
                min: times(min),
                // Three more packets than the minimum, as no smaller range can control anything.
                max: times(max).max(times(min) + 3),
                max_p,
                gentle,
            },
            Self::DropTailBytes { size } => Self::DropTailBytes {
                size: Size(Bytes::new((size.0.as_f64() * factor).round() as u64)),
            },
        }
    }

    fn apply(self, config: &mut LinkConfig) {
        match self {
            Self::DropTail { packets } => config.queue = QueueLimit::Packets(packets.into()),
            Self::Red {
                packets,
                min,
                max,
                max_p,
                gentle,
            } => {
                config.queue = QueueLimit::Packets(packets.into());
                config.discipline = Discipline::Red(RedConfig {
                    max_p,
                    gentle,
                    ..RedConfig::between(min.into(), max.into())
                });
            }
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

/// What a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Speaks {
    /// TCP, with data without end.
    Tcp,
    /// TFRC, with data without end.
    Tfrc {
        /// Spaces its packets by √R against oscillation (RFC 5348 §4.5).
        spacing: bool,
    },
    /// Short TCP connections of 1 to [`WEB_PACKETS`] packets, as a Poisson process of this mean rate.
    Web(Rate),
}

impl From<Protocol> for Speaks {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tcp => Self::Tcp,
            Protocol::Tfrc => Self::Tfrc { spacing: true },
        }
    }
}

/// One flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) speaks: Speaks,
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
                speaks: (*protocol).into(),
                reverse: false,
                rtt,
                start: Instant::ZERO + start,
                stop: Instant::MAX,
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
    /// Times in seconds, and bytes that waited for it.
    pub(crate) queue: Vec<(f64, u64)>,
}

/// Access links are this many times as fast as the bottleneck: they drop and delay nothing.
const ACCESS_SPEED: f64 = 10.0;
/// All timescales of the papers are multiples of this.
const BIN: Duration = Duration::from_millis(50);
/// Between two looks at whether the run is still wanted.
const SLICE: Duration = Duration::from_secs(1);
/// The longest of the short connections (`sigcomm` §B: up to twenty packets).
const WEB_PACKETS: u32 = 20;
/// Above the streams that round trips and starts are drawn from.
const WEB_STREAMS: u64 = 1 << 32;

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
        for (index, (place, member)) in shape.places.iter().zip(members).enumerate() {
            let random = Random::new(seed, WEB_STREAMS + index as u64);
            let [sender, receiver] = member.ends(packet.0, &config, random)?;
            let (there, back) = if member.reverse {
                (&place.reverse, &place.forward)
            } else {
                (&place.forward, &place.reverse)
            };
            sim.add_flow(there, back, sender, receiver);
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
        let mut queue = Vec::new();
        while self.sim.now() < to {
            let next = to.min(self.sim.now() + BIN);
            advance(&mut self.sim, next, job, &mut self.record)?;
            let waiting = self.sim.link(self.bottleneck).queue_bytes();
            queue.push((next.as_secs_f64(), waiting.get()));
        }
        let after = self.sim.link(self.bottleneck).counters();
        Ok(Measured {
            sent: self.record.sent,
            received: self.record.received,
            arrived: after.received.packets - before.received.packets,
            dropped: after.dropped.packets - before.dropped.packets,
            carried: after.delivered.bytes - before.delivered.bytes,
            queue,
        })
    }
}

fn broken(error: &dyn std::fmt::Display) -> RunError {
    RunError::Failed(error.to_string())
}

impl Member {
    fn ends(
        self,
        packet: Bytes,
        tcp: &tcp::Config,
        random: Random,
    ) -> Result<[Traffic; 2], RunError> {
        match self.speaks {
            Speaks::Tcp => {
                let sender = TcpSender::new(tcp, self.start, self.stop);
                let receiver = TcpReceiver::new(tcp);
                Ok([
                    Traffic::from(sender.map_err(|error| broken(&error))?),
                    Traffic::from(receiver.map_err(|error| broken(&error))?),
                ])
            }
            Speaks::Tfrc { spacing } => Ok([
                Traffic::from(TfrcSender::new(TfrcConfig {
                    start: self.start,
                    stop: Some(self.stop),
                    packet_size: packet,
                    tfrc: SenderConfig {
                        oscillation_reduction: spacing,
                        ..SenderConfig::default()
                    },
                    ..TfrcConfig::default()
                })),
                Traffic::from(TfrcReceiver::new(ReceiverConfig::default())),
            ]),
            Speaks::Web(rate) => {
                let mean = packet.as_f64() * f64::from(1 + WEB_PACKETS) / 2.0;
                let config = WebConfig {
                    tcp: tcp.clone(),
                    file: [1, WEB_PACKETS.into()].map(|n| Bytes::new(n * tcp.segment.get())),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::utilisation;
    use std::sync::atomic::AtomicBool;

    fn secs(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    fn measure(speaks: [Speaks; 2], reverse: bool, jitter: f64) -> Measured {
        let bottleneck = Bottleneck {
            rate: Rate::from_bits_per_sec(2e6),
            queue: Queue::DropTail { packets: 20 },
            loss: Loss::None,
            jitter,
        };
        let members = speaks.map(|speaks| Member {
            speaks,
            reverse,
            rtt: Duration::from_millis(40),
            start: Instant::ZERO,
            stop: Instant::MAX,
        });
        let window = [secs(5), secs(15)];
        let packet = Size(Bytes::new(1_000));
        let run = Run::new(&bottleneck, (packet, &Tcp::default()), &members, window, 1).unwrap();
        let stop = AtomicBool::new(false);
        let job = Job {
            cell: 0,
            seed: 1,
            stop: &stop,
        };
        run.measure(window, job).unwrap()
    }

    #[test]
    fn two_flows_fill_the_bottleneck_and_no_more() {
        let measured = measure([Speaks::Tcp, Protocol::Tfrc.into()], false, 1.0);
        let rate = Rate::from_bits_per_sec(2e6);
        let used = utilisation(measured.carried, rate, Duration::from_secs(10));
        assert!((0.9..=1.001).contains(&used), "{used}");
        let received: Bytes = measured.received.iter().map(Throughput::total).sum();
        // What is on its way when measuring begins and ends.
        let apart = received.as_f64() / measured.carried.as_f64();
        assert!((apart - 1.0).abs() < 0.02, "{apart}");
        assert!(measured.queue.iter().all(|(_, bytes)| *bytes <= 20_000));
        assert_eq!(measured.queue.len(), 200);
    }

    #[test]
    fn data_against_the_others_leaves_acknowledgements_on_the_bottleneck() {
        let measured = measure([Speaks::Tcp, Speaks::Tcp], true, 0.0);
        let packets = measured
            .received
            .iter()
            .map(|flow| flow.total().get())
            .sum::<u64>()
            / 1_000;
        assert!(packets > 2_000, "{packets}");
        // One acknowledgement of 40 bytes a packet.
        assert!(
            measured.carried.get() < 50 * packets,
            "{}",
            measured.carried
        );
    }

    #[test]
    fn short_connections_bring_the_load_that_is_asked_for() {
        let half = Speaks::Web(Rate::from_bits_per_sec(0.5e6));
        let measured = measure([half, half], false, 0.0);
        let load = measured.carried.as_f64() * 8.0 / 10.0 / 1e6;
        // Some 120 connections of 10.5 packets; three standard deviations are a sixth.
        assert!((0.8..1.2).contains(&load), "{load} Mb/s");
    }

    #[test]
    fn queues_grow_with_the_rate() {
        let red = Queue::Red {
            packets: 250,
            min: 25,
            max: 125,
            max_p: 0.1,
            gentle: true,
        };
        let Queue::Red {
            packets, min, max, ..
        } = red.scaled(2.0)
        else {
            panic!("another discipline");
        };
        assert_eq!((packets, min, max), (500, 50, 250));
        let Queue::Red { min, max, .. } = red.scaled(0.01) else {
            panic!("another discipline");
        };
        assert_eq!((min, max), (2, 5));
    }
}
