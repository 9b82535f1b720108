//! The thread of an endpoint hands in datagrams, sends what is due, and waits.

use super::{Command, DriverStats, MAX_COMMANDS};
use crate::clock::Clock;
use crate::command_thread;
use crate::recv_batch::{RecvBatch, gather_until};
use crate::socket::{ReceiveBatch, Socket};
use crate::transmit::{BUDGET, Drained, Sender};
use crate::wait::{self, DEAF_WAIT, Wakeups};
use crate::wakeup_margin::WakeupMargin;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason};
use std::os::fd::AsFd;
use std::sync::mpsc::Receiver;
use tfrc::time::{Duration, Instant};

pub(super) struct Worker<E> {
    clock: Clock,
    socket: Socket,
    endpoint: E,
    commands: Receiver<Command<E>>,
    wakeups: Wakeups,
    batch: ReceiveBatch,
    sender: Sender,
    stats: DriverStats,
    /// How long before a departure not to sleep; `None` to sleep all the time.
    spin: Option<WakeupMargin>,
    roused: Roused,
    /// Looks at the socket, one after the other, that found nothing.
    silence: u32,
    /// The departure that the last wait was for.
    departure: Option<Instant>,
}

/// What there is to look at: a system call that would find nothing costs as much as one that does.
#[derive(Clone, Copy)]
struct Roused {
    /// The socket may have a datagram.
    heard: bool,
    /// There are wake-ups to forget.
    woken: bool,
}

impl Roused {
    /// Nobody waited: commands show in their channel, whoever announced them.
    const BUSY: Self = Self {
        heard: true,
        woken: false,
    };
}

impl<E: Endpoint> Worker<E> {
    pub(super) fn new(
        clock: Clock,
        socket: Socket,
        endpoint: E,
        (commands, wakeups): (Receiver<Command<E>>, Wakeups),
        spin: Option<WakeupMargin>,
    ) -> Self {
        Self {
            clock,
            socket,
            endpoint,
            commands,
            wakeups,
            batch: ReceiveBatch::new(),
            sender: Sender::new(clock),
            stats: DriverStats::default(),
            spin,
            roused: Roused::BUSY,
            silence: MAX_EMPTY_POLLS,
            departure: None,
        }
    }

    /// Runs until the handle is gone, and gives the endpoint back.
    pub(super) fn run(mut self) -> E {
        wait::be_punctual();
        loop {
            self.stats.rounds += 1;
            let Roused { heard, woken } = self.roused;
            if woken {
                self.wakeups.clear();
            }
            let commands = self.run_commands();
            let received = if heard {
                self.receive()
            } else {
                Ok(RecvBatch::default())
            };
            let now = self.clock.now();
            let due = self.endpoint.poll_timeout();
            let sent = self.step(now, due);
            let Ok(ran) = commands else {
                // A goodbye in the sending queue still leaves, but no flood of media.
                self.sender.drain(&self.socket, &mut self.endpoint, now);
                return self.endpoint;
            };
            if heard {
                self.silence = match received {
                    Ok(RecvBatch { buffers: 1.., .. }) => 0,
                    _ => self.silence.saturating_add(1),
                };
            }
            let idle =
                ran == 0 && sent == 0 && matches!(received, Ok(RecvBatch { buffers: 0, .. }));
            self.roused = match received {
                Ok(_) if sent >= BUDGET => Roused::BUSY,
                Ok(batch) if batch.buffers == RECEIVE_BUDGET => Roused::BUSY,
                Ok(batch) if batch.is_flood(self.socket.receive_buffer()) => self.let_gather(now),
                Ok(_) => self.wait(now, due.filter(|_| idle)),
                Err(()) => self.wait_deaf(now),
            };
        }
    }

    /// Runs what was posted before this round: all that the channel can have held when the round began. `Err` if
    /// the handle is gone.
    fn run_commands(&mut self) -> Result<usize, ()> {
        let clock = self.clock;
        let (endpoint, sender, stats) = (&mut self.endpoint, &self.sender, &mut self.stats);
        command_thread::obey(&self.commands, MAX_COMMANDS, |command| match command {
            Command::Run(closure) => closure(endpoint, clock.now()),
            Command::Stats(answer) => {
                stats.sent = sender.counters();
                stats.send_times = sender.call_times().clone();
                // Who does not wait for the answer needs none.
                let _ = answer.send(stats.clone());
            }
        })
    }

    /// Hands in what has come, up to a budget, so that sending is not starved. `Err` if the system gave an
    /// error and nothing else.
    fn receive(&mut self) -> Result<RecvBatch, ()> {
        let mut batch = RecvBatch::default();
        while batch.buffers < RECEIVE_BUDGET {
            self.stats.receive_calls += 1;
            match self.socket.receive(&self.clock, &mut self.batch) {
                Ok(filled) => {
                    batch.buffers += filled;
                    self.hand_in(&mut batch);
                    if filled < ReceiveBatch::BUFFERS {
                        break;
                    }
                }
                Err(_) => {
                    self.stats.receive_errors += 1;
                    return if batch.buffers == 0 {
                        Err(())
                    } else {
                        Ok(batch)
                    };
                }
            }
        }
        self.stats.received += batch.datagrams;
        Ok(batch)
    }

