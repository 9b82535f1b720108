//! TCP's throughput under loss against the field's models.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_link::{LinkConfig, Loss, QueueLimit, Random};
use evenkeel_sim::tcp::{Config, Receiver, Sender, Variant};
use evenkeel_sim::{End, Simulation, TcpReceiver, TcpSender, Topology, Traffic};
use std::collections::VecDeque;
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// Seconds; nothing queues.
const RTT: f64 = 0.1;

/// The sender of a flow that ran alone for `secs` over a path that loses some of its packets.
fn run(config: &Config, loss: Loss, secs: f64) -> Sender {
    let mut net = Topology::new();
    let (from, to) = (net.add_node(), net.add_node());
    let path = LinkConfig {
        rate: Rate::from_bits_per_sec(100e9),
        delay: Duration::from_secs_f64(RTT / 2.0),
        queue: QueueLimit::Packets(100_000),
        ..LinkConfig::default()
    };
    net.add_link(from, to, LinkConfig { loss, ..path }).unwrap();
    net.add_link(to, from, path).unwrap();
    let mut sim = Simulation::<Traffic>::new(&net, 1);
    let flow = sim.add_flow(
        &net.route(from, to).unwrap(),
        &net.route(to, from).unwrap(),
        Traffic::from(TcpSender::new(config, Instant::ZERO, Instant::MAX).unwrap()),
        Traffic::from(TcpReceiver::new(config).unwrap()),
    );
    sim.run_until(Instant::ZERO + Duration::from_secs_f64(secs));
    match sim.agent(flow, End::Sender) {
        Traffic::TcpSender(sender) => sender.sender().clone(),
        other => panic!("no sender: {other:?}"),
    }
}

/// Packets a second in the full model of Padhye, Firoiu, Towsley and Kurose (1998, equation 30
/// without a window limit): each acknowledgement for `b` packets, the first timeout after `t0`.
fn pftk(p: f64, b: f64, t0: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    let w = c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt();
    let s = 1.0 - p;
    let timeouts = (1.0 - s.powi(3)) * (1.0 + s.powi(3) * (1.0 - s.powf(w - 3.0)));
    let q = (timeouts / (1.0 - s.powf(w))).min(1.0);
    let backoff = 1.0 + (0..6).map(|i| 2f64.powi(i) * p.powi(i + 1)).sum::<f64>();
    (s / p + w + q / s) / (RTT * (b / 2.0 * w + 1.0) + q * t0 * backoff / s)
}

/// Losses are independent here, as on a path with random loss. The model takes the rest of a round to be
/// lost after its first loss, and counts that as one halving. Of the three only SACK recovers from it as from one (next
/// test): Reno and often NewReno wait for the timer, and then send 0.49 to 0.82 and 0.73 to 1.08 of what the model says. So
/// it is these losses that all three can be held to. The model expects more timeouts than they cause; hence a timeout of
/// two round trips, which weighs them little. At ten, SACK and NewReno send up to 1.65 times what it says and Reno 1.25
/// times, at p = 5 %.
#[test]
fn throughput_under_random_loss_is_within_15_per_cent_of_the_equation() {
    let t0 = 2.0 * RTT;
    for variant in [Variant::Reno, Variant::NewReno, Variant::Sack] {
        for (b, delayed_ack) in [(1.0, None), (2.0, Some(Duration::from_millis(100)))] {
            for p in [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05] {
                let config = Config {
                    variant,
                    delayed_ack,
                    min_rto: Duration::from_secs_f64(t0),
                    ..Config::default()
                };
                let expected = pftk(p, b, t0);
                // Until 400 losses, more or less.
                let secs = 400.0 / p / expected;
                let sent = run(&config, Loss::Bernoulli(p), secs).counters().sent;
                let ratio = sent as f64 / secs / expected;
                assert!(
                    (0.85..1.15).contains(&ratio),
                    "{variant:?}, b = {b}, p = {p}: {ratio}"
                );
            }
        }
    }
}

