//! TCP flows in a network.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_link::{CoDelConfig, Discipline, Jitter, LinkConfig, QueueLimit, RedConfig};
use evenkeel_sim::tcp::{Config, Variant};
use evenkeel_sim::{
    Access, End, FlowId, LinkId, Place, Shape, Simulation, TcpReceiver, TcpSender, TfrcConfig,
    TfrcReceiver, TfrcSender, Traffic,
};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// A dumbbell whose places are taken one after the other.
struct Dumbbell {
    sim: Simulation<Traffic>,
    bottleneck: LinkId,
    places: Vec<Place>,
}

impl Dumbbell {
    /// `flows` flows over `rate`, a round trip of 40 ms, and a queue of `packets`.
    fn new(flows: usize, rate: Rate, packets: u64, discipline: Discipline) -> Self {
        let bottleneck = LinkConfig {
            rate,
            delay: Duration::from_millis(10),
            queue: QueueLimit::Packets(packets),
            discipline,
            ..LinkConfig::default()
        };
        let access = LinkConfig {
            rate: Rate::from_bits_per_sec(100e6),
            delay: Duration::from_millis(5),
            // Without it, whose packet finds the full queue is a matter of phase (Floyd and
            // Jacobson, 1991); a packet of the bottleneck's takes about as long.
            jitter: Jitter::Uniform(Duration::from_millis(2)),
            queue: QueueLimit::Packets(1_000),
            ..LinkConfig::default()
        };
        let shape = Shape::dumbbell([bottleneck; 2], vec![Access::even(access); flows]).unwrap();
        Self {
            sim: Simulation::new(&shape.topology, 1),
            bottleneck: shape.bottlenecks[0][0],
            places: shape.places,
        }
    }

    fn add(&mut self, sender: Traffic, receiver: Traffic) -> FlowId {
        let Place { forward, reverse } = self.places.pop().unwrap();
        self.sim.add_flow(&forward, &reverse, sender, receiver)
    }

    fn add_tcp(&mut self, config: &Config, start: Instant) -> FlowId {
        let sender = TcpSender::new(config, start, Instant::MAX).unwrap();
        let receiver = TcpReceiver::new(config).unwrap();
        self.add(Traffic::from(sender), Traffic::from(receiver))
    }

    fn add_tfrc(&mut self, start: Instant) -> FlowId {
        let config = TfrcConfig {
            start,
            ..TfrcConfig::default()
        };
        self.add(
            Traffic::from(TfrcSender::new(config)),
            Traffic::from(TfrcReceiver::new(Default::default())),
        )
    }

    fn received(&self, flow: FlowId) -> Bytes {
        match self.sim.agent(flow, End::Receiver) {
            Traffic::TcpReceiver(receiver) => receiver.received(),
            Traffic::TfrcReceiver(receiver) => receiver.received(),
            other => panic!("no receiver: {other:?}"),
        }
    }
}

#[test]
fn two_sack_and_two_tfrc_flows_fill_a_dumbbell_and_do_so_again() {
    let run = || {
        let rate = Rate::from_bits_per_sec(4e6);
        let mut net = Dumbbell::new(4, rate, 50, Discipline::DropTail);
        let flows = [0, 1, 2, 3].map(|flow| {
            let start = Instant::from_millis(700 * flow);
            if flow % 2 == 0 {
                net.add_tcp(&Config::default(), start)
            } else {
                net.add_tfrc(start)
            }
        });
        net.sim.run_until(Instant::from_secs(10));
        let warm = net.sim.link(net.bottleneck).counters().delivered.bytes;
        net.sim.run_until(Instant::from_secs(60));
        let carried = net.sim.link(net.bottleneck).counters().delivered.bytes - warm;
        let utilisation = (carried / Duration::from_secs(50)) / rate;
        let received = flows.map(|flow| net.received(flow).get());
        (utilisation, received, net.sim.transmissions())
    };
    let (utilisation, received, transmissions) = run();
    // A packet may straddle the beginning.
    assert!(utilisation > 0.9 && utilisation < 1.0001, "{utilisation}");
    // No flow starves.
    let least = received.into_iter().min().unwrap();
    assert!(4 * least > received.iter().sum::<u64>() / 4, "{received:?}");
    assert_eq!(run(), (utilisation, received, transmissions));
}

