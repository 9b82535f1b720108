//! One link with a queue, flows by the path model with an ideal encoder and a report per frame, and a flow that fills the queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use evenkeel_rate::{Mode, Params, PathModel};
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

const INTERVAL: Duration = Duration::from_millis(40);
const PACKET: u64 = 1_200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NetworkEvent {
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

pub(crate) struct SharedFlow {
    pub(crate) model: PathModel,
    one_way: Duration,
    next_number: u64,
    frame: u64,
    /// Arrivals of the frames that are not reported yet.
    arrivals: BTreeMap<u64, Vec<Delivery>>,
    /// Times at which frames were captured, and at which they were whole at the receiver.
    pub(crate) frames: Vec<(Instant, Option<Instant>)>,
    is_whole: bool,
    /// True if a packet was lost since the last report.
    has_lost: bool,
    /// True once the flow has competed at TFRC's X.
    pub(crate) has_competed: bool,
    /// Time of arrival and size of each packet.
    received: Vec<(Instant, u64)>,
    backlog: Instant,
}

/// A flow that reacts to loss alone, as Reno does in congestion avoidance.
pub(crate) struct Greedy {
    window: f64,
    /// End of the round trip in which further losses do not halve the window.
    halved: Instant,
    pub(crate) received: u64,
}

pub(crate) struct Network {
    events: BinaryHeap<Reverse<(Instant, u64, NetworkEvent)>>,
    count: u64,
    pub(crate) flows: Vec<SharedFlow>,
    pub(crate) greedy: Greedy,
    rate: Rate,
    queue: Duration,
    busy_until: Instant,
    pub(crate) dropped: u64,
}

impl Network {
    /// Creates flows over these one-way delays, each of which begins about half a second after the flow before.
    pub(crate) fn new(params: Params, mbps: f64, queue_ms: u64, one_way_ms: &[u64]) -> Self {
        Self::joined_every(513, params, mbps, queue_ms, one_way_ms)
    }

    /// Creates flows over these one-way delays, each of which begins `spacing_ms` after the flow before.
    pub(crate) fn joined_every(
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
    pub(crate) fn bound_flows(&mut self) {
        for flow in &mut self.flows {
            flow.model.set_bound(Instant::ZERO, self.rate);
        }
    }

    pub(crate) fn schedule(&mut self, at: Instant, event: NetworkEvent) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
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
    pub(crate) fn throughput(&self, flow: usize, from: u64, to: u64) -> f64 {
        let [begin, end] = [from, to].map(Instant::from_secs);
        let received = self.flows[flow].received.iter();
        let bytes: u64 = received
            .filter(|(at, _)| (begin..end).contains(at))
            .map(|(_, size)| size)
            .sum();
        8.0 * bytes as f64 / (to - from) as f64
    }

    /// The 95th percentile of frame delays after `from`, beyond the propagation delay, in milliseconds.
    pub(crate) fn delay_p95(&self, flow: usize, from: u64) -> f64 {
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

    pub(crate) fn total(&self, from: u64, to: u64) -> f64 {
        (0..self.flows.len())
            .map(|flow| self.throughput(flow, from, to))
            .sum()
    }
}

/// Jain's index of fairness.
pub(crate) fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

pub(crate) fn run(
    params: Params,
    mbps: f64,
    queue_ms: u64,
    one_way_ms: &[u64],
    seconds: u64,
) -> Network {
    let mut network = Network::new(params, mbps, queue_ms, one_way_ms);
    network.run_until(Instant::from_secs(seconds));
    network
}
