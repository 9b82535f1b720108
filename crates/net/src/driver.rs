//! One thread an endpoint: it hands in what happens, sends what is due, and waits.

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::recv_batch::{RecvBatch, gather_until};
use crate::socket::{ReceiveBatch, Socket};
use crate::transmit::{BUDGET, Drained, SendCounters, Sender};
use crate::wait::{self, DEAF_WAIT, Waker, Wakeups};
use crate::wakeup_margin::WakeupMargin;
use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use std::thread::{self, JoinHandle};
use tfrc::time::{Duration, Instant};

/// What a driver has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverStats {
    /// What was sent, and what the system refused.
    pub sent: SendCounters,
    /// Datagrams handed to the endpoint.
    pub received: u64,
    /// Calls to receive that the system answered with an error.
    pub receive_errors: u64,
    /// For each time the pacer let a packet go: how long after its departure time the system was handed it.
    pub departures: Lateness,
    /// How long the system then took over it. On the loopback interface that is the way to the receiver.
    pub send_times: Lateness,
    /// Calls to receive.
    pub receive_calls: u64,
    /// Rounds of the loop, that is, wake-ups.
    pub rounds: u64,
}

/// Why an endpoint's thread did not do as it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// The thread has ended: it was stopped, or the endpoint or a closure panicked.
    Gone,
    /// So many closures wait that the thread must be stuck in one.
    Busy,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gone => "the endpoint's thread has ended",
            Self::Busy => "the endpoint's thread is stuck",
        })
    }
}

impl std::error::Error for DriverError {}

/// Drives endpoints over sockets in real time.
#[derive(Debug)]
pub struct Driver;

/// The way to an endpoint that runs on its own thread. Dropping it stops the thread.
#[derive(Debug)]
pub struct Handle<E> {
    commands: Option<SyncSender<Command<E>>>,
    waker: Waker,
    thread: Option<JoinHandle<E>>,
    local: SocketAddr,
}

enum Command<E> {
    Run(Closure<E>),
    Stats(SyncSender<DriverStats>),
}

type Closure<E> = Box<dyn FnOnce(&mut E, Instant) + Send>;

impl Driver {
    /// Starts a thread that drives `endpoint` over `socket`. All instants that the endpoint sees are
    /// on `clock`.
    ///
    /// Fails if the system gives no thread or no wake-up channel.
    pub fn spawn<E>(clock: Clock, socket: Socket, endpoint: E) -> io::Result<Handle<E>>
    where
        E: Endpoint + Send + 'static,
    {
        Self::start(clock, socket, endpoint, None)
    }

    /// Like [`spawn`](Driver::spawn), for whoever can spare a core: before a departure the thread keeps the
    /// processor for as long as the system's timers have proved to be late, so that it leaves on time.
    pub fn spawn_spinning<E>(clock: Clock, socket: Socket, endpoint: E) -> io::Result<Handle<E>>
    where
        E: Endpoint + Send + 'static,
    {
        Self::start(clock, socket, endpoint, Some(WakeupMargin::unknown()))
    }

    fn start<E>(
        clock: Clock,
        socket: Socket,
        endpoint: E,
        spin: Option<WakeupMargin>,
    ) -> io::Result<Handle<E>>
    where
        E: Endpoint + Send + 'static,
    {
        let (waker, wakeups) = Waker::new()?;
        let (commands, receiver) = mpsc::sync_channel(MAX_COMMANDS);
        let local = socket.local_address();
        let worker = Worker {
            clock,
            socket,
            endpoint,
            commands: receiver,
            wakeups,
            batch: ReceiveBatch::new(),
            sender: Sender::new(clock),
            stats: DriverStats::default(),
            spin,
            roused: Roused::BUSY,
            silence: SILENT,
            departure: None,
        };
        let thread = thread::Builder::new()
            .name(format!("endpoint {}", local.port()))
            .spawn(move || worker.run())?;
        Ok(Handle {
            commands: Some(commands),
            waker,
            thread: Some(thread),
            local,
        })
    }
}

