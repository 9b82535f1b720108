//! Flows by the path model over one link, in virtual time, with an ideal encoder and a report a frame.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use evenkeel_rate::{Mode, Params, PathModel};
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

const INTERVAL: Duration = Duration::from_millis(40);
const PACKET: u64 = 1_200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NetworkEvent {
    /// A picture is captured.
    Capture { flow: usize },
    /// A packet of this many bytes leaves.
    Departure { flow: usize, size: u64, ends: bool },
    /// The greedy flow sends a packet.
    Greedy,
    /// The report of a frame arrives.
    Report { flow: usize, frame: u64 },
    /// The rate of the link changes.
    Change { bits_per_sec: u64 },
}

struct SharedFlow {
    model: PathModel,
    one_way: Duration,
    next_number: u64,
    frame: u64,
    /// Arrivals of the frames that are not reported yet.
    arrivals: BTreeMap<u64, Vec<Delivery>>,
    /// Times at which frames were captured, and at which they were whole at the receiver.
    frames: Vec<(Instant, Option<Instant>)>,
    is_whole: bool,
    /// True if a packet was lost since the last report.
    has_lost: bool,
    /// True once the flow has competed at TFRC's X.
    has_competed: bool,
    /// Time of arrival and size of each packet.
    received: Vec<(Instant, u64)>,
    backlog: Instant,
}

/// A flow that reacts to loss alone, as Reno does in congestion avoidance.
struct Greedy {
    window: f64,
    /// End of the round trip in which further losses do not halve the window.
    halved: Instant,
    received: u64,
}

struct Network {
    events: BinaryHeap<Reverse<(Instant, u64, NetworkEvent)>>,
    count: u64,
    flows: Vec<SharedFlow>,
    greedy: Greedy,
    rate: Rate,
    queue: Duration,
    busy_until: Instant,
    dropped: u64,
}

impl Network {
    /// Creates flows over these one-way delays, each of which begins about half a second after the flow before.
    fn new(params: Params, mbps: f64, queue_ms: u64, one_way_ms: &[u64]) -> Self {
        Self::joined_every(513, params, mbps, queue_ms, one_way_ms)
    }

    /// Creates flows over these one-way delays, each of which begins `spacing_ms` after the flow before.
    fn joined_every(
        spacing_ms: u64,
        params: Params,
        mbps: f64,
        queue_ms: u64,
        one_way_ms: &[u64],
    ) -> Self {
        let mut network = Self {
            events: BinaryHeap::new(),
            count: 0,
            flows: Vec::new(),
            greedy: Greedy {
                window: 2.0,
                halved: Instant::ZERO,
                received: 0,
            },
            rate: Rate::from_bits_per_sec(mbps * 1e6),
            queue: Duration::from_millis(queue_ms),
            busy_until: Instant::ZERO,
            dropped: 0,
        };
        for (flow, one_way) in one_way_ms.iter().enumerate() {
            network.flows.push(SharedFlow {
                model: PathModel::new(params, INTERVAL, Rate::from_bits_per_sec(300e3)),
                one_way: Duration::from_millis(*one_way),
                next_number: 0,
                frame: 0,
                arrivals: BTreeMap::new(),
                frames: Vec::new(),
                is_whole: true,
                has_lost: false,
                has_competed: false,
                received: Vec::new(),
                backlog: Instant::ZERO,
            });
            let start = Instant::from_millis(1_000 + spacing_ms * flow as u64);
            network.schedule(start, NetworkEvent::Capture { flow });
        }
        network
    }

    /// Bounds each flow by the rate of the link, in TFRC's place.
    fn bound_flows(&mut self) {
        for flow in &mut self.flows {
            flow.model.set_bound(Instant::ZERO, self.rate);
        }
    }

    fn schedule(&mut self, at: Instant, event: NetworkEvent) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    fn run_until(&mut self, end: Instant) {
        while let Some(Reverse((now, _, event))) = self.events.peek().copied() {
            if now >= end {
                break;
            }
            self.events.pop();
            match event {
                NetworkEvent::Capture { flow } => self.capture(now, flow),
                NetworkEvent::Greedy => self.fill(now),
                NetworkEvent::Departure { flow, size, ends } => self.depart(now, flow, size, ends),
                NetworkEvent::Report { flow, frame } => {
                    let flow = &mut self.flows[flow];
                    let deliveries = flow.arrivals.remove(&frame).unwrap_or_default();
                    if std::mem::take(&mut flow.has_lost) {
                        flow.model.handle_loss_event(now);
                    }
                    flow.model.handle_report(now, deliveries);
                    flow.has_competed |= flow.model.mode() == Mode::Compete;
                }
                NetworkEvent::Change { bits_per_sec } => {
                    self.rate = Rate::from_bits_per_sec(bits_per_sec as f64);
                }
            }
        }
    }

