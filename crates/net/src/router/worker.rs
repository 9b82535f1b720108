//! The router's thread.

use super::frame::Frame;
use super::port::{InterfaceState, Port};
use super::segment::cut;
use super::{Control, Interfaces, RouterConfig, RouterSnapshot};
use crate::clock::Clock;
use crate::emulation::{self, Direction, Outlet, Path};
use crate::lateness::Lateness;
use crate::packet_record::{PacketEvent, PacketRecord, Watch};
use crate::wait::{self, DEAF_WAIT, Wakeups};
use evenkeel_link::{Event, Link};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, TryRecvError};
use tfrc::time::Instant;

/// Both interfaces and both links.
pub(super) struct Worker {
    clock: Clock,
    /// A, then B.
    sides: [Side; 2],
    /// What their interfaces are, for whoever has the handle.
    interfaces: Interfaces,
    /// From A to B, then from B to A.
    paths: [Path<Frame>; 2],
    records: Outlet<PacketRecord>,
    captures: bool,
    /// Frames so far, over both directions.
    frames: u64,
    malformed: u64,
    send_errors: u64,
    departures: Lateness,
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
        let mut paths = Path::pair(config.links, config.seed);
        if watch.is_some() {
            paths
                .iter_mut()
                .for_each(|path| path.link.keep_events(Instant::ZERO));
        }
        Self {
            clock,
            sides: ports.map(|port| Side {
                port,
                deaf_until: None,
            }),
            interfaces,
            paths,
            captures: watch.as_ref().is_some_and(|watch| watch.captures),
            records: Outlet::new(watch.map(|watch| watch.records)),
            frames: 0,
            malformed: 0,
            send_errors: 0,
            departures: Lateness::default(),
        }
    }

    /// Runs until the handle is gone.
    pub(super) fn run(mut self, controls: &Receiver<Control>, wakeups: &Wakeups) {
        wait::be_punctual();
        loop {
            wakeups.clear();
            let mut is_busy = false;
            for side in [0, 1] {
                self.look_again(side);
                is_busy |= self.receive(side);
            }
            let now = self.clock.now();
            for path in &mut self.paths {
                path.follow_schedule(now);
            }
            for direction in Direction::BOTH {
                is_busy |= self.forward(direction);
            }
            if self.obey(controls, now).is_err() {
                return;
            }
            if !is_busy {
                self.wait(wakeups);
            }
        }
    }

    /// Takes what has come to an interface into its link, up to a budget. True if there may be more.
    fn receive(&mut self, index: usize) -> bool {
        let direction = Direction::BOTH[index];
        let (side, link) = (&mut self.sides[index], &mut self.paths[index].link);
        for _ in 0..RECEIVE_BUDGET {
            let received = match side.port.receive(&self.clock) {
                Ok(Some(received)) => received,
                Ok(None) => return false,
                Err(_) => {
                    // Where that is not known either, it is looked for again.
                    let _ = self.look(index);
                    return false;
                }
            };
            let at = received.arrival;
            let (frames, records) = (&mut self.frames, &mut self.records);
            let is_sound = cut(received.bytes, |bytes| {
                let number = *frames;
                *frames += 1;
                let frame = Frame { bytes, number };
                let size = frame.size();
                if records.is_open() {
                    let event = PacketEvent::Arrived {
                        flow: frame.flow(),
                        size,
                        frame: self.captures.then(|| frame.ethernet().into()),
                    };
                    records.put(PacketRecord::new(at, direction, number, event));
                }
                link.handle_packet(at, frame, size);
                tell_drops(link, direction, records);
            });
            if is_sound.is_none() {
                self.malformed += 1;
            }
        }
        true
    }

    /// Sends what has come out of a link, up to a budget. True if there is more.
    fn forward(&mut self, direction: Direction) -> bool {
        let index = 1 - direction as usize;
        for _ in 0..SEND_BUDGET {
            let (link, side) = (&mut self.paths[direction as usize].link, &self.sides[index]);
            let Some(due) = link.poll_timeout() else {
                return false;
            };
            let output = link.poll_output(self.clock.now());
            tell_drops(link, direction, &mut self.records);
            let Some(frame) = output else {
                return false;
            };
            let sent = side.port.send(&frame.bytes);
            // The socket tells whoever comes first, and only once, that its interface has gone down.
            if matches!(&sent, Err(error) if error.kind() == ErrorKind::NetworkDown)
                && side.deaf_until.is_none()
            {
                let _ = self.look(index);
            }
            let now = self.clock.now();
            match sent {
                Ok(()) => self.departures.record(now.saturating_since(due)),
                Err(_) => self.send_errors += 1,
            }
            if self.records.is_open() {
                let event = match sent {
                    Ok(()) => PacketEvent::Departed {
                        due,
                        frame: self.captures.then(|| frame.ethernet().into()),
                    },
                    Err(_) => PacketEvent::Refused,
                };
                self.records
                    .put(PacketRecord::new(now, direction, frame.number, event));
            }
        }
        true
    }

    /// Finds what became of an interface that gave an error, which is then left alone for a while.
    fn look(&mut self, index: usize) -> io::Result<InterfaceState> {
        let side = &mut self.sides[index];
        side.deaf_until = Some(self.clock.now() + DEAF_WAIT);
        let state = side.port.state()?;
        let found = self.interfaces.lock();
        found.unwrap_or_else(PoisonError::into_inner)[index] = state;
        Ok(state)
    }

    /// The same while it is not up, now and then.
    fn look_again(&mut self, index: usize) {
        let deaf_until = self.sides[index].deaf_until;
        let is_time = deaf_until.is_some_and(|until| until <= self.clock.now());
        if is_time && matches!(self.look(index), Ok(InterfaceState::Up)) {
            self.sides[index].deaf_until = None;
        }
    }

    /// `Err` if the handle is gone.
    fn obey(&mut self, controls: &Receiver<Control>, now: Instant) -> Result<(), ()> {
        loop {
            match controls.try_recv() {
                Ok(Control::Change(changes)) => emulation::apply(changes, &mut self.paths, now),
                // Who does not wait for the answer needs none.
                Ok(Control::Snapshot(answer)) => drop(answer.try_send(self.snapshot(now))),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
    }

    fn snapshot(&self, now: Instant) -> RouterSnapshot {
        RouterSnapshot {
            links: self.paths.each_ref().map(|path| path.snapshot(now)),
            overrun: self.sides.iter().map(|side| side.port.overrun()).sum(),
            malformed: self.malformed,
            send_errors: self.send_errors,
            records_lost: self.records.lost(),
            departures: self.departures.clone(),
        }
    }

    fn wait(&self, wakeups: &Wakeups) {
        let deadlines = self.paths.iter().map(Path::deadline);
        let again = self.sides.iter().map(|side| side.deaf_until);
        let deadline = deadlines.chain(again).flatten().min();
        let [a, b] = self.sides.each_ref().map(|side| match side.deaf_until {
            None => side.port.as_fd(),
            // A side that is deaf is waited for by its deadline alone.
            Some(_) => wakeups.as_fd(),
        });
        wait::readable(&self.clock, [a, b, wakeups.as_fd()], deadline);
    }
}

/// Tells what the link dropped since the last time, which may have been in its queue for long.
fn tell_drops(link: &mut Link<Frame>, direction: Direction, records: &mut Outlet<PacketRecord>) {
    while let Some(event) = link.poll_event() {
        if let Event::Dropped {
            at, reason, packet, ..
        } = event
        {
            let event = PacketEvent::Dropped { reason };
            records.put(PacketRecord::new(at, direction, packet, event));
        }
    }
}

/// Frames to take in on one side before the other has its turn: each may be 64 KiB of segments.
const RECEIVE_BUDGET: usize = 32;

/// Packets to send before looking at what has come in.
const SEND_BUDGET: usize = 128;
