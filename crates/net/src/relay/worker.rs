//! The relay's thread.

use super::control::Control;
use super::peer::Peer;
use super::{CrossTraffic, HEADERS, RelayConfig, RelaySnapshot};
use crate::capture::datagram;
use crate::clock::Clock;
use crate::emulation::{self, Direction, LinkEvent, Outlet};
use crate::hop::{Hop, HopWorker, SEND_BUDGET};
use crate::packet_record::{Flow, PacketEvent, UDP, Watch};
use crate::socket::{Outgoing, ReceiveBatch, Socket};
use crate::wait::{DEAF_WAIT, Wakeups};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc::SyncSender;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// Both sides and both links.
pub(super) struct Worker<C: CrossTraffic> {
    hop: Hop<Packet<C::Packet>>,
    /// A, then B.
    sides: [Side; 2],
    cross: C,
    events: Outlet<LinkEvent>,
    strangers: u64,
}

struct Side {
    socket: Socket,
    batch: ReceiveBatch,
    peer: Peer,
    /// When its socket is looked at again, if the last look gave an error.
    deaf_until: Option<Instant>,
}

/// What a link carries, with cross traffic of packets `X`.
#[derive(Clone)]
pub(super) enum Packet<X> {
    Datagram {
        payload: Box<[u8]>,
        ecn: Ecn,
        /// Counted from zero, over both directions.
        number: u64,
    },
    Cross(X),
}

impl<X: evenkeel_link::Packet> evenkeel_link::Packet for Packet<X> {
    fn ecn(&self) -> Ecn {
        match self {
            Self::Datagram { ecn, .. } => *ecn,
            Self::Cross(packet) => packet.ecn(),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Self::Datagram { number, .. } => *number,
            Self::Cross(packet) => packet.number(),
        }
    }

    fn mark(&mut self) {
        match self {
            Self::Datagram { ecn, .. } => *ecn = Ecn::Ce,
            Self::Cross(packet) => packet.mark(),
        }
    }

    /// Datagrams are flow 0.
    fn flow(&self) -> u64 {
        match self {
            Self::Datagram { .. } => 0,
            Self::Cross(packet) => packet.flow().saturating_add(1),
        }
    }
}

impl<C: CrossTraffic> Worker<C> {
    pub(super) fn new(
        clock: Clock,
        config: &RelayConfig,
        [socket_a, socket_b]: [Socket; 2],
        (events, watch): (SyncSender<LinkEvent>, Option<Watch>),
        cross: C,
    ) -> Self {
        let mut hop = Hop::new(clock, [config.forward, config.reverse], config.seed, watch);
        hop.keep_events();
        let side = |socket, peer| Side {
            socket,
            batch: ReceiveBatch::new(),
            peer: Peer::new(peer),
            deaf_until: None,
        };
        Self {
            hop,
            sides: [
                side(socket_a, config.sender),
                side(socket_b, Some(config.receiver)),
            ],
            cross,
            events: Outlet::new(Some(events)),
            strangers: 0,
        }
    }

    /// Lets the cross traffic into the links.
    fn send_cross(&mut self) {
        let now = self.hop.clock.now();
        self.cross.handle_timeout(now);
        while let Some((direction, packet, size)) = self.cross.poll_transmit(now) {
            let link = &mut self.hop.paths[direction as usize].link;
            link.handle_packet(now, Packet::Cross(packet), size);
        }
    }

    fn snapshot(&self, now: Instant) -> RelaySnapshot {
        RelaySnapshot {
            forward: self.hop.paths[0].snapshot(now),
            reverse: self.hop.paths[1].snapshot(now),
            sender: self.sides[0].peer.address(),
            strangers: self.strangers,
            send_errors: self.hop.send_errors,
            events_lost: self.events.lost(),
            records_lost: self.hop.records.lost(),
            departures: self.hop.departures.clone(),
        }
    }
}

impl<C: CrossTraffic> HopWorker for Worker<C> {
    type Packet = Packet<C::Packet>;
    type Control = Control<C>;

    fn hop(&mut self) -> &mut Hop<Self::Packet> {
        &mut self.hop
    }

