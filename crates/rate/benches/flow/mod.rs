//! A flow by the path model over one link, in virtual time, with one report per frame.

mod tcp;

use std::collections::VecDeque;

use evenkeel_rate::{Params, PathModel, TransitReport};
use tcp::BulkSender;
use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// 25 frames a second.
const INTERVAL: Duration = Duration::from_millis(40);
const PACKET: u64 = 1_200;
const ONE_WAY: Duration = Duration::from_millis(20);
/// A packet that would wait for longer is dropped.
const QUEUE_LIMIT: Duration = Duration::from_millis(300);
/// A frame is to arrive within this time.
const DEADLINE: Duration = Duration::from_millis(100);

/// The format of the receiver's reports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReceiverReports {
    Deliveries,
    TransitBounds,
}

/// A link and its flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkScenario {
    pub(crate) mbps: f64,
    /// TFRC's X.
    pub(crate) allowed_mbps: f64,
    /// True if an endless TCP flow shares the link.
    pub(crate) has_tcp: bool,
    pub(crate) reports: ReceiverReports,
}

impl LinkScenario {
    /// A link that carries one flow, with an X that leaves the rate to the model.
    pub(crate) const fn alone(mbps: f64, reports: ReceiverReports) -> Self {
        Self {
            mbps,
            allowed_mbps: 2.0 * mbps,
            has_tcp: false,
            reports,
        }
    }

    /// A link that TCP keeps full, with the fair share as X.
    pub(crate) const fn beside_tcp(mbps: f64) -> Self {
        Self {
            mbps,
            allowed_mbps: mbps / 2.0,
            has_tcp: true,
            reports: ReceiverReports::Deliveries,
        }
    }
}

/// A packet that leaves for the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeavingPacket {
    number: u64,
    size: Bytes,
    ends_frame: bool,
}

