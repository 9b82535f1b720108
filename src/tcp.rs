//! Models TCP flows beside a live call, in the links of the call.

use evenkeel_link::Packet;
use evenkeel_net::{CrossTraffic, Direction, HEADERS};
use evenkeel_sim::tcp::{Ack, Config, ConfigError, Connection, Receiver, Segment, Sender};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// The most flows. Beside eight, the call has a ninth of the link, which makes the picture adapt visibly.
pub(crate) const MAX_FLOWS: u8 = 8;

/// Endless flows with SACK. Their data takes the link of the call's media, and their acknowledgements the reverse
/// link.
#[derive(Debug)]
pub(crate) struct TcpFlows {
    /// The initial state of every flow.
    sender: Sender,
    receiver: Receiver,
    header: Bytes,
    flows: Vec<Flow>,
    /// The number of flows started so far, so that packets in flight for an ended flow find no other flow.
    started: u16,
    totals: Totals,
}

#[derive(Debug)]
struct Flow {
    sender: Sender,
    receiver: Receiver,
    connection: Connection,
}

/// The work of TCP up to one moment; the difference of two is the work between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The moment.
    at: Instant,
    /// The number of flows.
    pub(crate) flows: u8,
    /// The bytes that arrived, [`HEADERS`] a packet less than the link counts, as with the call's media. Equal
    /// shares thus have equal figures.
    received: Bytes,
    /// The sum of the times for which flows have run.
    flow_time: Duration,
}

impl Totals {
    /// Returns the mean throughput of a flow since `before`; `None` without flows.
    pub(crate) fn rate_of_one_since(&self, before: &Self) -> Option<Rate> {
        let time = self.flow_time_since(before);
        (!time.is_zero()).then(|| (self.received - before.received) / time)
    }

    /// Returns the mean number of flows since `before`, which is earlier.
    pub(crate) fn mean_flows_since(&self, before: &Self) -> f64 {
        let time = self.at.saturating_since(before.at);
        self.flow_time_since(before).as_secs_f64() / time.as_secs_f64()
    }

    fn flow_time_since(&self, before: &Self) -> Duration {
        self.flow_time.saturating_sub(before.flow_time)
    }
}

/// The figures of TCP in the summary, from the end of the warm-up on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    from: Instant,
    ends: Option<[Totals; 2]>,
}

impl Measured {
    /// Creates figures that measure nothing before `from`.
    pub(crate) fn new(from: Instant) -> Self {
        Self { from, ends: None }
    }

    /// Records the totals at one moment.
    pub(crate) fn handle_totals(&mut self, totals: Totals) {
        if totals.at >= self.from {
            let [first, _] = self.ends.unwrap_or([totals; 2]);
            self.ends = Some([first, totals]);
        }
    }

    /// Returns the mean number of flows, and the mean throughput of one.
    pub(crate) fn means(&self) -> (Option<f64>, Option<Rate>) {
        let Some([first, last]) = self.ends.filter(|[first, last]| last.at > first.at) else {
            return (None, None);
        };
        let flows = last.mean_flows_since(&first);
        (Some(flows), last.rate_of_one_since(&first))
    }
}

/// A packet between the two ends of a flow.
#[derive(Clone, Debug)]
pub(crate) enum TcpPacket {
    Segment(Segment),
    Ack(Ack),
}

impl TcpPacket {
    fn connection(&self) -> Connection {
        match self {
            Self::Segment(segment) => segment.connection,
            Self::Ack(ack) => ack.connection,
        }
    }
}

impl Packet for TcpPacket {
    fn ecn(&self) -> Ecn {
        match self {
            Self::Segment(segment) => segment.ecn,
            Self::Ack(_) => Ecn::NotEct,
        }
    }

    fn mark(&mut self) {
        if let Self::Segment(segment) = self {
            segment.ecn = Ecn::Ce;
        }
    }

    fn flow(&self) -> u64 {
        self.connection().slot.into()
    }
}

