//! A server reports tests that begin and end and messages that it refused, in numbers that fill no disk.

use std::collections::VecDeque;
use std::net::SocketAddr;

use evenkeel_rtp::packet::wire::ParseError;
use tfrc::time::{Duration, Instant};

use crate::count::Count;
use crate::terms::{Refusal, Terms};

/// The least time between two warnings of a refused or unreadable message, so that a flood of them fills no disk.
const COMPLAINTS: Duration = Duration::from_secs(1);
/// Events that wait for a reader, besides the ends of tests whose beginning was told.
const MAX_EVENTS: usize = 1_024;

/// Something that happened to a server, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerEvent {
    /// When, on the caller's clock.
    pub at: Instant,
    /// Whose message or test it is.
    pub client: SocketAddr,
    /// What.
    pub kind: ServerEventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEventKind {
    /// A test began.
    Began {
        /// Its name.
        test: u16,
        /// What was agreed.
        terms: Terms,
        /// What the client drew: its name of the test.
        nonce: u64,
    },
    /// A test was refused.
    Refused(Refusal),
    /// A message of the client's could not be read, and changed nothing.
    Malformed(ParseError),
    /// So many more were refused or could not be read, of any client: one in a second is told.
    LeftOut(u64),
    /// A test ended.
    Ended {
        /// Its name.
        test: u16,
        /// What we counted, flow by flow.
        counts: Vec<Count>,
        /// True if the client asked for the end; false if it fell silent or overran its time.
        agreed: bool,
    },
}

/// Events that wait for a reader.
#[derive(Debug, Default)]
pub(super) struct ServerEvents {
    events: VecDeque<ServerEvent>,
    /// The time of the last warning of a refused or unreadable message.
    complained: Option<Instant>,
    /// The number of refused messages without a warning since then.
    left_out: u64,
}

impl ServerEvents {
    /// The oldest.
    pub(super) fn pop(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Warns of a message that was refused or unreadable, unless a warning was given just now.
    pub(super) fn complain(&mut self, at: Instant, client: SocketAddr, kind: ServerEventKind) {
        if self.complained.is_some_and(|last| at < last + COMPLAINTS) {
            self.left_out += 1;
            return;
        }
        self.complained = Some(at);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            self.emit(at, client, ServerEventKind::LeftOut(left_out));
        }
        self.emit(at, client, kind);
    }

    /// True if there was room for it.
    pub(super) fn emit(&mut self, at: Instant, client: SocketAddr, kind: ServerEventKind) -> bool {
        let has_room = self.events.len() < MAX_EVENTS;
        if has_room {
            self.force(at, client, kind);
        }
        has_room
    }

    /// Tells of the end of a test whose beginning was told: there is always room.
    pub(super) fn force(&mut self, at: Instant, client: SocketAddr, kind: ServerEventKind) {
        self.events.push_back(ServerEvent { at, client, kind });
    }
}
