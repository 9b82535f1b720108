//! Any run of a link conserves packets, keeps their order and exceeds no rate.

use super::{config, drain, drain_reordered, packet_numbers};
use evenkeel_link::{
    CoDelConfig, DeliveryTrace, Discipline, FqCoDelConfig, Jitter, Link, LinkConfig, Loss,
    PieConfig, QueueLimit, RedConfig, Reordering,
};
use proptest::prelude::*;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What may happen to a link.
#[derive(Clone, Debug)]
enum Step {
    Packet(u64),
    Poll,
    Rate(f64),
    Delay(u64),
    Queue(QueueLimit),
    Trace,
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let limit = prop_oneof![
        (0u64..20_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        (0u64..20).prop_map(QueueLimit::Packets),
        (0u64..100).prop_map(|time| QueueLimit::Time(Duration::from_millis(time))),
    ];
    let step = prop_oneof![
        10 => (0u64..3_000).prop_map(Step::Packet),
        4 => Just(Step::Poll),
        1 => prop_oneof![Just(0.0), Just(f64::INFINITY), 1.0..1e8].prop_map(Step::Rate),
        1 => (0u64..50).prop_map(Step::Delay),
        1 => limit.prop_map(Step::Queue),
        1 => Just(Step::Trace),
    ];
    // Nanoseconds that pass before each; now and then the clock goes back.
    prop::collection::vec((-500_000i64..5_000_000, step), 1..200)
}

fn jitters() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Normal(Duration::from_millis(5))),
        Just(Jitter::Uniform(Duration::from_millis(20))),
    ]
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    let codel = CoDelConfig::default();
    prop_oneof![
        Just(Discipline::DropTail),
        Just(Discipline::Red(RedConfig {
            weight: 0.5,
            ..RedConfig::between(1.0, 3.0)
        })),
        Just(Discipline::CoDel(codel)),
        Just(Discipline::FqCoDel(FqCoDelConfig {
            codel,
            queues: 3,
            ..FqCoDelConfig::default()
        })),
        Just(Discipline::Pie(PieConfig {
            burst: Duration::ZERO,
            ..PieConfig::default()
        })),
    ]
}

/// Runs the steps, takes the rest out at full speed, and gives what came out and when.
fn run(config: LinkConfig, seed: u64, steps: &[(i64, Step)]) -> (Vec<(Instant, u64)>, Link<u64>) {
    let mut link = Link::new(config, seed);
    let mut now = Instant::ZERO;
    let mut outputs = Vec::new();
    for (number, (pause, step)) in steps.iter().enumerate() {
        now = Instant::from_nanos(now.as_nanos().saturating_add_signed(*pause));
        match step {
            Step::Packet(size) => link.handle_packet(now, number as u64, Bytes::new(*size)),
            Step::Poll => {
                while let Some(due) = link.poll_timeout().filter(|due| *due <= now) {
                    match link.poll_output(now) {
                        Some(packet) => outputs.push((due, packet)),
                        None => assert!(config.reordering.probability > 0.0, "nothing was due"),
                    }
                }
                assert_eq!(link.poll_output(now), None);
            }
            Step::Rate(rate) => link.set_rate(now, Rate::from_bits_per_sec(*rate)),
            Step::Delay(delay) => link.set_delay(now, Duration::from_millis(*delay)),
            Step::Queue(limit) => link.set_queue(now, *limit),
            Step::Trace => {
                let trace = DeliveryTrace::parse("0\n3\n3\n11\n").expect("valid");
                link.set_trace(now, trace);
            }
        }
        let counters = link.counters();
        assert_eq!(
            counters.received.packets + counters.duplicated.packets,
            counters.delivered.packets
                + counters.lost.packets
                + counters.dropped.packets
                + counters.held.packets
        );
        assert_eq!(
            counters.received.bytes + counters.duplicated.bytes,
            counters.delivered.bytes
                + counters.lost.bytes
                + counters.dropped.bytes
                + counters.held.bytes
        );
    }
    link.set_rate(now, Rate::INFINITY);
    outputs.extend(if config.reordering.probability > 0.0 {
        drain_reordered(&mut link)
    } else {
        drain(&mut link)
    });
    (outputs, link)
}

