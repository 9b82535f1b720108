//! Tests of the model against receivers and paths that misbehave.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use proptest::prelude::*;
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::law::QueueReport;
use crate::model::ReportFormat;
use crate::number::seconds;
use crate::window::MAX_DELIVERIES;
use crate::{Mode, Params, PathModel, TransitReport};

/// Size of a packet in bytes, headers included.
const PACKET: u64 = 1_200;
/// The least rate of the law, bytes per second.
const LEAST_RATE: f64 = 6e3;

fn assert_sane(model: &mut PathModel, now: Instant, bound: Rate) {
    let most = bound.bytes_per_sec().max(LEAST_RATE) * (1.0 + 1e-9);
    let budget = model.frame_budget(now, Duration::from_millis(100));
    assert!(
        budget.as_f64() <= most * model.interval + 1.0,
        "{budget} of {bound}"
    );
    for rate in [model.rate(), model.pacing_rate()] {
        assert!(rate.bytes_per_sec() <= most, "{rate} of {bound}");
    }
    let finite = [
        model.law.rate,
        model.delivery_rate,
        model.least.queue,
        model.own_queue(now.as_secs_f64()),
        model.queue_gradient(),
        model.target(),
        model.usage,
        model.bursts.evenness(),
        model.bursts.shortfall(),
        model.cross.usual_share(),
    ];
    assert!(
        finite.iter().all(|x| x.is_finite() && *x >= 0.0),
        "{finite:?}"
    );
}

fn assert_bounded(model: &PathModel) {
    assert!(model.window.len() <= MAX_DELIVERIES);
    assert!(model.bursts.recent_len() <= 64);
    assert!(model.base.len() <= 1_024);
    assert!(model.signal.len() <= 256);
    assert!(model.coarse.len() <= 64);
    assert!(model.sent.len() <= 8_192);
}

/// One call of the model with arbitrary arguments.
#[derive(Clone, Debug)]
enum Input {
    Sent {
        number: u64,
        size: u64,
        ends: bool,
    },
    Report(Vec<(u64, u64)>),
    RoundTrip {
        sent_at: u64,
        round_trip: u64,
        rate: f64,
    },
    Transit {
        sent_at: u64,
        round_trip: u64,
        rate: f64,
        range: [u32; 2],
    },
    Bound(f64),
    Later(u64),
    Lost(u64),
}

/// Mostly small numbers, and the extremes.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..200u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn nanos() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0..10_000_000_000u64,
        1 => Just(5_000_000_000),
        1 => any::<u64>(),
        1 => Just(u64::MAX)
    ]
}

fn rate() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 1e3..1e7, 1 => any::<f64>(), 1 => Just(f64::INFINITY), 1 => Just(0.0)]
}

fn input() -> impl Strategy<Value = Input> {
    let size = prop_oneof![8 => 0..1_500u64, 1 => any::<u64>()];
    prop_oneof![
        4 => (number(), size, any::<bool>()).prop_map(|(number, size, ends)| Input::Sent { number, size, ends }),
        4 => prop::collection::vec((number(), nanos()), 0..20).prop_map(Input::Report),
        1 => (nanos(), nanos(), rate()).prop_map(|(sent_at, round_trip, rate)| Input::RoundTrip { sent_at, round_trip, rate }),
        1 => (nanos(), nanos(), rate(), any::<[u32; 2]>()).prop_map(|(sent_at, round_trip, rate, range)| Input::Transit { sent_at, round_trip, rate, range }),
        1 => rate().prop_map(Input::Bound),
        1 => number().prop_map(Input::Lost),
        2 => prop_oneof![4 => 0..200_000_000u64, 1 => any::<u64>()].prop_map(Input::Later),
    ]
}

