//! What became of the packets of each flow.

use evenkeel_sim::{Body, End, FlowId, Observer, Packet};
use tfrc::time::Instant;
use tfrc::units::Bytes;

use crate::metrics::PacketLog;

/// Of each flow, the packets that leave within a window.
pub(super) struct Record {
    pub(super) flows: Vec<Flow>,
    window: [Instant; 2],
}

/// A flow's packets that count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// The numbers of those that left, for a stream.
    first: Option<u64>,
    end: u64,
    sent: u64,
    arrived: u64,
    /// Their bytes that arrived.
    pub(super) received: Bytes,
    delays: PacketLog,
}

impl Record {
    pub(super) fn new(flows: usize, window: [Instant; 2]) -> Self {
        Self {
            flows: vec![Flow::default(); flows],
            window,
        }
    }

    fn counts(&self, now: Instant) -> bool {
        (self.window[0]..self.window[1]).contains(&now)
    }
}

impl Observer<evenkeel_sim::Traffic> for Record {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Receiver || !self.counts(now) {
            return;
        }
        let flow = &mut self.flows[flow.index()];
        flow.sent += 1;
        if let Some((number, _)) = datagram(&packet.body) {
            flow.first.get_or_insert(number);
            flow.end = number + 1;
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Sender {
            return;
        }
        let counts = self.counts(now);
        let flow = &mut self.flows[flow.index()];
        let datagram = datagram(&packet.body);
        let taken = match datagram {
            Some((number, _)) => flow
                .first
                .is_some_and(|first| (first..flow.end).contains(&number)),
            // What is under way at either end of the window is about the same.
            None => counts,
        };
        if taken {
            flow.arrived += 1;
            flow.received += packet.size;
        }
        if let Some((_, ready)) = datagram.filter(|_| taken) {
            flow.delays.delivered(now - ready);
        }
    }
}

/// The number of a stream's datagram, and when it was ready.
fn datagram(body: &Body) -> Option<(u64, Instant)> {
    match body {
        Body::Datagram { sequence, sent } => Some((*sequence, *sent)),
        Body::TfrcData {
            sequence, ready, ..
        } => Some((*sequence, *ready)),
        _ => None,
    }
}

impl Flow {
    /// Loss and delay of a stream's packets, once all have arrived that will.
    pub(super) fn log(&self) -> PacketLog {
        let mut log = self.delays;
        for _ in self.arrived..self.sent {
            log.lost();
        }
        log
    }

    /// IPLR of any flow.
    pub(super) fn loss(&self) -> f64 {
        self.sent.saturating_sub(self.arrived) as f64 / self.sent as f64
    }
}
