//! Flows by the path model over one link, in virtual time: their shares, their delay, and the parameters at half and twice.

mod network;

use evenkeel_rate::Params;
use network::{Network, NetworkEvent, jain, run};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// Gives each parameter at half and at twice its value, by name.
fn variations() -> Vec<(&'static str, f64, Params)> {
    type Field = fn(&mut Params) -> &mut f64;
    let fields: [(&str, Field); 12] = [
        ("queue_target", |p| &mut p.queue_target),
        ("burst_excess", |p| &mut p.burst_excess),
        ("round", |p| &mut p.round),
        ("backoff", |p| &mut p.backoff),
        ("increase", |p| &mut p.increase),
        ("stretch", |p| &mut p.stretch),
        ("noise", |p| &mut p.noise),
        ("alarm", |p| &mut p.alarm),
        ("hold", |p| &mut p.hold),
        ("risk", |p| &mut p.risk),
        ("alone_share", |p| &mut p.alone_share),
        ("drain_floor", |p| &mut p.drain_floor),
    ];
    let mut all = vec![("as it is", 1.0, Params::CALL)];
    for (name, field) in fields {
        for factor in [0.5, 2.0] {
            let mut params = Params::CALL;
            *field(&mut params) *= factor;
            all.push((name, factor, params));
        }
    }
    all
}

#[test]
fn lone_flow_fills_link_with_parameters_varied() {
    let mut missed = Vec::new();
    for (name, factor, params) in variations() {
        for one_way in [20, 100, 200] {
            let network = run(params, 3.0, 300, &[one_way], 40);
            let used = network.total(20, 40) / 3e6;
            let delay = network.delay_p95(0, 20);
            let case = format!("{name} x {factor}, {one_way} ms: {used:.3}, {delay:.0} ms");
            println!("{case}");
            if !(0.9..=1.01).contains(&used) || delay > 90.0 {
                missed.push((name, factor, one_way));
            }
        }
    }
    assert_eq!(missed, []);
}

#[test]
fn shares_ignore_round_trips_with_parameters_varied() {
    let mut missed = Vec::new();
    for (name, factor, params) in variations() {
        let mut network = Network::new(params, 3.0, 300, &[10, 50, 150]);
        network.bound_flows();
        network.run_until(Instant::from_secs(140));
        let shares: Vec<f64> = (0..3)
            .map(|flow| network.throughput(flow, 60, 140))
            .collect();
        let sum: f64 = shares.iter().sum();
        let jain = jain(&shares);
        println!("{name} x {factor}: {jain:.3}, {shares:.0?}");
        if jain < 0.8 || sum < 0.85 * 3e6 {
            missed.push((name, factor));
        }
    }
    assert_eq!(missed, []);
}

/// Losses are the evidence at the short queue, and the standing queue is the evidence at the long queue.
#[test]
fn flow_competes_beside_tcp_with_parameters_varied() {
    let fair = Rate::from_bits_per_sec(1.5e6);
    let mut missed = Vec::new();
    for (name, factor, params) in variations() {
        for queue in [50, 300] {
            let mut network = Network::new(params, 3.0, queue, &[30]);
            network.flows[0].model.set_bound(Instant::ZERO, fair);
            network.schedule(Instant::from_secs(5), NetworkEvent::Greedy);
            network.run_until(Instant::from_secs(140));
            let share = network.throughput(0, 20, 140) / 1.5e6;
            let other = 8.0 * network.greedy.received as f64 / 135.0;
            println!("{name} x {factor}, {queue} ms: {share:.2}, {other:.0} b/s");
            if share < 0.6 {
                missed.push((name, factor, queue));
            }
        }
    }
    assert_eq!(missed, []);
}