proptest! {
    #[test]
    fn arbitrary_input_leaves_rates_finite_and_bounded(
        interval in prop_oneof![Just(0), 1_000_000..10_000_000_000u64, any::<u64>()],
        initial in rate(),
        inputs in prop::collection::vec(input(), 1..200),
    ) {
        let initial = Rate::from_bytes_per_sec(initial);
        let model = PathModel::new(Params::CALL, Duration::from_nanos(interval), initial);
        let mut model = model.seeking_random_loss();
        let (mut now, mut bound) = (Instant::from_secs(1), Rate::INFINITY);
        for input in inputs {
            match input {
                Input::Sent { number, size, ends } => {
                    model.handle_sent(now, number, Bytes::new(size), ends);
                }
                Input::Report(deliveries) => model.handle_report(now, deliveries.into_iter().map(
                    |(number, at)| Delivery { number, arrived_at: Instant::from_nanos(at) }
                )),
                Input::RoundTrip { sent_at, round_trip, rate } => model.handle_round_trip(
                    now,
                    Instant::from_nanos(sent_at),
                    Duration::from_nanos(round_trip),
                    Rate::from_bytes_per_sec(rate),
                ),
                Input::Transit { sent_at, round_trip, rate, range: [least, largest] } => {
                    model.handle_transit_bounds(now, &TransitReport {
                        sent_at: Instant::from_nanos(sent_at),
                        round_trip: Duration::from_nanos(round_trip),
                        least,
                        largest,
                        receive_rate: Rate::from_bytes_per_sec(rate),
                    });
                }
                Input::Bound(rate) => {
                    let set = Rate::from_bytes_per_sec(rate);
                    model.set_bound(now, set);
                    bound = Rate::from_bytes_per_sec(model.law.bound);
                    let is_idle = model.sent.unreported_since().is_none();
                    prop_assert!(is_idle && bound >= set || bound == set);
                }
                Input::Lost(packets) => model.handle_losses(packets),
                Input::Later(nanos) => now += Duration::from_nanos(nanos),
            }
            assert_sane(&mut model, now, bound);
        }
        assert_bounded(&model);
    }
}

/// A receiver's clock maps the true time of an arrival to its own.
type ClockFault = fn(&mut Faults, u64) -> u64;

/// Reports and clocks of a receiver.
#[derive(Clone, Debug)]
struct Faults {
    random: u64,
    /// Shares of reports that are lost, doubled and overtaken.
    lost: f64,
    doubled: f64,
    reordered: f64,
}

impl Faults {
    const NONE: Self = Self {
        random: 1,
        lost: 0.0,
        doubled: 0.0,
        reordered: 0.0,
    };

    /// True for this share of the calls.
    fn happens(&mut self, share: f64) -> bool {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) as f64) < share * (1u64 << 31) as f64
    }
}

/// A flow over one link, whose receiver reports at the end of each frame.
struct FaultyFlow {
    model: PathModel,
    bound: Rate,
    interval: u64,
    now: u64,
    number: u64,
    /// Time at which the link is free, and the longest wait for the link since the last check, in nanoseconds.
    free: u64,
    queue: u64,
    faults: Faults,
    clock: ClockFault,
    format: ReportFormat,
    departures: Vec<u64>,
    reports: VecDeque<(u64, Vec<Delivery>)>,
}

const FORMATS: [ReportFormat; 3] = [
    ReportFormat::Deliveries,
    ReportFormat::TransitBounds,
    ReportFormat::RoundTrip,
];
const DELAY: u64 = 20_000_000;
const LINK: f64 = 375e3;
/// An honest receiver's clock is ahead by this much.
const ZERO: u64 = 100_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn honest(_: &mut Faults, at: u64) -> u64 {
    at + ZERO
}

impl FaultyFlow {
    fn new(interval_ms: u64, bound: f64, faults: Faults) -> Self {
        let interval = Duration::from_millis(interval_ms);
        let first = Rate::from_bits_per_sec(300e3);
        Self {
            model: PathModel::new(Params::CALL, interval, first),
            bound: Rate::from_bytes_per_sec(bound),
            interval: interval_ms * 1_000_000,
            now: 0,
            number: 0,
            free: 0,
            queue: 0,
            faults,
            clock: honest,
            format: ReportFormat::Deliveries,
            departures: Vec::new(),
            reports: VecDeque::new(),
        }
    }

    fn handle_reports(&mut self, until: u64) {
        while self.reports.front().is_some_and(|(at, _)| *at <= until) {
            let (at, deliveries) = self.reports.pop_front().expect("just seen");
            let at = Instant::from_nanos(at);
            let report = self.transit_report(at, &deliveries);
            self.model.set_bound(at, self.bound);
            match self.format {
                ReportFormat::Deliveries => {
                    self.model.handle_report(at, deliveries.iter().copied());
                }
                ReportFormat::TransitBounds => self.model.handle_transit_bounds(at, &report),
                ReportFormat::RoundTrip => self.model.handle_round_trip(
                    at,
                    report.sent_at,
                    report.round_trip,
                    report.receive_rate,
                ),
            }
            assert_sane(&mut self.model, at, self.bound);
        }
    }

