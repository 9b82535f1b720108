//! The relay's thread.

use super::control::Control;
use super::peer::Peer;
use super::{CrossTraffic, HEADERS, RelayConfig, RelaySnapshot};
use crate::capture::datagram;
use crate::clock::Clock;
use crate::emulation::{self, Direction, LinkEvent, Outlet, Path};
use crate::lateness::Lateness;
use crate::packet_record::{Flow, PacketEvent, PacketRecord, UDP, Watch};
use crate::socket::{Outgoing, ReceiveBatch, Socket};
use crate::wait::{self, DEAF_WAIT, Wakeups};
use evenkeel_link::Event;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// Both sides and both links.
pub(super) struct Worker<C: CrossTraffic> {
    clock: Clock,
    /// A, then B.
    sides: [Side; 2],
    /// Forward, from A to B; then reverse.
    paths: [Path<Packet<C::Packet>>; 2],
    cross: C,
    events: Outlet<LinkEvent>,
    records: Outlet<PacketRecord>,
    captures: bool,
    /// Datagrams so far, over both directions.
    datagrams: u64,
    strangers: u64,
    send_errors: u64,
    departures: Lateness,
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
enum Packet<X> {
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
        let mut paths = Path::pair([config.forward, config.reverse], config.seed);
        paths
            .iter_mut()
            .for_each(|path| path.link.keep_events(Instant::ZERO));
        let side = |socket, peer| Side {
            socket,
            batch: ReceiveBatch::new(),
            peer: Peer::new(peer),
            deaf_until: None,
        };
        Self {
            clock,
            sides: [
                side(socket_a, config.sender),
                side(socket_b, Some(config.receiver)),
            ],
            paths,
            cross,
            events: Outlet::new(Some(events)),
            captures: watch.as_ref().is_some_and(|watch| watch.captures),
            records: Outlet::new(watch.map(|watch| watch.records)),
            datagrams: 0,
            strangers: 0,
            send_errors: 0,
            departures: Lateness::default(),
        }
    }

    /// Runs until the handle is gone.
    pub(super) fn run(mut self, controls: &Receiver<Control<C>>, wakeups: &Wakeups) {
        wait::be_punctual();
        loop {
            wakeups.clear();
            let mut busy = false;
            for side in [0, 1] {
                busy |= self.receive(side);
            }
            let now = self.clock.now();
            for path in &mut self.paths {
                path.follow_schedule(now);
            }
            for direction in Direction::BOTH {
                busy |= self.forward(direction);
            }
            if self.obey(controls, now).is_err() {
                return;
            }
            self.send_cross();
            for direction in Direction::BOTH {
                self.report(direction);
            }
            if !busy {
                self.wait(wakeups);
            }
        }
    }

