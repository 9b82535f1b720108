//! The router's thread.

use super::frame::Frame;
use super::port::{InterfaceState, Port};
use super::segment::cut;
use super::{Control, Interfaces, RouterConfig, RouterSnapshot};
use crate::clock::Clock;
use crate::emulation::{self, Direction};
use crate::hop::{Hop, HopWorker, SEND_BUDGET};
use crate::packet_record::{PacketEvent, Watch};
use crate::wait::{DEAF_WAIT, Wakeups};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::PoisonError;
use tfrc::time::Instant;

/// Both interfaces and both links.
pub(super) struct Worker {
    hop: Hop<Frame>,
    /// A, then B.
    sides: [Side; 2],
    /// What their interfaces are, for whoever has the handle.
    interfaces: Interfaces,
    malformed: u64,
}

struct Side {
    port: Port,
    /// When its interface is looked at again, if it gave an error: it may be down.
    deaf_until: Option<Instant>,
}

impl Worker {
    pub(super) fn new(
        clock: Clock,
        ports: [Port; 2],
        interfaces: Interfaces,
        config: &RouterConfig,
        watch: Option<Watch>,
    ) -> Self {
        let is_watched = watch.is_some();
        let mut hop = Hop::new(clock, config.links, config.seed, watch);
        if is_watched {
            hop.keep_events();
        }
        Self {
            hop,
            sides: ports.map(|port| Side {
                port,
                deaf_until: None,
            }),
            interfaces,
            malformed: 0,
        }
    }

    /// Finds what became of an interface that gave an error, which is then left alone for a while.
    fn look(&mut self, index: usize) -> io::Result<InterfaceState> {
        let side = &mut self.sides[index];
        side.deaf_until = Some(self.hop.clock.now() + DEAF_WAIT);
        let state = side.port.state()?;
        let found = self.interfaces.lock();
        found.unwrap_or_else(PoisonError::into_inner)[index] = state;
        Ok(state)
    }

    /// The same while it is not up, now and then.
    fn look_again(&mut self, index: usize) {
        let deaf_until = self.sides[index].deaf_until;
        let is_time = deaf_until.is_some_and(|until| until <= self.hop.clock.now());
        if is_time && matches!(self.look(index), Ok(InterfaceState::Up)) {
            self.sides[index].deaf_until = None;
        }
    }

    fn snapshot(&self, now: Instant) -> RouterSnapshot {
        RouterSnapshot {
            links: self.hop.paths.each_ref().map(|path| path.snapshot(now)),
            overrun: self.sides.iter().map(|side| side.port.overrun()).sum(),
            malformed: self.malformed,
            send_errors: self.hop.send_errors,
            records_lost: self.hop.records.lost(),
            departures: self.hop.departures.clone(),
        }
    }
}

impl HopWorker for Worker {
    type Packet = Frame;
    type Control = Control;

    fn hop(&mut self) -> &mut Hop<Frame> {
        &mut self.hop
    }

    fn receive(&mut self, index: usize) -> bool {
        self.look_again(index);
        let direction = Direction::BOTH[index];
        for _ in 0..RECEIVE_BUDGET {
            let (side, hop) = (&mut self.sides[index], &mut self.hop);
            let received = match side.port.receive(&hop.clock) {
                Ok(Some(received)) => received,
                Ok(None) => return false,
                Err(_) => {
                    // Where that is not known either, it is looked for again.
                    let _ = self.look(index);
                    return false;
                }
            };
            let at = received.arrival;
            let is_sound = cut(received.bytes, |bytes| {
                let number = hop.next_number();
                let frame = Frame { bytes, number };
                let size = frame.size();
                if hop.records.is_open() {
                    let event = PacketEvent::Arrived {
                        flow: frame.flow(),
                        size,
                        frame: hop.captures.then(|| frame.ethernet().into()),
                    };
                    hop.record(at, direction, number, event);
                }
                hop.paths[index].link.handle_packet(at, frame, size);
                hop.take_events(direction, |_| {});
            });
            if is_sound.is_none() {
                self.malformed += 1;
            }
        }
        true
    }

    fn forward(&mut self, direction: Direction) -> bool {
        let index = 1 - direction as usize;
        for _ in 0..SEND_BUDGET {
            let output = self.hop.output(direction);
            // A drop may be of a packet that had been in the queue for long.
            self.hop.take_events(direction, |_| {});
            let Some((due, frame)) = output else {
                return false;
            };
            let side = &self.sides[index];
            let sent = side.port.send(&frame.bytes);
            // The socket tells whoever comes first, and only once, that its interface has gone down.
            if matches!(&sent, Err(error) if error.kind() == ErrorKind::NetworkDown)
                && side.deaf_until.is_none()
            {
                let _ = self.look(index);
            }
            self.hop
                .sent(direction, frame.number, due, sent.is_ok(), || {
                    frame.ethernet().into()
                });
        }
        true
    }

    fn obey(&mut self, control: Control, now: Instant) {
        match control {
            Control::Change(changes) => emulation::apply(changes, &mut self.hop.paths, now),
            // Who does not wait for the answer needs none.
            Control::Snapshot(answer) => drop(answer.try_send(self.snapshot(now))),
        }
    }

    fn wait(&self, wakeups: &Wakeups) {
        let sides = self.sides.each_ref();
        let sides = sides.map(|side| (side.port.as_fd(), side.deaf_until));
        self.hop.wait(sides, None, wakeups);
    }
}

/// Frames to take in on one side before the other has its turn: each may be 64 KiB of segments.
const RECEIVE_BUDGET: usize = 32;