    fn transit_report(&self, now: Instant, deliveries: &[Delivery]) -> TransitReport {
        let sent_at = |delivery: &Delivery| self.departures[delivery.number as usize];
        let transit = |delivery: &Delivery| {
            let micros = delivery.arrived_at.as_micros() as u32;
            micros.wrapping_sub((sent_at(delivery) / 1_000) as u32)
        };
        let zero = transit(&deliveries[0]);
        let beyond = |delivery| transit(delivery).wrapping_sub(zero).cast_signed();
        let least = deliveries.iter().map(beyond).min().expect("a packet");
        let largest = deliveries.iter().map(beyond).max().expect("a packet");
        let sent = deliveries.len() as f64 * PACKET as f64;
        let rate = (sent / self.interval as f64 * 1e9).min(LINK);
        let sent_at = Instant::from_nanos(deliveries.iter().map(sent_at).max().expect("a packet"));
        TransitReport {
            sent_at,
            round_trip: now.saturating_since(sent_at),
            least: zero.wrapping_add_signed(least),
            largest: zero.wrapping_add_signed(largest),
            receive_rate: Rate::from_bytes_per_sec(rate),
        }
    }

    /// Sends one frame and takes in the reports that arrive meanwhile.
    fn run_frame(&mut self) {
        let captured = self.now;
        self.handle_reports(captured);
        let at = Instant::from_nanos(captured);
        self.model.set_bound(at, self.bound);
        let budget = self.model.frame_budget(at, Duration::from_millis(100));
        let packets = budget.get().div_ceil(PACKET).max(1);
        let size = (budget.get() / packets).max(1);
        let mut deliveries = Vec::new();
        let mut leaves = captured;
        for index in 0..packets {
            self.handle_reports(leaves);
            let at = Instant::from_nanos(leaves);
            let ends = index + 1 == packets;
            self.model
                .handle_sent(at, self.number, Bytes::new(size), ends);
            self.departures.push(leaves);
            self.queue = self.queue.max(self.free.saturating_sub(leaves));
            self.free = self.free.max(leaves) + (size as f64 / LINK * 1e9) as u64;
            let arrived_at = Instant::from_nanos((self.clock)(&mut self.faults, self.free + DELAY));
            deliveries.push(Delivery {
                number: self.number,
                arrived_at,
            });
            self.number += 1;
            let pace = self.model.pacing_rate().bytes_per_sec().clamp(1e3, 1e9);
            leaves += (size as f64 / pace * 1e9) as u64;
        }
        self.report(deliveries);
        self.now = (captured + self.interval).max(leaves);
    }

    fn report(&mut self, deliveries: Vec<Delivery>) {
        if self.faults.happens(self.faults.lost) {
            return;
        }
        let mut at = self.free + 2 * DELAY;
        if self.faults.happens(self.faults.reordered) {
            at += 3 * self.interval;
        }
        if self.faults.happens(self.faults.doubled) {
            self.reports.push_back((at + DELAY, deliveries.clone()));
        }
        self.reports.push_back((at, deliveries));
        self.reports.make_contiguous().sort_by_key(|(at, _)| *at);
    }

    fn run_until(&mut self, seconds: u64) {
        while self.now < seconds * SECOND {
            self.run_frame();
        }
        assert_bounded(&self.model);
    }

    /// Asserts that the link is used and its queue short.
    fn assert_normal(&mut self, what: &str) {
        self.queue = 0;
        let (begun, first) = (self.now / SECOND, self.model.sent.total());
        self.run_until(begun + 2);
        let used = (self.model.sent.total() - first) / (2.0 * LINK);
        let queue = self.queue / 1_000_000;
        let mode = self.model.mode();
        assert!(
            used >= 0.75 && queue <= 60 && mode == Mode::Delay,
            "{what}: {used:.2} of the link used, queue of {queue} ms, {mode:?}"
        );
    }
}

/// TFRC's X in bytes per second. The first leaves the link to the model; the second alone keeps the queue short.
const X: f64 = 1e6;
const LOW_X: f64 = 0.9 * LINK;

#[test]
fn model_fills_an_honest_receivers_link() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.run_until(5);
    flow.assert_normal("honest");
}

#[test]
fn model_recovers_from_a_clock_step() {
    let steps: [(&str, ClockFault); 10] = [
        ("a day ahead", |_, at| at + ZERO + 86_400 * SECOND),
        ("an hour ahead", |_, at| at + ZERO + 3_600 * SECOND),
        ("an hour behind", |_, at| at + ZERO - 3_600 * SECOND),
        ("a day behind", |_, at| at + ZERO - 86_400 * SECOND),
        ("a second ahead", |_, at| at + ZERO + SECOND),
        ("a second behind", |_, at| at + ZERO - SECOND),
        ("50 ms ahead", |_, at| at + ZERO + 50_000_000),
        ("50 ms behind", |_, at| at + ZERO - 50_000_000),
        ("15 ms ahead", |_, at| at + ZERO + 15_000_000),
        ("15 ms behind", |_, at| at + ZERO - 15_000_000),
    ];
    for (what, step) in steps {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.run_until(10);
        flow.clock = step;
        flow.run_until(15);
        flow.assert_normal(what);
        flow.clock = honest;
        flow.run_until(22);
        flow.assert_normal(what);
    }
}

