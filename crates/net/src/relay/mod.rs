//! The emulator: a link each way between two sockets, in real time and without root.
//!
//! ```text
//! sender ──► A ─► forward link ─► B ──► receiver
//! sender ◄── A ◄─ reverse link ◄─ B ◄── receiver
//! ```

mod control;
mod cross;
mod peer;
mod worker;

use crate::clock::Clock;
use crate::command_thread::{CommandThread, Undelivered};
use crate::emulation::{Direction, LinkChange, LinkEvent, LinkSnapshot};
use crate::hop::{self, MAX_CONTROLS};
use crate::lateness::Lateness;
use crate::packet_record::Watch;
use crate::socket::{BindError, Socket};
use control::Control;
pub use cross::CrossTraffic;
use evenkeel_link::LinkConfig;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use tfrc::time::Instant;
use tfrc::units::Bytes;
use worker::Worker;

/// Headers that a datagram has on the wire besides its payload: IPv4 and UDP. They count whichever
/// way the relay itself is reached, so that a path is the same over IPv6.
pub const HEADERS: Bytes = Bytes::new(20 + 8);

/// Where a relay stands and what it emulates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelayConfig {
    /// What socket A, which faces the sender, binds.
    pub bind_a: SocketAddr,
    /// What socket B, which faces the receiver, binds.
    pub bind_b: SocketAddr,
    /// The sender, if it is known. Otherwise the first that speaks to socket A is the sender, until
    /// it has been silent for ten seconds and another speaks.
    pub sender: Option<SocketAddr>,
    /// The receiver. Nobody else is heard on socket B.
    pub receiver: SocketAddr,
    /// The link from the sender to the receiver.
    pub forward: LinkConfig,
    /// The link back.
    pub reverse: LinkConfig,
    /// Fixes the losses and the jitter of both links.
    pub seed: u64,
}

/// Why a relay did not start.
#[derive(Debug, thiserror::Error)]
#[error("relay: {0}")]
pub enum RelayError {
    /// A socket could not be bound.
    Bind(#[source] BindError),
    /// The system gives no thread or no wake-up channel.
    Start(#[source] io::Error),
}

/// The relay's thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the relay's thread has ended")]
pub struct RelayGone;

impl From<Undelivered> for RelayGone {
    fn from(_: Undelivered) -> Self {
        Self
    }
}

/// What a relay was at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RelaySnapshot {
    /// The link to the receiver.
    pub forward: LinkSnapshot,
    /// The link to the sender.
    pub reverse: LinkSnapshot,
    /// The sender, once it has spoken.
    pub sender: Option<SocketAddr>,
    /// Datagrams from others than the two peers, which were ignored.
    pub strangers: u64,
    /// Datagrams that came out of a link and went no further: the system refused them, or the
    /// sender had not yet shown where it is.
    pub send_errors: u64,
    /// Events that were lost because nobody read them.
    pub events_lost: u64,
    /// Records of packets that were lost because they were not read in time.
    pub records_lost: u64,
    /// How long after they came out of the link packets were sent.
    pub departures: Lateness,
}

/// The emulator.
#[derive(Debug)]
pub struct Relay;

/// The way to a running relay, whose cross traffic is `C`. Dropping it stops the relay.
#[derive(Debug)]
pub struct RelayHandle<C = ()> {
    thread: CommandThread<Control<C>>,
    address_a: SocketAddr,
    address_b: SocketAddr,
}

impl Relay {
    /// Starts a relay, and gives the way to it and the events of its links.
    ///
    /// Who does not read the events loses the newest, and hinders nothing.
    pub fn spawn(
        clock: Clock,
        config: RelayConfig,
    ) -> Result<(RelayHandle, Receiver<LinkEvent>), RelayError> {
        Self::spawn_beside((), clock, config)
    }

    /// Starts a relay that tells of each datagram.
    pub fn spawn_watched(
        clock: Clock,
        config: RelayConfig,
        watch: Watch,
    ) -> Result<RelayHandle, RelayError> {
        // Nobody reads its events.
        let (relay, _) = Self::start((), clock, config, Some(watch))?;
        Ok(relay)
    }

    /// Starts a relay whose links carry this traffic too. Events are of both.
    pub fn spawn_beside<C: CrossTraffic>(
        cross: C,
        clock: Clock,
        config: RelayConfig,
    ) -> Result<(RelayHandle<C>, Receiver<LinkEvent>), RelayError> {
        Self::start(cross, clock, config, None)
    }

    fn start<C: CrossTraffic>(
        cross: C,
        clock: Clock,
        config: RelayConfig,
        watch: Option<Watch>,
    ) -> Result<(RelayHandle<C>, Receiver<LinkEvent>), RelayError> {
        let socket_a = Socket::bind(config.bind_a).map_err(RelayError::Bind)?;
        let socket_b = Socket::bind(config.bind_b).map_err(RelayError::Bind)?;
        let (address_a, address_b) = (socket_a.local_address(), socket_b.local_address());
        let (events, event_receiver) = mpsc::sync_channel(MAX_EVENTS);
        let outlets = (events, watch);
        let worker = Worker::new(clock, &config, [socket_a, socket_b], outlets, cross);
        let thread =
            CommandThread::spawn("relay".into(), MAX_CONTROLS, move |controls, wakeups| {
                hop::run(worker, &controls, &wakeups);
            })
            .map_err(RelayError::Start)?;
        let handle = RelayHandle {
            thread,
            address_a,
            address_b,
        };
        Ok((handle, event_receiver))
    }
}

impl<C> RelayHandle<C> {
    /// The address to send to in order to reach the receiver.
    pub fn address_a(&self) -> SocketAddr {
        self.address_a
    }

    /// The address that the receiver sees as its peer.
    pub fn address_b(&self) -> SocketAddr {
        self.address_b
    }

    /// Changes a link, at once.
    pub fn change(&self, direction: Direction, change: LinkChange) -> Result<(), RelayGone> {
        self.change_all(vec![(direction, change)])
    }

    /// The same of several: no packet sees some of them alone.
    pub fn change_all(&self, changes: Vec<(Direction, LinkChange)>) -> Result<(), RelayGone> {
        Ok(self.thread.send(Control::Change(changes))?)
    }

    /// What the relay is at this moment.
    pub fn snapshot(&self) -> Result<RelaySnapshot, RelayGone> {
        Ok(self.thread.ask(Control::Snapshot)?)
    }

    /// Does something with the cross traffic on the relay's thread, which must not block there.
    pub fn call<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut C, Instant) -> R + Send + 'static,
    ) -> Result<R, RelayGone> {
        Ok(self.thread.ask(|answer| {
            Control::Cross(Box::new(move |cross, now| {
                // Who does not wait for the answer needs none.
                drop(answer.try_send(action(cross, now)));
            }))
        })?)
    }

    /// Ends the relay. What is on its way is lost.
    pub fn stop(self) {
        drop(self);
    }
}

/// Two events a packet and two links: a second at 12 Mb/s.
const MAX_EVENTS: usize = 4_096;
