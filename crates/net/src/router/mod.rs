//! The router: a `Link` each way between two interfaces, for all that Ethernet carries.
//!
//! ```text
//! host ── interface A ─► forward link ─► interface B ── host
//! host ── interface A ◄─ reverse link ◄─ interface B ── host
//! ```
//!
//! It joins the two as a cable would, so either side is a neighbour of the other: addresses, routes and
//! kernels are the hosts'. A frame's arrival is the time at which the kernel took it in, and the link computes
//! each instant from that: being late at a frame makes no other late.
//!
//! An interface that goes down is served again when it is up; the handle tells which are.

mod frame;
mod port;
mod segment;
mod worker;

use crate::clock::Clock;
use crate::command_thread::{CommandThread, Undelivered};
use crate::emulation::{Direction, LinkChange, LinkSnapshot};
use crate::hop::{self, MAX_CONTROLS};
use crate::lateness::Lateness;
use crate::packet_record::Watch;
use evenkeel_link::LinkConfig;
use port::Port;
pub use port::{InterfaceState, PortError};
use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use worker::Worker;

/// What a router joins and emulates.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// Interface A, then B, of the network namespace of the calling thread.
    pub interfaces: [String; 2],
    /// The link from A to B, then that from B to A.
    pub links: [LinkConfig; 2],
    /// Fixes what both links draw.
    pub seed: u64,
}

/// Why a router did not start.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum RouterError {
    /// An interface cannot be used.
    Port(PortError),
    /// The system gives no thread or no wake-up channel.
    Start(io::Error),
}

/// The router's thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the router's thread has ended")]
pub struct RouterGone;

impl From<Undelivered> for RouterGone {
    fn from(_: Undelivered) -> Self {
        Self
    }
}

/// What a router was at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterSnapshot {
    /// From A to B, then from B to A.
    pub links: [LinkSnapshot; 2],
    /// Frames that came in faster than they were read.
    pub overrun: u64,
    /// Frames that were not what the kernel said of them.
    pub malformed: u64,
    /// Frames that came out of a link and that the system refused.
    pub send_errors: u64,
    /// Records that were lost because nobody read them.
    pub records_lost: u64,
    /// How long after they came out of a link frames were sent.
    pub departures: Lateness,
}

/// What is asked of the router's thread.
enum Control {
    Change(Vec<(Direction, LinkChange)>),
    Snapshot(SyncSender<RouterSnapshot>),
}

/// What both are, as the router's thread has found them last.
type Interfaces = Arc<Mutex<[InterfaceState; 2]>>;

/// The emulator between two interfaces.
#[derive(Debug)]
pub struct Router;

/// The way to a running router. Dropping it stops the router.
#[derive(Debug)]
pub struct RouterHandle {
    thread: CommandThread<Control>,
    interfaces: Interfaces,
}

impl Router {
    /// Starts a router that tells of each packet to whoever watches.
    pub fn spawn(
        clock: Clock,
        config: &RouterConfig,
        watch: Option<Watch>,
    ) -> Result<RouterHandle, RouterError> {
        let [a, b] = &config.interfaces;
        let ports = [
            Port::open(a).map_err(RouterError::Port)?,
            Port::open(b).map_err(RouterError::Port)?,
        ];
        let interfaces = Interfaces::new(Mutex::new([InterfaceState::Up; 2]));
        let worker = Worker::new(clock, ports, Arc::clone(&interfaces), config, watch);
        let thread =
            CommandThread::spawn("router".into(), MAX_CONTROLS, move |controls, wakeups| {
                hop::run(worker, &controls, &wakeups);
            })
            .map_err(RouterError::Start)?;
        Ok(RouterHandle { thread, interfaces })
    }
}

impl RouterHandle {
    /// Changes a link, at once.
    pub fn change(&self, direction: Direction, change: LinkChange) -> Result<(), RouterGone> {
        self.change_all(vec![(direction, change)])
    }

    /// The same of several: no packet sees some of them alone.
    pub fn change_all(&self, changes: Vec<(Direction, LinkChange)>) -> Result<(), RouterGone> {
        Ok(self.thread.send(Control::Change(changes))?)
    }

    /// What the router is at this moment.
    pub fn snapshot(&self) -> Result<RouterSnapshot, RouterGone> {
        Ok(self.thread.ask(Control::Snapshot)?)
    }

    /// What interfaces A and B are: frames are lost at one that is not [`InterfaceState::Up`].
    pub fn interfaces(&self) -> [InterfaceState; 2] {
        *self
            .interfaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