#[test]
fn model_recovers_from_single_false_arrivals() {
    let lies: [(&str, u64); 9] = [
        ("the end of time", u64::MAX),
        ("zero", 0),
        ("an hour ahead", ZERO + 3_610 * SECOND),
        ("an hour behind", ZERO - 3_590 * SECOND),
        ("a second ahead", ZERO + 11 * SECOND),
        ("a second behind", ZERO + 9 * SECOND),
        ("50 ms ahead", ZERO + 10 * SECOND + 50_000_000),
        ("15 ms ahead", ZERO + 10 * SECOND + 15_000_000),
        ("15 ms behind", ZERO + 10 * SECOND - 15_000_000),
    ];
    for (what, lie) in lies {
        for index in [0, 1, 2] {
            let mut flow = FaultyFlow::new(40, X, Faults::NONE);
            flow.run_until(10);
            flow.run_frame();
            let (_, last) = flow.reports.back_mut().expect("a report under way");
            let late = last[0].arrived_at.as_nanos() - 10 * SECOND - ZERO;
            let index = index.min(last.len() - 1);
            let far = lie == 0 || lie == u64::MAX;
            let lie = if far { lie } else { lie + late };
            last[index].arrived_at = Instant::from_nanos(lie);
            flow.run_until(15);
            flow.assert_normal(what);
        }
    }
}

#[test]
fn model_withstands_clocks_that_drift() {
    let fast: ClockFault = |_, at| at + ZERO + at / 5_000;
    let slow: ClockFault = |_, at| at + ZERO - at / 5_000;
    for clock in [fast, slow] {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.clock = clock;
        for minute in 1..=3 {
            flow.run_until(60 * minute);
            flow.assert_normal("drift");
        }
    }
}

#[test]
fn model_recovers_from_a_clock_that_stood() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.run_until(10);
    flow.bound = Rate::from_bytes_per_sec(LOW_X);
    flow.clock = |_, _| ZERO + 10 * SECOND;
    flow.run_until(40);
    (flow.clock, flow.bound) = (honest, Rate::from_bytes_per_sec(X));
    flow.run_until(45);
    flow.assert_normal("the clock stood");
}

#[test]
fn model_recovers_from_a_clock_that_jumps() {
    let mut flow = FaultyFlow::new(40, LOW_X, Faults::NONE);
    flow.clock = |faults, at| {
        if faults.happens(0.3) {
            at + ZERO * (1 + u64::from(faults.happens(0.5)))
        } else {
            at + ZERO / 2
        }
    };
    flow.run_until(30);
    (flow.clock, flow.bound) = (honest, Rate::from_bytes_per_sec(X));
    flow.run_until(35);
    flow.assert_normal("the clock jumped");
}

#[test]
fn model_withstands_lost_doubled_and_late_reports() {
    let faults = Faults {
        random: 7,
        lost: 0.3,
        doubled: 0.2,
        reordered: 0.1,
    };
    let mut flow = FaultyFlow::new(40, X, faults);
    flow.run_until(20);
    flow.faults = Faults::NONE;
    flow.run_until(25);
    flow.assert_normal("reports");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn memory_is_bounded_whatever_the_frame_interval(
        interval in prop_oneof![1..40u64, 40..10_000u64],
        bound in 1e3..2e6,
        random: u64,
        lost in 0.0..0.5,
        doubled in 0.0..0.5,
        reordered in 0.0..0.5,
        fault in 0..4usize,
        format in prop::sample::select(FORMATS.to_vec()),
    ) {
        let clocks: [ClockFault; 4] = [
            honest,
            |_, _| ZERO,
            |faults, at| if faults.happens(0.01) { u64::MAX } else { at + ZERO },
            |faults, at| at.wrapping_mul(faults.random | 1),
        ];
        let mut flow = FaultyFlow::new(interval, bound, Faults { random, lost, doubled, reordered });
        (flow.clock, flow.format) = (clocks[fault], format);
        for _ in 0..(20_000 / interval).clamp(20, 2_000) {
            flow.run_frame();
            assert_bounded(&flow.model);
        }
    }
}

#[test]
fn transit_bounds_fill_an_honest_receivers_link() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.format = ReportFormat::TransitBounds;
    flow.run_until(8);
    flow.assert_normal("honest");
}