/// With the model's own losses the timeouts are as it has them, and it holds for long ones too.
#[test]
fn throughput_under_bursts_of_loss_is_within_15_per_cent_of_the_equation() {
    let delays = [(1.0, None), (2.0, Some(Duration::from_millis(100)))];
    let timers = [2.0, 10.0].map(|round_trips| round_trips * RTT);
    let cases = timers.into_iter().flat_map(|t0| delays.map(|of| (t0, of)));
    for (t0, (b, delayed_ack)) in cases {
        for p in [0.0005, 0.002, 0.01, 0.02, 0.05] {
            let config = Config {
                variant: Variant::Sack,
                delayed_ack,
                min_rto: Duration::from_secs_f64(t0),
                ..Config::default()
            };
            let expected = pftk(p, b, t0);
            let secs = 400.0 / p / expected;
            let ratio = sent_under_bursts(&config, p, secs) as f64 / secs / expected;
            assert!(
                (0.85..1.15).contains(&ratio),
                "b = {b}, timeout {t0} s, p = {p}: {ratio}"
            );
        }
    }
}

/// Packets sent in `secs` where each is lost with probability `p`, and after it all that leave within
/// half a round trip, which are those of its round.
fn sent_under_bursts(config: &Config, p: f64, secs: f64) -> u64 {
    let mut sender = Sender::new(config).unwrap();
    let mut receiver = Receiver::new(config).unwrap();
    let mut random = Random::new(1, 0);
    let mut there = VecDeque::new();
    let mut back = VecDeque::new();
    let half = Duration::from_secs_f64(RTT / 2.0);
    let [mut now, mut lost_until] = [Instant::ZERO; 2];
    while now.as_secs_f64() < secs {
        while let Some(segment) = sender.poll_transmit(now) {
            if now >= lost_until && random.unit() < p {
                lost_until = now + half;
            }
            if now >= lost_until {
                there.push_back((now + half, segment));
            }
        }
        while let Some(ack) = receiver.poll_ack(now) {
            back.push_back((now + half, ack));
        }
        let segment = there.front().map(|&(at, _)| at);
        let ack = back.front().map(|&(at, _)| at);
        let timers = [sender.poll_timeout(), receiver.poll_timeout()];
        let next = timers.into_iter().chain([segment, ack]).flatten().min();
        now = next.unwrap();
        if segment == next
            && let Some((_, segment)) = there.pop_front()
        {
            receiver.handle_segment(now, segment);
        }
        if ack == next
            && let Some((_, ack)) = back.pop_front()
        {
            sender.handle_ack(now, ack);
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
    }
    sender.counters().sent
}

/// RFC 9438 equation 6 gives the mean window of the deterministic model: every 1/p-th packet is lost.
#[test]
fn the_mean_window_of_cubic_is_within_15_per_cent_of_rfc_9438() {
    for p in [1e-4, 3e-5] {
        let config = Config {
            variant: Variant::Cubic,
            delayed_ack: None,
            ..Config::default()
        };
        let expected = (0.4 * 3.7 / (4.0 * 0.3) * (RTT / p).powi(3)).powf(0.25);
        let secs = 100.0 / p / (expected / RTT);
        let sent = run(&config, Loss::Periodic((1.0 / p) as u64), secs)
            .counters()
            .sent;
        let ratio = sent as f64 * RTT / secs / expected;
        assert!((0.85..1.15).contains(&ratio), "p = {p}: {ratio}");
    }
}

/// Without loss the receive window is all that limits: so many packets a round trip, no more.
#[test]
fn a_limited_window_sends_exactly_that_each_round_trip() {
    let config = Config {
        receive_window: 20,
        delayed_ack: None,
        ..Config::default()
    };
    let at = |secs| run(&config, Loss::None, secs).counters().sent;
    assert_eq!(at(60.05) - at(10.05), 500 * 20);
}
