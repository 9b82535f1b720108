//! One thread an endpoint: it hands in what happens, sends what is due, and waits.

mod worker;

use crate::clock::Clock;
use crate::command_thread::{CommandThread, Undelivered};
use crate::lateness::Lateness;
use crate::socket::Socket;
use crate::transmit::SendCounters;
use crate::wakeup_margin::WakeupMargin;
use evenkeel_rtp::endpoint::Endpoint;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, SyncSender};
use tfrc::time::Instant;
use worker::Worker;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The thread has ended: it was stopped, or the endpoint or a closure panicked.
    #[error("the endpoint's thread has ended")]
    Gone,
    /// So many closures wait that the thread must be stuck in one.
    #[error("the endpoint's thread is stuck")]
    Busy,
}

impl From<Undelivered> for DriverError {
    fn from(undelivered: Undelivered) -> Self {
        match undelivered {
            Undelivered::Gone => Self::Gone,
            Undelivered::Full => Self::Busy,
        }
    }
}

/// Drives endpoints over sockets in real time.
#[derive(Debug)]
pub struct Driver;

/// The way to an endpoint that runs on its own thread. Dropping it stops the thread.
#[derive(Debug)]
pub struct Handle<E> {
    thread: CommandThread<Command<E>, E>,
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
        let local = socket.local_address();
        let name = format!("endpoint {}", local.port());
        let thread = CommandThread::spawn(name, MAX_COMMANDS, move |commands, wakeups| {
            Worker::new(clock, socket, endpoint, (commands, wakeups), spin).run()
        })?;
        Ok(Handle { thread, local })
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
        Ok(self.thread.try_send(Command::Run(Box::new(closure)))?)
    }

    /// What the driver has done so far.
    pub fn stats(&self) -> Result<DriverStats, DriverError> {
        let (answer, answers) = mpsc::sync_channel(1);
        self.thread.try_send(Command::Stats(answer))?;
        answers.recv().map_err(|_| DriverError::Gone)
    }

    /// The address that the endpoint's socket is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Sends what the endpoint still wants to send at this moment, ends the thread and gives the
    /// endpoint back. [`DriverError::Gone`] if it panicked before.
    pub fn stop(mut self) -> Result<E, DriverError> {
        let thread = self.thread.end().ok_or(DriverError::Gone)?;
        thread.join().map_err(|_| DriverError::Gone)
    }
}

/// Closures that may wait for an endpoint: seconds of frames, and a thread that is stuck is found.
const MAX_COMMANDS: usize = 256;