impl TcpFlows {
    /// Creates the model without flows.
    pub(crate) fn new() -> Result<Self, ConfigError> {
        let config = Config {
            // With its header a segment is as large as a full packet of the call (1,200 bytes of RTP and 28).
            segment: Bytes::new(1_188),
            // The receiver acknowledges every packet, as the throughput equation assumes (b = 1).
            delayed_ack: None,
            // Linux has this minimum.
            min_rto: Duration::from_millis(200),
            ..Config::default()
        };
        Ok(Self {
            sender: Sender::new(&config)?,
            receiver: Receiver::new(&config)?,
            header: config.header,
            flows: Vec::new(),
            started: 0,
            totals: Totals::default(),
        })
    }

    /// Sets the number of flows from now on: new ones start, or the newest end.
    pub(crate) fn set_flows(&mut self, now: Instant, flows: u8) {
        self.count_time(now);
        self.flows.truncate(flows.into());
        for slot in self.totals.flows.into()..flows.into() {
            self.flows.push(Flow {
                sender: self.sender.clone(),
                receiver: self.receiver.clone(),
                connection: Connection {
                    slot,
                    generation: self.started,
                },
            });
            self.started = self.started.wrapping_add(1);
        }
        self.totals.flows = flows;
    }

    /// Returns the totals up to now.
    pub(crate) fn totals(&mut self, now: Instant) -> Totals {
        self.count_time(now);
        self.totals
    }

    fn count_time(&mut self, now: Instant) {
        let passed = now.saturating_since(self.totals.at);
        self.totals.at = self.totals.at.max(now);
        for _ in &self.flows {
            self.totals.flow_time += passed;
        }
    }
}

impl CrossTraffic for TcpFlows {
    type Packet = TcpPacket;