    /// Takes what has come to a side into its link, up to a budget. True if there may be more.
    fn receive(&mut self, index: usize) -> bool {
        let (side, link) = (&mut self.sides[index], &mut self.paths[index].link);
        let direction = Direction::BOTH[index];
        let local = side.socket.local_address();
        for _ in 0..RECEIVE_BATCHES {
            let filled = side.socket.receive(&self.clock, &mut side.batch);
            for datagram in side.batch.datagrams() {
                if !side.peer.accepts(datagram.arrival, datagram.source) {
                    self.strangers += 1;
                    continue;
                }
                let (payload, ecn) = (datagram.payload, datagram.ecn);
                let size = Bytes::from(payload.len()) + HEADERS;
                let (number, at) = (self.datagrams, datagram.arrival);
                self.datagrams += 1;
                if self.records.is_open() {
                    let ends = [datagram.source, local];
                    let event = PacketEvent::Arrived {
                        flow: flow(ends),
                        size,
                        frame: self.captures.then(|| packet(ends, ecn, payload)),
                    };
                    self.records
                        .put(PacketRecord::new(at, direction, number, event));
                }
                let packet = Packet::Datagram {
                    payload: payload.into(),
                    ecn,
                    number,
                };
                link.handle_packet(at, packet, size);
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
                    side.deaf_until = Some(self.clock.now() + DEAF_WAIT);
                    return false;
                }
            }
        }
        side.deaf_until = None;
        true
    }

    /// Sends what has come out of a link, up to a budget. True if there is more.
    fn forward(&mut self, direction: Direction) -> bool {
        let link = &mut self.paths[direction as usize].link;
        let side = &self.sides[1 - direction as usize];
        for _ in 0..SEND_BUDGET {
            let now = self.clock.now();
            let Some(due) = link.poll_timeout() else {
                return false;
            };
            let Some(packet) = link.poll_output(now) else {
                return false;
            };
            let (payload, ecn, number) = match packet {
                Packet::Datagram {
                    payload,
                    ecn,
                    number,
                } => (payload, ecn, number),
                Packet::Cross(packet) => {
                    self.cross.handle_packet(now, direction, packet);
                    continue;
                }
            };
            // The receiver may speak before the sender has shown where it is.
            let sent_to = side.peer.address().filter(|destination| {
                let outgoing = Outgoing {
                    destination: *destination,
                    ecn,
                    contents: &payload,
                    segment: payload.len(),
                };
                side.socket.send(&outgoing).is_ok()
            });
            let now = self.clock.now();
            match sent_to {
                Some(_) => self.departures.record(now.saturating_since(due)),
                None => self.send_errors += 1,
            }
            if self.records.is_open() {
                let event = sent_to.map_or(PacketEvent::Refused, |destination| {
                    let ends = [side.socket.local_address(), destination];
                    let frame = self.captures.then(|| self::packet(ends, ecn, &payload));
                    PacketEvent::Departed { due, frame }
                });
                self.records
                    .put(PacketRecord::new(now, direction, number, event));
            }
        }
        true
    }

    /// Lets the cross traffic into the links.
    fn send_cross(&mut self) {
        let now = self.clock.now();
        self.cross.handle_timeout(now);
        while let Some((direction, packet, size)) = self.cross.poll_transmit(now) {
            let link = &mut self.paths[direction as usize].link;
            link.handle_packet(now, Packet::Cross(packet), size);
        }
    }

    /// Passes a link's events on. Whoever records packets has no cross traffic beside them, so what was dropped is a datagram.
    fn report(&mut self, direction: Direction) {
        let link = &mut self.paths[direction as usize].link;
        while let Some(event) = link.poll_event() {
            if let Event::Dropped {
                at, reason, packet, ..
            } = event
            {
                let event = PacketEvent::Dropped { reason };
                self.records
                    .put(PacketRecord::new(at, direction, packet, event));
            }
            self.events.put(LinkEvent { direction, event });
        }
    }

    /// `Err` if the handle is gone.
    fn obey(&mut self, controls: &Receiver<Control<C>>, now: Instant) -> Result<(), ()> {
        loop {
            match controls.try_recv() {
                Ok(control) => self.apply(control, now),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
    }

    fn apply(&mut self, control: Control<C>, now: Instant) {
        match control {
            Control::Change(changes) => emulation::apply(changes, &mut self.paths, now),
            Control::Cross(action) => action(&mut self.cross, now),
            // Who does not wait for the answer needs none.
            Control::Snapshot(answer) => drop(answer.try_send(self.snapshot(now))),
        }
    }

    fn snapshot(&self, now: Instant) -> RelaySnapshot {
        RelaySnapshot {
            forward: self.paths[0].snapshot(now),
            reverse: self.paths[1].snapshot(now),
            sender: self.sides[0].peer.address(),
            strangers: self.strangers,
            send_errors: self.send_errors,
            events_lost: self.events.lost(),
            records_lost: self.records.lost(),
            departures: self.departures.clone(),
        }
    }

    fn wait(&self, wakeups: &Wakeups) {
        let deadlines = self.paths.iter().map(Path::deadline);
        let again = self.sides.iter().map(|side| side.deaf_until);
        let cross = self.cross.poll_timeout();
        let deadline = deadlines.chain(again).chain([cross]).flatten().min();
        let [a, b] = self.sides.each_ref().map(|side| {
            // A side that is deaf is waited for by its deadline alone.
            match side.deaf_until {
                None => side.socket.as_fd(),
                Some(_) => wakeups.as_fd(),
            }
        });
        wait::readable(&self.clock, [a, b, wakeups.as_fd()], deadline);
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

/// Packets to send before looking at what has come in.
const SEND_BUDGET: usize = 128;