    fn receive(&mut self, index: usize) -> bool {
        let (side, hop) = (&mut self.sides[index], &mut self.hop);
        let direction = Direction::BOTH[index];
        let local = side.socket.local_address();
        for _ in 0..RECEIVE_BATCHES {
            let filled = side.socket.receive(&hop.clock, &mut side.batch);
            for datagram in side.batch.datagrams() {
                if !side.peer.accepts(datagram.arrival, datagram.source) {
                    self.strangers += 1;
                    continue;
                }
                let (payload, ecn) = (datagram.payload, datagram.ecn);
                let size = Bytes::from(payload.len()) + HEADERS;
                let (number, at) = (hop.next_number(), datagram.arrival);
                if hop.records.is_open() {
                    let ends = [datagram.source, local];
                    let event = PacketEvent::Arrived {
                        flow: flow(ends),
                        size,
                        frame: hop.captures.then(|| packet(ends, ecn, payload)),
                    };
                    hop.record(at, direction, number, event);
                }
                let packet = Packet::Datagram {
                    payload: payload.into(),
                    ecn,
                    number,
                };
                hop.paths[index].link.handle_packet(at, packet, size);
            }
            match filled {
                Ok(ReceiveBatch::BUFFERS) => {}
                Ok(_) => {
                    side.deaf_until = None;
                    return false;
                }
                // An ICMP error tells the relay nothing that it does not know, and reading it
                // clears it; one that stays would end every wait at once.
                Err(_) => {
                    side.deaf_until = Some(hop.clock.now() + DEAF_WAIT);
                    return false;
                }
            }
        }
        side.deaf_until = None;
        true
    }

    fn forward(&mut self, direction: Direction) -> bool {
        let side = &self.sides[1 - direction as usize];
        for _ in 0..SEND_BUDGET {
            let (due, payload, ecn, number) = match self.hop.output(direction) {
                None => return false,
                Some((_, Packet::Cross(packet))) => {
                    let now = self.hop.clock.now();
                    self.cross.handle_packet(now, direction, packet);
                    continue;
                }
                Some((
                    due,
                    Packet::Datagram {
                        payload,
                        ecn,
                        number,
                    },
                )) => (due, payload, ecn, number),
            };
            // The receiver may speak before the sender has shown where it is.
            let destination = side.peer.address();
            let is_sent = destination.is_some_and(|destination| {
                let outgoing = Outgoing {
                    destination,
                    ecn,
                    contents: &payload,
                    segment: payload.len(),
                };
                side.socket.send(&outgoing).is_ok()
            });
            let local = side.socket.local_address();
            self.hop.sent(direction, number, due, is_sent, || {
                packet([local, destination.unwrap_or(local)], ecn, &payload)
            });
        }
        true
    }

    fn obey(&mut self, control: Control<C>, now: Instant) {
        match control {
            Control::Change(changes) => emulation::apply(changes, &mut self.hop.paths, now),
            Control::Cross(action) => action(&mut self.cross, now),
            // Who does not wait for the answer needs none.
            Control::Snapshot(answer) => drop(answer.try_send(self.snapshot(now))),
        }
    }

    /// Sends cross traffic and passes the links' events on. Whoever records packets has no cross traffic beside them,
    /// so what was dropped is a datagram.
    fn finish_round(&mut self) {
        self.send_cross();
        let (hop, events) = (&mut self.hop, &mut self.events);
        for direction in Direction::BOTH {
            hop.take_events(direction, |event| {
                events.put(LinkEvent { direction, event });
            });
        }
    }

    fn wait(&self, wakeups: &Wakeups) {
        let sides = self.sides.each_ref();
        let sides = sides.map(|side| (side.socket.as_fd(), side.deaf_until));
        self.hop.wait(sides, self.cross.poll_timeout(), wakeups);
    }
}

/// Whose datagram it is.
fn flow([source, destination]: [SocketAddr; 2]) -> Flow {
    Flow {
        protocol: UDP,
        source: source.ip(),
        destination: destination.ip(),
        source_port: source.port(),
        destination_port: destination.port(),
    }
}

/// A datagram as IP carries it.
fn packet([source, destination]: [SocketAddr; 2], ecn: Ecn, payload: &[u8]) -> Box<[u8]> {
    let packet = datagram::packet(&datagram::Datagram {
        at: Duration::ZERO,
        source,
        destination,
        ecn,
        payload,
        len: payload.len(),
        comment: None,
    });
    packet.into()
}

/// System calls to receive on one side before the other has its turn.
const RECEIVE_BATCHES: usize = 4;
