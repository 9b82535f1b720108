//! The receiving end of all connections: a client.

use super::config::{MAX_CONNECTIONS, WebConfig, WebConfigError};
use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tcp::{Config, Connection, Receiver};
use std::ops::Range;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Acknowledges what every connection brings.
#[derive(Clone, Debug)]
pub struct WebReceiver {
    config: Config,
    /// The connection that each slot has or had last. It stays until the next one of the slot, and so
    /// answers whatever its sender repeats.
    slots: Vec<(u16, Receiver)>,
    ready: Range<usize>,
    received: Bytes,
}

impl WebReceiver {
    /// A client that has seen nothing. It need not know the sizes of files.
    pub fn new(config: &WebConfig) -> Result<Self, WebConfigError> {
        config.check()?;
        Ok(Self {
            config: Config {
                length: None,
                ..config.tcp.clone()
            },
            slots: Vec::new(),
            ready: 0..0,
            received: Bytes::ZERO,
        })
    }

    /// What has arrived, headers and packets that came twice included.
    pub fn received(&self) -> Bytes {
        self.received
    }
}

impl Agent for WebReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::TcpSegment(mut segment) = packet.body else {
            return;
        };
        self.received += packet.size;
        let Connection { slot, generation } = segment.connection;
        let index = usize::from(slot);
        if slot >= MAX_CONNECTIONS {
            return;
        }
        while self.slots.len() <= index {
            let Ok(receiver) = Receiver::new(&self.config) else {
                return;
            };
            self.slots.push((0, receiver));
        }
        let (current, receiver) = &mut self.slots[index];
        match generation.wrapping_sub(*current) {
            0 => {}
            1..0x8000 => {
                let Ok(fresh) = Receiver::new(&self.config) else {
                    return;
                };
                (*current, *receiver) = (generation, fresh);
            }
            // Of a connection that is over.
            _ => return,
        }
        segment.ecn = packet.ecn;
        receiver.handle_segment(now, segment);
        self.ready = index..index + 1;
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (_, receiver) in &mut self.slots {
            receiver.handle_timeout(now);
        }
        self.ready = 0..self.slots.len();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        while let Some(index) = self.ready.clone().next() {
            let (generation, receiver) = &mut self.slots[index];
            if let Some(mut ack) = receiver.poll_ack(now) {
                ack.connection = Connection {
                    slot: index as u16,
                    generation: *generation,
                };
                return Some(Packet {
                    size: self.config.header,
                    ecn: Ecn::NotEct,
                    body: Body::TcpAck(ack),
                });
            }
            self.ready.next();
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.slots
            .iter()
            .filter_map(|(_, receiver)| receiver.poll_timeout())
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Segment;

    #[test]
    fn a_packet_of_an_earlier_connection_does_not_disturb_the_present_one() {
        let mut client = WebReceiver::new(&WebConfig::default()).unwrap();
        let mut arrive = |generation| {
            let segment = Segment {
                number: 0,
                size: Bytes::new(1_040),
                ecn: Ecn::NotEct,
                cwr: false,
                connection: Connection {
                    slot: 0,
                    generation,
                },
            };
            let packet = Packet {
                size: segment.size,
                ecn: segment.ecn,
                body: Body::TcpSegment(segment),
            };
            client.handle_packet(Instant::ZERO, &packet);
            client.slots[0].0
        };
        assert_eq!([5, 4, 5, 6].map(&mut arrive), [5, 5, 5, 6]);
        // Numbers go round.
        assert_eq!(
            [0x8000, 0xFFFF, 0, 0xFFFF].map(&mut arrive),
            [0x8000, 0xFFFF, 0, 0]
        );
    }
}