proptest! {
    #[test]
    fn packets_are_conserved_and_never_reordered(
        steps in steps(),
        jitter in jitters(),
        p in 0.0f64..0.3,
        seed: u64,
    ) {
        let config = LinkConfig { jitter, loss: Loss::Bernoulli(p), ..config() };
        let (outputs, link) = run(config, seed, &steps);
        prop_assert!(outputs.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
        let counters = link.counters();
        prop_assert_eq!(counters.held.packets, 0);
        prop_assert_eq!(counters.held.bytes, Bytes::ZERO);
        prop_assert_eq!(link.queue_bytes(Instant::MAX), Bytes::ZERO);
        prop_assert_eq!(counters.delivered.packets, outputs.len() as u64);
    }

    #[test]
    fn every_discipline_conserves_packets_and_none_stays_behind(
        steps in steps(),
        discipline in disciplines(),
        behind in 0.0f64..0.5,
        duplication in 0.0f64..0.5,
        seed: u64,
    ) {
        let reordering = Reordering {
            probability: behind,
            delay: Duration::from_millis(20),
        };
        let config = LinkConfig { discipline, reordering, duplication, ..config() };
        let (outputs, link) = run(config, seed, &steps);
        let counters = link.counters();
        prop_assert_eq!(counters.held.packets, 0);
        prop_assert_eq!(counters.held.bytes, Bytes::ZERO);
        prop_assert_eq!(link.queue_bytes(Instant::MAX), Bytes::ZERO);
        prop_assert_eq!(counters.delivered.packets, outputs.len() as u64);
    }

    #[test]
    fn the_same_seed_gives_the_same_run(steps in steps(), jitter in jitters(), seed: u64) {
        let config = LinkConfig { jitter, loss: Loss::Bernoulli(0.1), ..config() };
        let (first, _) = run(config, seed, &steps);
        let (second, _) = run(config, seed, &steps);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn jitter_leaves_the_losses_as_they_are(steps in steps(), seed: u64) {
        let plain = LinkConfig { loss: Loss::Bernoulli(0.2), ..config() };
        let shaken = LinkConfig { jitter: Jitter::Normal(Duration::from_millis(5)), ..plain };
        let (calm, calm_link) = run(plain, seed, &steps);
        let (rough, rough_link) = run(shaken, seed, &steps);
        prop_assert_eq!(packet_numbers(&calm), packet_numbers(&rough));
        prop_assert_eq!(calm_link.counters().lost, rough_link.counters().lost);
    }

    #[test]
    fn a_constant_link_never_carries_more_than_its_rate(
        arrivals in prop::collection::vec((0u64..3_000_000, 1u64..2_000), 1..100),
        bits_per_sec in 1_000u64..50_000_000,
    ) {
        let rate = Rate::from_bits_per_sec(bits_per_sec as f64);
        let mut link = Link::new(LinkConfig { rate, ..LinkConfig::default() }, 1);
        let mut now = Instant::ZERO;
        for (pause, size) in &arrivals {
            now += Duration::from_nanos(*pause);
            link.handle_packet(now, *size, Bytes::new(*size));
        }
        let outputs = drain(&mut link);
        prop_assert_eq!(outputs.len(), arrivals.len());
        let mut bytes = 0;
        for (due, size) in outputs {
            bytes += size;
            // In whole numbers: the bits so far fit into the nanoseconds so far.
            let capacity = u128::from(due.as_nanos()) * u128::from(bits_per_sec);
            prop_assert!(u128::from(bytes) * 8_000_000_000 <= capacity);
        }
    }
}
