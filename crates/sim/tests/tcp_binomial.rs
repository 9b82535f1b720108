//! AIMD(a, b), SQRT and IIAD beside TCP's own rule.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_link::{LinkConfig, Loss, QueueLimit};
use evenkeel_sim::tcp::{Binomial, Config, Variant};
use evenkeel_sim::{End, Simulation, TcpReceiver, TcpSender, Topology, Traffic};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// By then the small reductions have worked off what the first slow start had overshot.
const WARM_UP: u64 = 1_000;

/// Long enough for some two thousand losses at 1 %.
const INTERVALS: u64 = 10_000;

/// Packets sent in each interval of 200 ms, two round trips, after the warm-up, over a path that loses one in a hundred;
/// nothing queues.
fn sent(variant: Variant) -> Vec<f64> {
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
    let config = Config {
        variant,
        delayed_ack: None,
        ..Config::default()
    };
    let mut sim = Simulation::<Traffic>::new(&net, 1);
    let flow = sim.add_flow(
        &net.route(from, to).unwrap(),
        &net.route(to, from).unwrap(),
        Traffic::from(TcpSender::new(&config, Instant::ZERO, Instant::MAX).unwrap()),
        Traffic::from(TcpReceiver::new(&config).unwrap()),
    );
    let mut before = 0;
    let mut series = Vec::new();
    for interval in 1..=INTERVALS {
        sim.run_until(Instant::from_millis(200 * interval));
        let Traffic::TcpSender(sender) = sim.agent(flow, End::Sender) else {
            panic!("no sender");
        };
        let total = sender.sender().counters().sent;
        series.push((total - before) as f64);
        before = total;
    }
    series.split_off(WARM_UP as usize)
}

fn mean(series: &[f64]) -> f64 {
    series.iter().sum::<f64>() / series.len() as f64
}

/// The standard deviation over the mean.
fn cov(series: &[f64]) -> f64 {
    let mean = mean(series);
    let squares = series.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (squares / series.len() as f64).sqrt() / mean
}

#[test]
fn aimd_with_the_constants_of_tcp_is_tcp() {
    let aimd = Variant::Binomial(Binomial::aimd(1.0, 0.5));
    assert_eq!(sent(aimd), sent(Variant::Sack));
}

#[test]
fn rules_that_should_be_friendly_send_what_tcp_does_within_30_per_cent_and_more_smoothly() {
    let tcp = sent(Variant::Sack);
    let b = 0.125;
    for rule in [
        Binomial::aimd(3.0 * b / (2.0 - b), b),
        Binomial::SQRT,
        Binomial::IIAD,
    ] {
        let series = sent(Variant::Binomial(rule));
        let ratio = mean(&series) / mean(&tcp);
        assert!((0.7..1.3).contains(&ratio), "{rule:?}: {ratio}");
        let smoother = cov(&series) / cov(&tcp);
        assert!(smoother < 0.6, "{rule:?}: {smoother}");
    }
}
