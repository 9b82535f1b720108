//! Records the fate of the packets of each flow.

use evenkeel_sim::{Body, End, FlowId, Observer, Packet};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

use super::sample::{Stream, TcpFlow};
use crate::metrics::{PacketLog, lost_share};

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
    received: Bytes,
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
    fn log(&self) -> PacketLog {
        let mut log = self.delays;
        for _ in self.arrived..self.sent {
            log.lost();
        }
        log
    }

    /// A stream's, once all have arrived that will.
    pub(super) fn stream(&self) -> Stream {
        let log = self.log();
        Stream {
            iplr: log.iplr(),
            iptd_mean: log.iptd_mean(),
            iptd_max: log.iptd_max(),
        }
    }

    /// A TCP flow's over a window of this length.
    pub(super) fn tcp(&self, window: Duration) -> TcpFlow {
        TcpFlow {
            iplr: self.loss(),
            kbps: self.received.as_f64() * 8e-3 / window.as_secs_f64(),
        }
    }

    /// IPLR of any flow.
    fn loss(&self) -> f64 {
        lost_share(self.arrived as f64, self.sent as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::{LinkConfig, Loss, Random};
    use evenkeel_sim::{LOWER_LAYERS, Simulation, Sink, Source, Topology, Traffic};

    const SECOND: Duration = Duration::from_secs(1);

    /// Ten seconds of a packet each 100 ms over a link of 50 ms. Packets of a window count.
    fn record(window: [u64; 2], loss: Loss) -> Record {
        let mut net = Topology::new();
        let [a, b] = [net.add_node(), net.add_node()];
        let link = LinkConfig {
            delay: SECOND / 20,
            loss,
            ..LinkConfig::default()
        };
        let [there, back] = net.add_duplex(a, b, link).unwrap();
        let [there, back] = [there, back].map(|link| net.path(&[link]).unwrap());
        let constant = evenkeel_sim::Pattern::Constant {
            size: Bytes::new(100) + LOWER_LAYERS,
            rate: Bytes::new(1_280) / SECOND,
        };
        let source = Source::new(
            constant,
            Instant::ZERO,
            Instant::from_secs(10),
            Random::new(1, 1),
        );
        let mut sim: Simulation<Traffic> = Simulation::new(&net, 1);
        sim.add_flow(
            &there,
            &back,
            source.unwrap().into(),
            Sink::default().into(),
        );
        let mut record = Record::new(1, window.map(Instant::from_secs));
        sim.run_observed(Instant::from_secs(20), &mut record);
        record
    }

    #[test]
    fn packets_count_by_their_departure() {
        let flow = record([2, 4], Loss::None).flows[0];
        assert_eq!((flow.sent, flow.arrived), (20, 20));
        assert_eq!(flow.received, Bytes::new(20 * 128));
        let log = flow.log();
        assert_eq!(log.iplr(), 0.0);
        assert!((log.iptd_mean() - 0.05).abs() < 1e-9 && (log.iptd_max() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn what_never_arrives_is_lost() {
        // The 4th, 8th … packet: of those from the 20th to the 39th, counted from 0, five.
        let flow = record([2, 4], Loss::Periodic(4)).flows[0];
        assert_eq!(flow.log().iplr(), 0.25);
        assert_eq!(flow.loss(), 0.25);
    }
}
