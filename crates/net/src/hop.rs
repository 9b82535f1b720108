//! A `Hop` has the links, the records and the loop of the thread that a relay and a router share.

use crate::clock::Clock;
use crate::command_thread;
use crate::emulation::{Direction, Outlet, Path};
use crate::lateness::Lateness;
use crate::packet_record::{PacketEvent, PacketRecord, Watch};
use crate::wait::{self, Wakeups};
use evenkeel_link::{Event, LinkConfig, Packet};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::Receiver;
use tfrc::time::Instant;

/// Both links, with counts and records of their packets.
pub(crate) struct Hop<P> {
    pub(crate) clock: Clock,
    /// Forward, from side A to side B; then reverse.
    pub(crate) paths: [Path<P>; 2],
    pub(crate) records: Outlet<PacketRecord>,
    /// Records have the packets' bytes.
    pub(crate) captures: bool,
    /// Packets so far, over both directions.
    packets: u64,
    pub(crate) send_errors: u64,
    pub(crate) departures: Lateness,
}

impl<P: Packet> Hop<P> {
    pub(crate) fn new(
        clock: Clock,
        links: [LinkConfig; 2],
        seed: u64,
        watch: Option<Watch>,
    ) -> Self {
        Self {
            clock,
            paths: Path::pair(links, seed),
            captures: watch.as_ref().is_some_and(|watch| watch.captures),
            records: Outlet::new(watch.map(|watch| watch.records)),
            packets: 0,
            send_errors: 0,
            departures: Lateness::default(),
        }
    }

    /// Has the links report their events.
    pub(crate) fn keep_events(&mut self) {
        for path in &mut self.paths {
            path.link.keep_events(Instant::ZERO);
        }
    }

    /// The number of a packet that arrives, counted from zero.
    pub(crate) fn next_number(&mut self) -> u64 {
        let number = self.packets;
        self.packets += 1;
        number
    }

    pub(crate) fn record(
        &mut self,
        at: Instant,
        direction: Direction,
        number: u64,
        event: PacketEvent,
    ) {
        self.records
            .put(PacketRecord::new(at, direction, number, event));
    }

    /// Takes the next packet out of a link, and the instant at which it was due.
    pub(crate) fn output(&mut self, direction: Direction) -> Option<(Instant, P)> {
        let link = &mut self.paths[direction as usize].link;
        let due = link.poll_timeout()?;
        Some((due, link.poll_output(self.clock.now())?))
    }

    /// Counts and records a packet that was sent, or that the system refused.
    pub(crate) fn sent(
        &mut self,
        direction: Direction,
        number: u64,
        due: Instant,
        sent: bool,
        frame: impl FnOnce() -> Box<[u8]>,
    ) {
        let now = self.clock.now();
        if sent {
            self.departures.record(now.saturating_since(due));
        } else {
            self.send_errors += 1;
        }
        if self.records.is_open() {
            let event = if sent {
                let frame = self.captures.then(frame);
                PacketEvent::Departed { due, frame }
            } else {
                PacketEvent::Refused
            };
            self.record(now, direction, number, event);
        }
    }

    /// Records what a link dropped since the last call, and passes each event on.
    pub(crate) fn take_events(&mut self, direction: Direction, mut pass_on: impl FnMut(Event)) {
        while let Some(event) = self.paths[direction as usize].link.poll_event() {
            if let Event::Dropped {
                at, reason, packet, ..
            } = event
            {
                self.record(at, direction, packet, PacketEvent::Dropped { reason });
            }
            pass_on(event);
        }
    }

    /// Waits for a side, a wake-up, a link or `other`. A side that gave an error is left alone until its instant.
    pub(crate) fn wait(
        &self,
        sides: [(BorrowedFd<'_>, Option<Instant>); 2],
        other: Option<Instant>,
        wakeups: &Wakeups,
    ) {
        let deadlines = self.paths.iter().map(Path::deadline);
        let retries = sides.iter().map(|(_, deaf_until)| *deaf_until);
        let deadline = deadlines.chain(retries).chain([other]).flatten().min();
        let [a, b] = sides.map(|(source, deaf_until)| match deaf_until {
            None => source,
            // A side that is deaf is waited for by its deadline alone.
            Some(_) => wakeups.as_fd(),
        });
        wait::readable(&self.clock, [a, b, wakeups.as_fd()], deadline);
    }
}

/// A relay or a router, as the loop calls it.
pub(crate) trait HopWorker {
    /// A packet in its links.
    type Packet: Packet;
    /// A request to it.
    type Control;

    fn hop(&mut self) -> &mut Hop<Self::Packet>;

    /// Takes what has come to a side into its link, up to a budget. True if there may be more.
    fn receive(&mut self, side: usize) -> bool;

    /// Sends what has come out of a link, up to a budget. True if there is more.
    fn forward(&mut self, direction: Direction) -> bool;

    fn obey(&mut self, control: Self::Control, now: Instant);

    /// Ends a round, before the wait.
    fn finish_round(&mut self) {}

    /// Waits until there is something to do.
    fn wait(&self, wakeups: &Wakeups);
}

/// Runs until the handle is gone.
pub(crate) fn run<W: HopWorker>(mut worker: W, controls: &Receiver<W::Control>, wakeups: &Wakeups) {
    wait::be_punctual();
    loop {
        wakeups.clear();
        let mut is_busy = false;
        for side in [0, 1] {
            is_busy |= worker.receive(side);
        }
        let hop = worker.hop();
        let now = hop.clock.now();
        for path in &mut hop.paths {
            path.follow_schedule(now);
        }
        for direction in Direction::BOTH {
            is_busy |= worker.forward(direction);
        }
        let obeyed = command_thread::obey(controls, usize::MAX, |control| {
            worker.obey(control, now);
        });
        if obeyed.is_err() {
            return;
        }
        worker.finish_round();
        if !is_busy {
            worker.wait(wakeups);
        }
    }
}

/// Requests that may wait before the thread looks: as many as someone at a slider makes.
pub(crate) const MAX_CONTROLS: usize = 64;

/// Packets to send before looking at what has come in.
pub(crate) const SEND_BUDGET: usize = 128;
