//! The requests to a running relay.

use super::RelaySnapshot;
use crate::emulation::{Direction, LinkChange};
use std::sync::mpsc::SyncSender;
use tfrc::time::Instant;

/// One request to a relay with the cross traffic `C`.
pub(super) enum Control<C> {
    Change(Vec<(Direction, LinkChange)>),
    Snapshot(SyncSender<RelaySnapshot>),
    Cross(Action<C>),
}

/// What to do with cross traffic `C`, told the time.
pub(super) type Action<C> = Box<dyn FnOnce(&mut C, Instant) + Send>;
