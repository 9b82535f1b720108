//! TCP and TFRC flows through one bottleneck.

use evenkeel_link::{LinkConfig, QueueLimit};
use evenkeel_sim::{
    Access, End, FlowId, Outcome, Shape, Simulation, TcpReceiver, TcpSender, TfrcConfig,
    TfrcReceiver, TfrcSender, Traffic, tcp,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What came of a run.
pub(crate) struct Carried {
    /// What the TCP flows received.
    pub(crate) tcp: Bytes,
    /// What the TFRC flows received.
    pub(crate) tfrc: Bytes,
    /// Packets that links carried, one for each link.
    pub(crate) transmissions: u64,
}

/// So many flows of each kind, or of TCP alone, for so long.
pub(crate) fn run(flows: u64, megabits: u64, seconds: u64, tcp_alone: bool) -> Carried {
    let bottleneck = LinkConfig {
        rate: Rate::from_bits_per_sec(megabits as f64 * 1e6),
        delay: Duration::from_millis(20),
        // A tenth of a second of packets of 1000 bytes.
        queue: QueueLimit::Packets((megabits * 25 / 2).max(10)),
        ..LinkConfig::default()
    };
    let access = (0..2 * flows).map(|flow| {
        Access::even(LinkConfig {
            rate: Rate::from_bits_per_sec(1e8),
            delay: Duration::from_micros(5_000 + flow * 7_919 % 15_000),
            queue: QueueLimit::Packets(1_000),
            ..LinkConfig::default()
        })
    });
    let shape = Shape::dumbbell([bottleneck; 2], access).expect("a dumbbell is connected");
    let mut sim = Simulation::new(&shape.topology, 1);
    let ids: Vec<FlowId> = shape
        .places
        .iter()
        .zip(0..)
        .filter(|(_, flow)| !tcp_alone || is_tcp(*flow))
        .map(|(place, flow)| {
            let [sender, receiver] = ends(flow);
            sim.add_flow(&place.forward, &place.reverse, sender, receiver)
        })
        .collect();
    assert_eq!(sim.run_until(Instant::from_secs(seconds)), Outcome::Reached);
    let (mut tcp, mut tfrc) = (Bytes::ZERO, Bytes::ZERO);
    for id in ids {
        match sim.agent(id, End::Receiver) {
            Traffic::TcpReceiver(end) => tcp += end.received(),
            Traffic::TfrcReceiver(end) => tfrc += end.received(),
            _ => {}
        }
    }
    Carried {
        tcp,
        tfrc,
        transmissions: sim.transmissions(),
    }
}

/// TCP for an even flow, TFRC for an odd one. They start within a second.
fn ends(flow: u64) -> [Traffic; 2] {
    let start = Instant::from_micros(flow * 30_997 % 1_000_000);
    if is_tcp(flow) {
        let config = tcp::Config::default();
        let sender = TcpSender::new(&config, start, Instant::MAX).expect("the default is valid");
        let receiver = TcpReceiver::new(&config).expect("the default is valid");
        return [Traffic::from(sender), Traffic::from(receiver)];
    }
    let sender = TfrcSender::new(TfrcConfig {
        start,
        ..TfrcConfig::default()
    });
    let receiver = TfrcReceiver::new(tfrc::ReceiverConfig::default());
    [Traffic::from(sender), Traffic::from(receiver)]
}

fn is_tcp(flow: u64) -> bool {
    flow.is_multiple_of(2)
}
