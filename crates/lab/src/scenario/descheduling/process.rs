//! A session whose process the system leaves without a processor now and then, in virtual time. What comes meanwhile
//! waits in its socket, and is read with the time at which it came.

use evenkeel_sim::{Agent, Body, Packet, SessionEnd};
use tfrc::time::{Duration, Instant};

/// One end.
#[derive(Debug)]
pub(super) struct Process {
    end: SessionEnd,
    /// From and to when it does not run, in order.
    aways: Vec<[Instant; 2]>,
    socket: Vec<(Instant, Packet<Body>)>,
}

impl Process {
    /// One that is left alone from each of these instants on, for so long.
    pub(super) fn new(end: SessionEnd, aways: &[Instant], away: Duration) -> Self {
        Self {
            end,
            aways: aways.iter().map(|at| [*at, *at + away]).collect(),
            socket: Vec::new(),
        }
    }

    pub(super) fn end(&self) -> &SessionEnd {
        &self.end
    }

    /// When it runs, from then on.
    fn runs(&self, at: Instant) -> Instant {
        let away = self.aways.partition_point(|[_, to]| *to <= at);
        match self.aways.get(away) {
            Some([from, to]) if *from <= at => *to,
            _ => at,
        }
    }

    fn read(&mut self) {
        for (at, packet) in self.socket.drain(..) {
            self.end.handle_packet(at, &packet);
        }
    }
}

impl Agent for Process {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        self.socket.push((now, packet.clone()));
        if self.runs(now) == now {
            self.read();
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.runs(now) == now {
            self.read();
            self.end.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if self.runs(now) > now {
            return None;
        }
        self.end.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let waiting = self.socket.first().map(|(at, _)| *at);
        let next = [self.end.poll_timeout(), waiting].into_iter().flatten();
        next.min().map(|at| self.runs(at))
    }
}