/// A call that the flow makes of its model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ModelCall<'a> {
    /// A picture is captured, with this X.
    Frame(Rate),
    Sent(&'a LeavingPacket),
    LossEvent,
    Deliveries(&'a [Delivery]),
    TransitBounds(&'a TransitReport),
}

impl ModelCall<'_> {
    pub(crate) fn make(self, model: &mut PathModel, now: Instant) {
        match self {
            Self::Frame(bound) => {
                allow_frame(model, (now, bound));
            }
            Self::Sent(packet) => send(model, (now, packet)),
            Self::LossEvent => model.handle_loss_event(now),
            Self::Deliveries(deliveries) => report_deliveries(model, (now, deliveries)),
            Self::TransitBounds(report) => report_transit(model, (now, report)),
        }
    }
}

#[inline]
pub(crate) fn allow_frame(model: &mut PathModel, (now, bound): (Instant, Rate)) -> (Bytes, Rate) {
    model.set_bound(now, bound);
    (model.frame_budget(now, DEADLINE), model.pacing_rate())
}

#[inline]
pub(crate) fn send(model: &mut PathModel, (now, packet): (Instant, &LeavingPacket)) {
    model.handle_sent(now, packet.number, packet.size, packet.ends_frame);
}

#[inline]
pub(crate) fn report_deliveries(model: &mut PathModel, (now, deliveries): (Instant, &[Delivery])) {
    model.handle_report(now, deliveries.iter().copied());
}

#[inline]
pub(crate) fn report_transit(model: &mut PathModel, (now, report): (Instant, &TransitReport)) {
    model.handle_transit_bounds(now, report);
}

/// The link, with one queue.
#[derive(Clone, Debug)]
struct DropTailLink {
    rate: Rate,
    busy_until: Instant,
}

impl DropTailLink {
    /// Queues a packet. Gives the time at which the packet has left; `None` if the link drops it.
    fn carry(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        if self.wait(now) > QUEUE_LIMIT {
            return None;
        }
        self.busy_until = self.busy_until.max(now) + size / self.rate;
        Some(self.busy_until)
    }

    fn wait(&self, now: Instant) -> Duration {
        self.busy_until.saturating_since(now)
    }
}

/// The receiver's report on a frame.
#[derive(Clone, Debug, Default)]
struct FrameReport {
    deliveries: Vec<Delivery>,
    /// Transit times in microseconds, in the order of departure.
    transits: Vec<u32>,
    has_lost: bool,
    last_sent: Instant,
    bytes: u64,
}

impl FrameReport {
    fn transit_report(&self, now: Instant) -> TransitReport {
        let transits = self.transits.iter().copied();
        TransitReport {
            sent_at: self.last_sent,
            round_trip: now.saturating_since(self.last_sent),
            least: transits.clone().min().unwrap_or(0),
            largest: transits.max().unwrap_or(0),
            receive_rate: Bytes::new(self.bytes) / INTERVAL,
        }
    }
}

/// A flow with its link.
#[derive(Clone, Debug)]
pub(crate) struct LinkFlow {
    model: PathModel,
    bound: Rate,
    format: ReceiverReports,
    link: DropTailLink,
    tcp: Option<BulkSender>,
    now: Instant,
    number: u64,
    /// Reports under way, with their times of arrival.
    reports: VecDeque<(Instant, FrameReport)>,
}

impl LinkFlow {
    pub(crate) fn new(scenario: &LinkScenario) -> Self {
        let start = Instant::from_secs(1);
        let initial = Rate::from_bits_per_sec(300e3);
        Self {
            model: PathModel::new(Params::CALL, INTERVAL, initial),
            bound: Rate::from_bits_per_sec(scenario.allowed_mbps * 1e6),
            format: scenario.reports,
            link: DropTailLink {
                rate: Rate::from_bits_per_sec(scenario.mbps * 1e6),
                busy_until: start,
            },
            tcp: scenario.has_tcp.then(|| BulkSender::new(start)),
            now: start,
            number: 0,
            reports: VecDeque::new(),
        }
    }

    /// Sends one frame. `make` makes the calls of the model that are due until its last packet leaves.
    pub(crate) fn run_frame(
        &mut self,
        make: &mut impl FnMut(&mut PathModel, Instant, ModelCall<'_>),
    ) {
        let mut leaves = self.now;
        self.deliver_reports(leaves, make);
        make(&mut self.model, leaves, ModelCall::Frame(self.bound));
        // A second call gives the result that `make` does not return.
        let (budget, pace) = allow_frame(&mut self.model, (leaves, self.bound));
        let packets = budget.get().div_ceil(PACKET).max(2);
        let size = Bytes::new((budget.get() / packets).max(60));
        let mut arrivals = FrameReport::default();
        for index in 1..=packets {
            self.deliver_reports(leaves, make);
            let packet = LeavingPacket {
                number: self.number,
                size,
                ends_frame: index == packets,
            };
            make(&mut self.model, leaves, ModelCall::Sent(&packet));
            self.carry(leaves, packet, &mut arrivals);
            self.number += 1;
            leaves += size / pace;
        }
        let reported = self.link.busy_until + 2 * ONE_WAY;
        self.reports.push_back((reported, arrivals));
        self.now = leaves.max(self.now + INTERVAL);
    }

    fn carry(&mut self, now: Instant, packet: LeavingPacket, arrivals: &mut FrameReport) {
        if let Some(tcp) = &mut self.tcp {
            tcp.send_until(now, &mut self.link);
        }
        match self.link.carry(now, packet.size) {
            Some(left) => {
                let arrived_at = left + ONE_WAY;
                let transit = arrived_at.saturating_since(now);
                arrivals.deliveries.push(Delivery {
                    number: packet.number,
                    arrived_at,
                });
                arrivals.transits.push(transit.as_micros() as u32);
                arrivals.bytes += packet.size.get();
                arrivals.last_sent = now;
            }
            None => arrivals.has_lost = true,
        }
    }

    fn deliver_reports(
        &mut self,
        until: Instant,
        make: &mut impl FnMut(&mut PathModel, Instant, ModelCall<'_>),
    ) {
        while self.reports.front().is_some_and(|(at, _)| *at <= until) {
            let (now, arrivals) = self.reports.pop_front().expect("just seen");
            if arrivals.has_lost {
                make(&mut self.model, now, ModelCall::LossEvent);
            }
            if arrivals.deliveries.is_empty() {
                continue;
            }
            match self.format {
                ReceiverReports::Deliveries => {
                    let call = ModelCall::Deliveries(&arrivals.deliveries);
                    make(&mut self.model, now, call);
                }
                ReceiverReports::TransitBounds => {
                    let report = arrivals.transit_report(now);
                    make(&mut self.model, now, ModelCall::TransitBounds(&report));
                }
            }
        }
    }
}