impl<E> Handle<E> {
    /// Runs `closure` on the endpoint's thread, between two steps, and gives its result. What the
    /// endpoint then wants to send leaves at once.
    ///
    /// Never to be called from the endpoint's own thread, which would wait for itself.
    pub fn call<R, F>(&self, closure: F) -> Result<R, DriverError>
    where
        R: Send + 'static,
        F: FnOnce(&mut E, Instant) -> R + Send + 'static,
    {
        let (answer, answers) = mpsc::sync_channel(1);
        self.post(move |endpoint, now| {
            // Who does not wait for the answer needs none.
            let _ = answer.send(closure(endpoint, now));
        })?;
        answers.recv().map_err(|_| DriverError::Gone)
    }

    /// Like [`call`](Handle::call), without waiting. Closures run in the order in which they were
    /// posted.
    pub fn post<F>(&self, closure: F) -> Result<(), DriverError>
    where
        F: FnOnce(&mut E, Instant) + Send + 'static,
    {
        self.command(Command::Run(Box::new(closure)))
    }

    /// What the driver has done so far.
    pub fn stats(&self) -> Result<DriverStats, DriverError> {
        let (answer, answers) = mpsc::sync_channel(1);
        self.command(Command::Stats(answer))?;
        answers.recv().map_err(|_| DriverError::Gone)
    }

    /// The address that the endpoint's socket is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Sends what the endpoint still wants to send at this moment, ends the thread and gives the
    /// endpoint back. [`DriverError::Gone`] if it panicked before.
    pub fn stop(mut self) -> Result<E, DriverError> {
        let thread = self.end().ok_or(DriverError::Gone)?;
        thread.join().map_err(|_| DriverError::Gone)
    }

    fn command(&self, command: Command<E>) -> Result<(), DriverError> {
        let commands = self.commands.as_ref().ok_or(DriverError::Gone)?;
        commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => DriverError::Busy,
            TrySendError::Disconnected(_) => DriverError::Gone,
        })?;
        self.waker.wake();
        Ok(())
    }

    /// Closes the way in, behind every command given before.
    fn end(&mut self) -> Option<JoinHandle<E>> {
        self.commands = None;
        self.waker.wake();
        self.thread.take()
    }
}

impl<E> Drop for Handle<E> {
    fn drop(&mut self) {
        if let Some(thread) = self.end() {
            // A panic of the endpoint has been printed by its thread.
            let _ = thread.join();
        }
    }
}

struct Worker<E> {
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
    fn run(mut self) -> E {
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

    /// Runs what was posted before this round. `Err` if the handle is gone.
    fn run_commands(&mut self) -> Result<usize, ()> {
        for ran in 0..MAX_COMMANDS {
            match self.commands.try_recv() {
                Ok(Command::Run(closure)) => closure(&mut self.endpoint, self.clock.now()),
                Ok(Command::Stats(answer)) => {
                    self.stats.sent = self.sender.counters();
                    self.stats.send_times = self.sender.call_times().clone();
                    // Who does not wait for the answer needs none.
                    let _ = answer.send(self.stats.clone());
                }
                Err(TryRecvError::Empty) => return Ok(ran),
                Err(TryRecvError::Disconnected) => return Err(()),
            }
        }
        // All that the channel can have held when the round began.
        Ok(MAX_COMMANDS)
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
                if self.silence < SILENT && departure > now && departure <= now + SOON =>
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

/// Closures that may wait for an endpoint: seconds of frames, and a thread that is stuck is found.
const MAX_COMMANDS: usize = 256;

/// Buffers to read between two looks at what is due to leave.
const RECEIVE_BUDGET: usize = 4 * ReceiveBatch::BUFFERS;

/// A departure so near is waited for without the socket: a sender of bursts every 150 µs over a path as
/// short would be woken twice for each, and half of its processor time goes into waking up.
const SOON: Duration = Duration::from_micros(300);

/// After so many looks at the socket in vain it is left to say when there is something: on a longer path
/// reports are rarer than departures.
const SILENT: u32 = 4;

/// How often an endpoint whose deadline stays in the past is asked again.
const STUCK_WAIT: Duration = Duration::from_millis(1);