/// All flows begin within a quarter of a second, with frames at the same time or one after another. A flow that joins later
/// would count some of the standing queue as the path's own delay.
#[test]
fn many_flows_never_compete_on_a_shared_link() {
    for (count, spacing_ms) in [(16, 0), (16, 3), (16, 7), (32, 3), (32, 7)] {
        let one_way_ms = vec![20; count];
        let mbps = count as f64;
        let mut network = Network::joined_every(spacing_ms, Params::CALL, mbps, 300, &one_way_ms);
        network.bound_flows();
        network.run_until(Instant::from_secs(60));
        let shares: Vec<f64> = (0..count)
            .map(|flow| network.throughput(flow, 20, 60))
            .collect();
        let jain = jain(&shares);
        let delays = (0..count).map(|flow| network.delay_p95(flow, 20));
        let delay = delays.fold(0.0, f64::max);
        println!("{count}, {spacing_ms} ms apart: {jain:.3}, {delay:.0} ms, {shares:.0?}");
        assert!(jain > 0.95 && delay < 70.0);
        assert!(network.flows.iter().all(|flow| !flow.has_competed));
    }
}

/// The rate of the link falls to a quarter and rises again. Two flows have too large a share of the link for losses to be
/// evidence. Four flows have not, but a single fall is no proof.
#[test]
fn rate_falls_are_not_taken_for_cross_traffic() {
    for (one_way_ms, falls) in [(&[20, 40][..], 3), (&[20; 4], 1)] {
        let mut network = Network::new(Params::CALL, 4.0, 100, one_way_ms);
        network.bound_flows();
        for n in 0..falls {
            let (fall, rise) = (20 + 8 * n, 24 + 8 * n);
            for (at, bits_per_sec) in [(fall, 1_000_000), (rise, 4_000_000)] {
                network.schedule(
                    Instant::from_secs(at),
                    NetworkEvent::Change { bits_per_sec },
                );
            }
        }
        network.run_until(Instant::from_secs(60));
        let competed = network.flows.iter().filter(|flow| flow.has_competed);
        let competed = competed.count();
        println!(
            "{falls} falls: {} dropped, {competed} competed",
            network.dropped
        );
        assert!(network.dropped > 0);
        assert_eq!(competed, 0);
    }
}

#[test]
fn start_reaches_link_in_two_seconds_without_loss() {
    for mbps in [0.6, 3.0, 25.0] {
        let network = run(Params::CALL, mbps, 100, &[20], 4);
        let reached = network.throughput(0, 3, 4) / (mbps * 1e6);
        assert!(reached >= 0.9, "{mbps} Mb/s: {reached}");
        assert_eq!(network.dropped, 0, "{mbps} Mb/s");
    }
}

#[test]
fn rate_follows_the_link_down_and_up() {
    let mut network = Network::new(Params::CALL, 8.0, 300, &[20]);
    for (at, mbps) in [(20, 2), (30, 8)] {
        let bits_per_sec = mbps * 1_000_000;
        network.schedule(
            Instant::from_secs(at),
            NetworkEvent::Change { bits_per_sec },
        );
    }
    network.run_until(Instant::from_secs(40));
    assert!(network.throughput(0, 21, 30) >= 0.85 * 2e6);
    assert!(network.throughput(0, 32, 40) >= 0.85 * 8e6);
    let late = network.flows[0].frames.iter().filter(|(captured, whole)| {
        let limit = *captured + Duration::from_millis(250);
        *captured >= Instant::from_secs(20) && whole.is_none_or(|at| at > limit)
    });
    assert!(late.count() <= 25);
}

#[test]
fn rate_never_exceeds_what_tfrc_allows() {
    let mut network = Network::new(Params::CALL, 3.0, 100, &[20]);
    let bound = Rate::from_bits_per_sec(1e6);
    network.flows[0].model.set_bound(Instant::ZERO, bound);
    for n in 1..100 {
        network.run_until(Instant::from_millis(1_000 + 100 * n));
        let model = &network.flows[0].model;
        assert!(model.rate() <= bound && model.pacing_rate() <= bound);
    }
    assert!(network.throughput(0, 5, 10) >= 0.9e6);
}