#[test]
fn transit_bounds_recover_from_a_clock_step() {
    let steps: [(&str, ClockFault); 6] = [
        ("an hour ahead", |_, at| at + ZERO + 3_600 * SECOND),
        ("an hour behind", |_, at| at + ZERO - 3_600 * SECOND),
        ("a second ahead", |_, at| at + ZERO + SECOND),
        ("a second behind", |_, at| at + ZERO - SECOND),
        ("15 ms ahead", |_, at| at + ZERO + 15_000_000),
        ("15 ms behind", |_, at| at + ZERO - 15_000_000),
    ];
    for (what, step) in steps {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.format = ReportFormat::TransitBounds;
        flow.run_until(10);
        flow.clock = step;
        flow.run_until(15);
        flow.assert_normal(what);
        flow.clock = honest;
        flow.run_until(22);
        flow.assert_normal(what);
    }
}

#[test]
fn transit_bounds_recover_from_a_false_report() {
    for lie in [u64::MAX, 0, ZERO + 3_600 * SECOND, ZERO] {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.format = ReportFormat::TransitBounds;
        flow.run_until(10);
        flow.run_frame();
        let (_, last) = flow.reports.back_mut().expect("a report under way");
        last[0].arrived_at = Instant::from_nanos(lie);
        flow.run_until(15);
        flow.assert_normal("a lie");
    }
}

#[test]
fn model_recovers_from_a_change_of_format() {
    for (first, then) in FORMATS.iter().flat_map(|a| FORMATS.map(|b| (*a, b))) {
        for clock in [honest, |_: &mut Faults, at| at] {
            let mut flow = FaultyFlow::new(40, X, Faults::NONE);
            flow.format = first;
            flow.clock = clock;
            flow.run_until(10);
            flow.format = then;
            flow.run_until(15);
            if then != ReportFormat::RoundTrip {
                flow.assert_normal("another format");
            }
            assert!(flow.model.queueing_delay() < Duration::from_millis(100));
        }
    }
}

/// X of an idle sender decays between two frames if four round trips are shorter than their interval (RFC 5348 §4.4).
#[test]
fn decay_of_x_between_frames_shortens_no_frame() {
    let deadline = Duration::from_secs(1);
    for (interval, shortens) in [(250, false), (40, true)] {
        let mut flow = FaultyFlow::new(interval, X, Faults::NONE);
        flow.run_until(20);
        flow.handle_reports(u64::MAX);
        let (now, bound) = (flow.now, flow.bound);
        let at = |ms: u64| Instant::from_nanos(now + 1_000_000 * ms);
        let model = &mut flow.model;
        model.set_bound(at(0), bound);
        let (budget, decayed) = (model.frame_budget(at(0), deadline), model.rate() / 10.0);
        model.set_bound(at(1), decayed);
        assert_eq!(model.rate() == decayed, shortens);
        let mut lossy = model.clone();
        lossy.set_bound(at(1), bound);
        lossy.handle_loss_event(at(2));
        lossy.set_bound(at(2), decayed);
        assert_eq!(lossy.rate(), decayed);
        let mut queued = model.clone();
        let (params, target) = (queued.params, queued.target());
        let frame = (seconds(at(600)), 2.0 * target);
        queued.set_bound(at(1), bound);
        queued
            .signal
            .observe(seconds(at(600)), u64::MAX, frame, target, &params);
        queued.set_bound(at(2), decayed);
        assert_eq!(queued.rate(), decayed);
        let mut competing = model.clone();
        competing.law.mode = Mode::Compete;
        competing.set_bound(at(1), bound);
        competing.handle_sent(at(2), u64::MAX - 2, Bytes::new(PACKET), true);
        competing.set_bound(at(2), decayed);
        competing.follow(&QueueReport {
            now: seconds(at(2)),
            elapsed: 0.001,
            round_trip: 0.04,
            queue: 0.0,
            target,
        });
        competing.set_bound(at(3), bound);
        assert_eq!(competing.rate() < bound, shortens);
        // The first reports of the next frame find X still low.
        let mut idle = model.clone();
        model.handle_sent(at(2), u64::MAX - 2, Bytes::new(PACKET), true);
        model.set_bound(at(2), decayed);
        assert_eq!(model.rate(), decayed);
        model.set_bound(at(3), bound);
        assert_eq!(model.frame_budget(at(3), deadline), budget);
        // After a pause of the application the path may have changed.
        idle.set_bound(at(400), decayed);
        assert_eq!(idle.rate(), decayed);
    }
}
