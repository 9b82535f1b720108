//! RAP and TEAR beside TCP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_link::{LinkConfig, Loss, QueueLimit};
use evenkeel_sim::tcp::Config;
use evenkeel_sim::{End, RapReceiver, RapSender, Simulation, TcpReceiver, TcpSender};
use evenkeel_sim::{TearReceiver, TearSender, Topology, Traffic};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// What two ends bring across in 1,000 s, where one packet in a hundred is lost and nothing queues.
fn received(sender: Traffic, receiver: Traffic) -> u64 {
    let mut net = Topology::new();
    let (from, to) = (net.add_node(), net.add_node());
    let path = LinkConfig {
        rate: Rate::from_bits_per_sec(100e9),
        delay: Duration::from_millis(50),
        queue: QueueLimit::Packets(100_000),
        ..LinkConfig::default()
    };
    let loss = Loss::Bernoulli(0.01);
    net.add_link(from, to, LinkConfig { loss, ..path }).unwrap();
    net.add_link(to, from, path).unwrap();
    let mut sim = Simulation::<Traffic>::new(&net, 1);
    let flow = sim.add_flow(
        &net.route(from, to).unwrap(),
        &net.route(to, from).unwrap(),
        sender,
        receiver,
    );
    sim.run_until(Instant::from_secs(1_000));
    match sim.agent(flow, End::Receiver) {
        Traffic::TcpReceiver(receiver) => receiver.received().get(),
        Traffic::RapReceiver(receiver) => receiver.received().get(),
        Traffic::TearReceiver(receiver) => receiver.received().get(),
        other => panic!("no receiver: {other:?}"),
    }
}

fn tcp(config: &Config) -> u64 {
    received(
        Traffic::from(TcpSender::new(config, Instant::ZERO, Instant::MAX).unwrap()),
        Traffic::from(TcpReceiver::new(config).unwrap()),
    )
}

fn config() -> Config {
    Config {
        delayed_ack: None,
        ..Config::default()
    }
}

#[test]
fn rap_brings_across_what_tcp_does_within_30_per_cent() {
    let config = config();
    let packet = config.segment + config.header;
    let sender = RapSender::new(packet, Instant::ZERO, Instant::MAX);
    let rap = received(
        Traffic::from(sender),
        Traffic::from(RapReceiver::new(config.header)),
    );
    let ratio = rap as f64 / tcp(&config) as f64;
    assert!((0.7..1.3).contains(&ratio), "{ratio}");
}

#[test]
fn tear_brings_across_what_tcp_does_within_30_per_cent() {
    let config = config();
    let packet = config.segment + config.header;
    let sender = TearSender::new(packet, Instant::ZERO, Instant::MAX);
    let tear = received(
        Traffic::from(sender),
        Traffic::from(TearReceiver::new(config.header)),
    );
    let ratio = tear as f64 / tcp(&config) as f64;
    assert!((0.7..1.3).contains(&ratio), "{ratio}");
}
