//! Records every flow while it runs.

use std::collections::VecDeque;

use evenkeel_sim::{Body, End, FlowId, Observer, Packet, Traffic};
use tfrc::time::{Duration, Instant};

use crate::metrics::Throughput;

/// RFC 8868 §3: rates are measured over 200 ms.
pub(super) const BIN: Duration = Duration::from_millis(200);

/// The packets of one flow, there and back.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    /// What its sender sent.
    pub(super) sent: Throughput,
    /// What its receiver got of it.
    pub(super) received: Throughput,
    /// What its receiver sent: feedback.
    pub(super) back: Throughput,
    /// When a packet arrived and how long it took, in seconds.
    pub(super) delays: Vec<(f64, f64)>,
    /// When a packet had left that never arrived.
    pub(super) lost: Vec<f64>,
    pub(super) sent_count: u64,
    pub(super) received_count: u64,
    /// Packets on their way, by what tells them apart.
    travelling: VecDeque<(u64, Instant)>,
}

/// All flows, in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct Record(pub(super) Vec<Packets>);

impl Record {
    pub(super) fn new(flows: usize, length: Duration) -> Self {
        let empty = Throughput::new(Instant::ZERO, Instant::ZERO + length, BIN);
        let packets = Packets {
            sent: empty.clone(),
            received: empty.clone(),
            back: empty,
            delays: Vec::new(),
            lost: Vec::new(),
            sent_count: 0,
            received_count: 0,
            travelling: VecDeque::new(),
        };
        Self(vec![packets; flows])
    }
}

impl Observer<Traffic> for Record {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        let packets = &mut self.0[flow.index()];
        if end == End::Receiver {
            packets.back.add(now, packet.size);
            return;
        }
        packets.sent.add(now, packet.size);
        packets.sent_count += 1;
        if let Some(number) = number(&packet.body) {
            packets.travelling.push_back((number, now));
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if end == End::Sender {
            return;
        }
        let packets = &mut self.0[flow.index()];
        packets.received.add(now, packet.size);
        packets.received_count += 1;
        let Some(number) = number(&packet.body) else {
            return;
        };
        // No path here reorders a flow: whoever is overtaken is lost.
        while let Some((candidate, sent)) = packets.travelling.pop_front() {
            if candidate == number {
                let delay = now.saturating_since(sent).as_secs_f64();
                packets.delays.push((now.as_secs_f64(), delay));
                break;
            }
            packets.lost.push(sent.as_secs_f64());
        }
    }
}

/// What tells a packet from those near it; nothing for a TCP segment, which may be sent twice, and
/// for RTCP.
fn number(body: &Body) -> Option<u64> {
    match body {
        Body::Datagram { sequence, .. } | Body::TfrcData { sequence, .. } => Some(*sequence),
        // RTP's sequence number; the second byte of RTCP is 192 to 223 (RFC 5761 §4).
        Body::Bytes(bytes) => match **bytes {
            [_, kind, high, low, ..] if !(192..=223).contains(&kind) => {
                Some(u16::from_be_bytes([high, low]).into())
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::{LinkConfig, Loss, QueueLimit};
    use evenkeel_sim::{Access, Pattern, Shape, Simulation, Sink, Source};
    use tfrc::units::{Bytes, Rate};

    #[test]
    fn delays_are_of_what_arrived_and_the_rest_is_lost() {
        let link = LinkConfig {
            rate: Rate::from_bits_per_sec(1e6),
            delay: Duration::from_millis(40),
            queue: QueueLimit::Packets(10),
            ..LinkConfig::default()
        };
        let shape = Shape::dumbbell([link; 2], [Access::even(LinkConfig::default())]).unwrap();
        let mut sim = Simulation::new(&shape.topology, 1);
        let pattern = Pattern::Constant {
            size: Bytes::new(125),
            rate: Rate::from_bits_per_sec(100e3),
        };
        let random = evenkeel_link::Random::new(1, 0);
        let source = Source::new(pattern, Instant::ZERO, Instant::from_secs(1), random);
        let place = &shape.places[0];
        sim.add_flow(
            &place.forward,
            &place.reverse,
            Traffic::from(source.unwrap()),
            Traffic::from(Sink::default()),
        );
        sim.set_loss(shape.bottlenecks[0][0], Loss::None);
        sim.lose_packets(shape.bottlenecks[0][0], [3, 4, 50]);
        let mut record = Record::new(1, Duration::from_secs(2));
        sim.run_observed(Instant::from_secs(2), &mut record);
        let packets = &record.0[0];
        // A hundred packets, 10 ms apart, of a millisecond each.
        assert_eq!(packets.lost, [0.03, 0.04, 0.5]);
        assert_eq!(packets.delays.len(), 97);
        assert!(
            packets
                .delays
                .iter()
                .all(|(_, delay)| (delay - 0.041).abs() < 1e-9)
        );
        assert_eq!(packets.received.total(), Bytes::new(97 * 125));
    }
}
