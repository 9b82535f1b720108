//! Records a run: departures and arrivals of each flow, and the reports of receivers.

use evenkeel_sim::{Body, End, FlowId, Observer, Packet, Traffic};
use tfrc::time::Instant;
use tfrc::units::Bytes;

use super::loss_reports::LossReports;
use crate::metrics::{BIN, Throughput};

/// Between two instants: what each flow sent and what came of it.
pub(super) struct Record {
    pub(super) sent: Vec<Throughput>,
    pub(super) received: Vec<Throughput>,
    pub(super) loss_reports: LossReports,
    pub(super) gaps: Gaps,
}

impl Record {
    /// Nothing yet.
    pub(super) fn new(flows: usize, [from, to]: [Instant; 2]) -> Self {
        let empty = vec![Throughput::new(from, to, BIN); flows];
        Self {
            sent: empty.clone(),
            received: empty,
            loss_reports: LossReports::new([from, to]),
            gaps: Gaps::default(),
        }
    }
}

/// Between the packets of the first flow.
#[derive(Default)]
pub(super) struct Gaps {
    /// Seconds from packet to packet, as they left within the time that is recorded.
    pub(super) gaps: Vec<f64>,
    departed: Option<Instant>,
}

/// More gaps are not kept.
const MAX_GAPS: usize = 1_000_000;

impl Gaps {
    fn departs(&mut self, now: Instant) {
        let gap = self.departed.replace(now).map(|last| now - last);
        if self.gaps.len() < MAX_GAPS {
            self.gaps.extend(gap.map(|gap| gap.as_secs_f64()));
        }
    }
}

impl Observer<Traffic> for Record {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Sender {
            add(&mut self.sent, flow, now, packet.size);
            if flow.index() == 0 {
                self.gaps.departs(now);
            }
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver {
            add(&mut self.received, flow, now, packet.size);
        } else if let Body::TfrcReport(report) = &packet.body {
            self.loss_reports
                .record(flow.index(), now, report.p().get());
        }
    }
}

/// Background flows, which come after the others, are not recorded.
fn add(flows: &mut [Throughput], flow: FlowId, now: Instant, size: Bytes) {
    if let Some(throughput) = flows.get_mut(flow.index()) {
        throughput.add(now, size);
    }
}

/// What was measured.
pub(crate) struct Measured {
    /// What each flow sent, in the order of the flows.
    pub(crate) sent: Vec<Throughput>,
    /// What arrived of it.
    pub(crate) received: Vec<Throughput>,
    /// The loss event rates that TFRC's receivers reported.
    pub(crate) loss_reports: LossReports,
    /// Seconds from packet to packet of the first flow.
    pub(crate) gaps: Vec<f64>,
    /// Packets that came to the bottleneck.
    pub(crate) arrived: u64,
    /// Packets that its queue dropped.
    pub(crate) dropped: u64,
    /// Packets that it lost besides.
    pub(crate) lost: u64,
    /// Packets that its queue marked, as far as one can look into it.
    pub(crate) marked: Option<u64>,
    /// Bytes that it carried.
    pub(crate) carried: Bytes,
    /// Times in seconds, and bytes that waited for it.
    pub(crate) queue: Vec<(f64, u64)>,
}