    fn hand_in(&mut self, batch: &mut RecvBatch) {
        for received in self.batch.datagrams() {
            batch.datagrams += 1;
            batch.bytes += received.payload.len();
            let datagram = Datagram {
                source: received.source,
                arrival: received.arrival,
                ecn: received.ecn,
                payload: received.payload,
            };
            self.endpoint
                .handle_datagram(self.batch.read_at(), datagram);
        }
    }

    /// Lets the endpoint act on the time and sends what is due. Gives how many datagrams.
    fn step(&mut self, now: Instant, due: Option<(Instant, Reason)>) -> usize {
        let due = due.filter(|(deadline, _)| *deadline <= now);
        if due.is_some() {
            self.endpoint.handle_timeout(now);
        }
        let Drained {
            datagrams,
            first_call,
        } = self.sender.drain(&self.socket, &mut self.endpoint, now);
        // A datagram of this round may have moved the deadline: what was waited for is what was due.
        if let Some(departure) = self.departure.take().or(departure_of(due))
            && departure <= now
            && let Some(called) = first_call
        {
            self.stats
                .departures
                .record(called.saturating_since(departure));
        }
        datagrams
    }

    /// Waits for the endpoint's deadline, a datagram or a command.
    ///
    /// `unmoved` is the deadline of a round in which nothing else happened. An endpoint that still
    /// has it, in the past, would make this loop spin.
    fn wait(&mut self, now: Instant, unmoved: Option<(Instant, Reason)>) -> Roused {
        let next = self.endpoint.poll_timeout();
        self.departure = departure_of(next);
        let deadline = match next {
            Some((deadline, _)) if deadline <= now && next == unmoved => Some(now + STUCK_WAIT),
            Some((deadline, _)) if deadline <= now => return Roused::BUSY,
            _ => next.map(|(deadline, _)| deadline),
        };
        let sources = [self.socket.as_fd(), self.wakeups.as_fd()];
        let [heard, woken] = match (deadline, self.departure, &mut self.spin) {
            (Some(deadline), Some(_), Some(margin)) => {
                wait::readable_then_spin(&self.clock, sources, deadline, margin)
            }
            (_, Some(departure), None)
                if self.silence < MAX_EMPTY_POLLS
                    && departure > now
                    && departure <= now + SPIN_HORIZON =>
            {
                // What comes until then is read in the same round; the kernel has noted when it came.
                let [woken] = wait::readable(&self.clock, [self.wakeups.as_fd()], deadline);
                [true, woken]
            }
            _ => wait::readable(&self.clock, sources, deadline),
        };
        Roused { heard, woken }
    }

    /// Waits without the socket for more of a flood. The kernel notes when it comes.
    fn let_gather(&mut self, now: Instant) -> Roused {
        let next = self.endpoint.poll_timeout();
        self.departure = departure_of(next);
        let margin = self.spin.map_or(Duration::ZERO, WakeupMargin::get);
        let deadline = gather_until(now, next.map(|(at, _)| at), margin);
        let [woken] = wait::readable(&self.clock, [self.wakeups.as_fd()], Some(deadline));
        Roused { heard: true, woken }
    }

    /// Waits without the socket, whose error would end the wait at once.
    fn wait_deaf(&self, now: Instant) -> Roused {
        let most = now + DEAF_WAIT;
        let deadline = match self.endpoint.poll_timeout() {
            Some((deadline, _)) => deadline.clamp(now + STUCK_WAIT, most),
            None => most,
        };
        let [woken] = wait::readable(&self.clock, [self.wakeups.as_fd()], Some(deadline));
        Roused { heard: true, woken }
    }
}

fn departure_of(next: Option<(Instant, Reason)>) -> Option<Instant> {
    next.filter(|(_, reason)| *reason == Reason::Departure)
        .map(|(at, _)| at)
}

/// Buffers to read between two looks at what is due to leave.
const RECEIVE_BUDGET: usize = 4 * ReceiveBatch::BUFFERS;

/// A departure within this time is awaited without the socket: a sender of bursts every 150 µs over a path as
/// short would be woken twice for each, and half of its processor time goes into waking up.
const SPIN_HORIZON: Duration = Duration::from_micros(300);

/// After this many empty polls the worker waits until the socket is readable: on a longer path
/// reports are rarer than departures.
const MAX_EMPTY_POLLS: u32 = 4;

/// How often an endpoint whose deadline stays in the past is asked again.
const STUCK_WAIT: Duration = Duration::from_millis(1);