    fn capture(&mut self, now: Instant, index: usize) {
        self.schedule(now + INTERVAL, NetworkEvent::Capture { flow: index });
        let flow = &mut self.flows[index];
        let budget = flow
            .model
            .frame_budget(now, Duration::from_millis(100))
            .get();
        let pace = flow.model.pacing_rate();
        flow.frames.push((now, None));
        let packets = budget.div_ceil(PACKET).max(2);
        let size = (budget / packets).max(60);
        let mut at = now.max(flow.backlog);
        let mut departures = Vec::new();
        for n in 1..=packets {
            departures.push((at, n == packets));
            at += Bytes::new(size) / pace;
        }
        flow.backlog = at;
        for (at, ends) in departures {
            let flow = index;
            self.schedule(at, NetworkEvent::Departure { flow, size, ends });
        }
    }

    fn depart(&mut self, now: Instant, index: usize, size: u64, ends: bool) {
        let flow = &mut self.flows[index];
        let number = flow.next_number;
        flow.next_number += 1;
        flow.model.handle_sent(now, number, Bytes::new(size), ends);
        let frame = flow.frame;
        let wait = self.busy_until.saturating_since(now);
        let one_way = flow.one_way;
        if wait > self.queue {
            self.dropped += 1;
            (flow.is_whole, flow.has_lost) = (false, true);
        } else {
            self.busy_until = self.busy_until.max(now) + Bytes::new(size) / self.rate;
            let arrived_at = self.busy_until + one_way;
            let delivery = Delivery { number, arrived_at };
            flow.arrivals.entry(frame).or_default().push(delivery);
            flow.received.push((arrived_at, size));
            if ends && flow.is_whole {
                flow.frames[frame as usize].1 = Some(arrived_at);
            }
        }
        if ends {
            flow.frame += 1;
            flow.is_whole = true;
            let at = self.busy_until.max(now) + 2 * one_way;
            self.schedule(at, NetworkEvent::Report { flow: index, frame });
        }
    }

    fn fill(&mut self, now: Instant) {
        let wait = self.busy_until.saturating_since(now);
        let round_trip = 2 * self.flows[0].one_way + wait;
        let greedy = &mut self.greedy;
        if wait <= self.queue {
            self.busy_until = self.busy_until.max(now) + Bytes::new(PACKET) / self.rate;
            greedy.received += PACKET;
            greedy.window += 1.0 / greedy.window;
        } else if now > greedy.halved {
            greedy.window = (greedy.window / 2.0).max(2.0);
            greedy.halved = now + round_trip;
        }
        let next = now + round_trip.div_f64(greedy.window);
        self.schedule(next, NetworkEvent::Greedy);
    }

    /// The throughput of a flow between two times in seconds, bits per second.
    fn throughput(&self, flow: usize, from: u64, to: u64) -> f64 {
        let [begin, end] = [from, to].map(Instant::from_secs);
        let received = self.flows[flow].received.iter();
        let bytes: u64 = received
            .filter(|(at, _)| (begin..end).contains(at))
            .map(|(_, size)| size)
            .sum();
        8.0 * bytes as f64 / (to - from) as f64
    }

    /// The 95th percentile of frame delays after `from`, beyond the propagation delay, in milliseconds.
    fn delay_p95(&self, flow: usize, from: u64) -> f64 {
        let flow = &self.flows[flow];
        let frames = flow.frames.iter();
        let mut delays: Vec<Duration> = frames
            .filter(|(captured, _)| *captured >= Instant::from_secs(from))
            .filter_map(|(captured, whole)| Some(whole.as_ref()?.saturating_since(*captured)))
            .collect();
        delays.sort();
        let p95 = delays[delays.len() * 95 / 100];
        (p95.saturating_sub(flow.one_way)).as_secs_f64() * 1e3
    }

    fn total(&self, from: u64, to: u64) -> f64 {
        (0..self.flows.len())
            .map(|flow| self.throughput(flow, from, to))
            .sum()
    }
}

/// Jain's index of fairness.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

fn run(params: Params, mbps: f64, queue_ms: u64, one_way_ms: &[u64], seconds: u64) -> Network {
    let mut network = Network::new(params, mbps, queue_ms, one_way_ms);
    network.run_until(Instant::from_secs(seconds));
    network
}

/// Gives each parameter at half and at twice its value, by name.
fn variations() -> Vec<(&'static str, f64, Params)> {
    type Field = fn(&mut Params) -> &mut f64;
    let fields: [(&str, Field); 10] = [
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
fn lone_flow_fills_link_with_parameters_halved_or_doubled() {
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
fn shares_ignore_round_trips_with_parameters_halved_or_doubled() {
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
fn flow_competes_beside_tcp_with_parameters_halved_or_doubled() {
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
fn falls_that_overflow_the_queue_are_no_cross_traffic() {
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