/// TFRC's equation describes a TCP whose every packet is acknowledged (b = 1, RFC 5348 §3.1). Beside
/// it a TCP with b = 2 has 1/√2 of the window at the same loss.
#[test]
fn tcp_keeps_its_share_beside_tfrc_if_every_packet_is_acknowledged() {
    for (delayed_ack, least, most) in [
        (None, 0.8, 1.1),
        (Some(Duration::from_millis(100)), 0.6, 0.8),
    ] {
        let rate = Rate::from_bits_per_sec(8e6);
        let red = Discipline::Red(RedConfig::between(10.0, 50.0));
        let mut net = Dumbbell::new(16, rate, 100, red);
        let config = Config {
            segment: Bytes::new(960),
            delayed_ack,
            ..Config::default()
        };
        let flows: Vec<FlowId> = (0..16)
            .map(|flow| {
                let start = Instant::from_millis(613 * flow);
                if flow % 2 == 0 {
                    net.add_tcp(&config, start)
                } else {
                    net.add_tfrc(start)
                }
            })
            .collect();
        let tcp = |net: &Dumbbell| -> Bytes {
            let flows = flows.iter().step_by(2);
            flows.map(|&flow| net.received(flow)).sum()
        };
        net.sim.run_until(Instant::from_secs(30));
        let warm = tcp(&net);
        net.sim.run_until(Instant::from_secs(130));
        let fair = rate.bytes_per_sec() * 100.0 / 2.0;
        let normalised = (tcp(&net) - warm).as_f64() / fair;
        assert!(
            (least..most).contains(&normalised),
            "{delayed_ack:?}: {normalised}"
        );
    }
}

#[test]
fn two_equal_flows_share_a_bottleneck_within_5_per_cent() {
    for variant in [
        Variant::Tahoe,
        Variant::Reno,
        Variant::NewReno,
        Variant::Sack,
        Variant::Cubic,
    ] {
        let mut net = Dumbbell::new(2, Rate::from_bits_per_sec(4e6), 20, Discipline::DropTail);
        let config = Config {
            variant,
            ..Config::default()
        };
        let flows = [0, 300].map(|start| net.add_tcp(&config, Instant::from_millis(start)));
        net.sim.run_until(Instant::from_secs(20));
        let warm = flows.map(|flow| net.received(flow));
        net.sim.run_until(Instant::from_secs(720));
        let [first, second] = [0, 1].map(|flow| (net.received(flows[flow]) - warm[flow]).as_f64());
        let total = (first + second) / 700.0 * 8.0 / 4e6;
        assert!(total > 0.9 && total < 1.0001, "{variant:?}: {total}");
        let share = first / (first + second);
        assert!((share - 0.5).abs() < 0.025, "{variant:?}: {share}");
    }
}

#[test]
fn where_the_queue_marks_nothing_need_be_sent_again() {
    for ecn in [false, true] {
        let rate = Rate::from_bits_per_sec(4e6);
        let codel = CoDelConfig {
            ecn: true,
            ..CoDelConfig::default()
        };
        let mut net = Dumbbell::new(2, rate, 1_000, Discipline::CoDel(codel));
        let config = Config {
            ecn,
            ..Config::default()
        };
        let flows = [0, 300].map(|start| net.add_tcp(&config, Instant::from_millis(start)));
        net.sim.run_until(Instant::from_secs(60));
        let carried = net.sim.link(net.bottleneck).counters().delivered.bytes;
        assert!((carried / Duration::from_secs(60)) / rate > 0.9);
        for flow in flows {
            let Traffic::TcpSender(sender) = net.sim.agent(flow, End::Sender) else {
                panic!("no sender");
            };
            let counters = sender.sender().counters();
            assert_eq!(counters.resent == 0, ecn, "{counters:?}");
            assert_eq!(counters.ecn_reductions > 20, ecn, "{counters:?}");
        }
    }
}
