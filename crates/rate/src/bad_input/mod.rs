//! Tests of the model against receivers and paths that misbehave.

mod arbitrary;
mod clocks;
mod decaying_bound;
mod formats;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use crate::model::ReportFormat;
use crate::{Mode, Params, PathModel, TransitReport};

/// Size of a packet in bytes, headers included.
const PACKET: u64 = 1_200;
/// The least rate of the law in bytes per second, stated apart from the code that the tests check.
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

/// The bounds are numbers here: a constant of the code that grew by mistake would move its own bound.
fn assert_bounded(model: &PathModel) {
    assert!(model.window.len() <= 8_192);
    assert!(model.bursts.recent_len() <= 64);
    assert!(model.base.len() <= 1_024);
    assert!(model.signal.len() <= 256);
    assert!(model.coarse.len() <= 64);
    assert!(model.sent.len() <= 8_192);
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

    /// Returns true for this share of the calls.
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

    /// Sends one frame and handles the reports that arrive meanwhile.
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

/// Asserts that the model recovers from each step of the receiver's clock, and from the step back.
fn assert_recovery(format: ReportFormat, steps: &[(&str, ClockFault)]) {
    for (what, step) in steps {
        let mut flow = FaultyFlow::new(40, X, Faults::NONE);
        flow.format = format;
        flow.run_until(10);
        flow.clock = *step;
        flow.run_until(15);
        flow.assert_normal(what);
        flow.clock = honest;
        flow.run_until(22);
        flow.assert_normal(what);
    }
}

/// TFRC's X in bytes per second. The first constant leaves the link to the model; the second alone keeps the queue
/// short.
const X: f64 = 1e6;
const LOW_X: f64 = 0.9 * LINK;

#[test]
fn model_fills_an_honest_receivers_link() {
    let mut flow = FaultyFlow::new(40, X, Faults::NONE);
    flow.run_until(5);
    flow.assert_normal("honest");
}