    fn handle_packet(&mut self, now: Instant, _direction: Direction, packet: TcpPacket) {
        let connection = packet.connection();
        let flow = self.flows.get_mut(usize::from(connection.slot));
        let Some(flow) = flow.filter(|flow| flow.connection == connection) else {
            return;
        };
        match packet {
            TcpPacket::Segment(segment) => {
                self.totals.received += segment.size - HEADERS;
                flow.receiver.handle_segment(now, segment);
            }
            TcpPacket::Ack(ack) => flow.sender.handle_ack(now, ack),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for flow in &mut self.flows {
            flow.sender.handle_timeout(now);
            flow.receiver.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<(Direction, TcpPacket, Bytes)> {
        let header = self.header;
        self.flows.iter_mut().find_map(|flow| {
            let connection = flow.connection;
            if let Some(mut ack) = flow.receiver.poll_ack(now) {
                ack.connection = connection;
                return Some((Direction::Reverse, TcpPacket::Ack(ack), header));
            }
            let segment = flow.sender.poll_transmit(now)?;
            let packet = TcpPacket::Segment(Segment {
                connection,
                ..segment
            });
            Some((Direction::Forward, packet, segment.size))
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let ends = self
            .flows
            .iter()
            .flat_map(|flow| [flow.sender.poll_timeout(), flow.receiver.poll_timeout()]);
        ends.flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::{Counters, Link, LinkConfig, QueueLimit};

    /// The demo's links with TCP alone in them, in virtual time.
    struct World {
        now: Instant,
        tcp: TcpFlows,
        links: [Link<TcpPacket>; 2],
    }

    impl World {
        fn new() -> Self {
            let link = LinkConfig {
                rate: Rate::from_bits_per_sec(3e6),
                delay: Duration::from_millis(30),
                queue: QueueLimit::Time(Duration::from_millis(50)),
                ..LinkConfig::default()
            };
            Self {
                now: Instant::ZERO,
                tcp: TcpFlows::new().unwrap(),
                links: [Link::new(link, 1), Link::new(link, 2)],
            }
        }

        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            loop {
                self.tcp.handle_timeout(self.now);
                for direction in [Direction::Forward, Direction::Reverse] {
                    while let Some(packet) = self.links[direction as usize].poll_output(self.now) {
                        self.tcp.handle_packet(self.now, direction, packet);
                    }
                }
                while let Some((direction, packet, size)) = self.tcp.poll_transmit(self.now) {
                    self.links[direction as usize].handle_packet(self.now, packet, size);
                }
                let links = self.links.iter().map(Link::poll_timeout);
                match links.chain([self.tcp.poll_timeout()]).flatten().min() {
                    Some(next) if next < end => self.now = next,
                    _ => break self.now = end,
                }
            }
        }

        fn totals(&mut self) -> Totals {
            self.tcp.totals(self.now)
        }

        fn counters(&self) -> [Counters; 2] {
            self.links.each_ref().map(Link::counters)
        }
    }

    #[test]
    fn two_flows_fill_the_link_without_other_losses() {
        let mut world = World::new();
        world.tcp.set_flows(world.now, 2);
        world.run(Duration::from_secs(5));
        let before = world.totals();
        world.run(Duration::from_secs(60));
        let after = world.totals();
        let each = after.rate_of_one_since(&before).unwrap();
        // The link carries this much of 1,200 bytes in packets of 1,228.
        let most = 3e6 / 2.0 * 1_200.0 / 1_228.0;
        let utilisation = each.bits_per_sec() / most;
        assert!((0.95..=1.0).contains(&utilisation), "{utilisation}");
        assert_eq!(after.mean_flows_since(&before), 2.0);

        let [forward, reverse] = world.counters();
        assert!(forward.dropped.packets > 0);
        assert_eq!(reverse.dropped.packets, 0);
        let arrived = forward.delivered.packets;
        assert_eq!(after.received, Bytes::new(1_200 * arrived));
        // Each packet that arrived has an acknowledgement.
        assert_eq!(reverse.received.packets, arrived);
        let sent: u64 = world
            .tcp
            .flows
            .iter()
            .map(|flow| flow.sender.counters().sent)
            .sum();
        assert_eq!(forward.received.packets, sent);
    }

    #[test]
    fn flows_share_the_link_about_equally() {
        let mut world = World::new();
        world.tcp.set_flows(world.now, 4);
        world.run(Duration::from_secs(120));
        let delivered = world.tcp.flows.iter();
        let delivered = delivered.map(|flow| flow.receiver.delivered().as_f64());
        let (least, most) = delivered
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), bytes| {
                (least.min(bytes), most.max(bytes))
            });
        assert!(least / most > 0.7, "{least} of {most}");
    }

    #[test]
    fn a_flow_that_ends_sends_no_more() {
        let mut world = World::new();
        world.tcp.set_flows(world.now, 3);
        world.run(Duration::from_secs(5));
        world.tcp.set_flows(world.now, 0);
        let (before, [sent, _]) = (world.totals(), world.counters());
        world.run(Duration::from_secs(5));
        assert_eq!(world.counters()[0].received, sent.received);
        assert_eq!(world.totals().received, before.received);
        assert_eq!(world.totals().rate_of_one_since(&before), None);
        assert_eq!(world.tcp.poll_timeout(), None);
    }

    #[test]
    fn packets_of_an_ended_flow_reach_no_other() {
        let mut world = World::new();
        world.tcp.set_flows(world.now, 1);
        world.run(Duration::from_secs(5));
        let before = world.totals();
        world.tcp.set_flows(world.now, 0);
        world.tcp.set_flows(world.now, 1);
        // The time is too short for a new packet, and long enough for those in flight.
        world.run(Duration::from_millis(30));
        assert!(world.counters()[0].delivered.bytes > before.received);
        assert_eq!(world.totals().received, before.received);
        world.run(Duration::from_secs(5));
        assert!(world.totals().received > before.received);
    }

    #[test]
    fn the_summary_leaves_the_warm_up_out() {
        let mut measured = Measured::new(Instant::from_secs(10));
        assert_eq!(measured.means(), (None, None));
        for (at, flow_secs, received) in [(5, 0, 0), (10, 5, 1_000), (20, 20, 31_000)] {
            let totals = Totals {
                at: Instant::from_secs(at),
                flows: 1,
                received: Bytes::new(received),
                flow_time: Duration::from_secs(flow_secs),
            };
            measured.handle_totals(totals);
        }
        let rate = Rate::from_bits_per_sec(16e3);
        assert_eq!(measured.means(), (Some(1.5), Some(rate)));
    }
}
