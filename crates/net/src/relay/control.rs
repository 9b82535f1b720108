//! What can be asked of a running relay.

use super::{Direction, RelaySnapshot};
use evenkeel_link::{DeliveryTrace, Loss, QueueLimit, Schedule};
use std::sync::mpsc::SyncSender;
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

/// One request to a relay with the cross traffic `C`.
pub(super) enum Control<C> {
    Rate(Direction, Rate),
    Trace(Direction, DeliveryTrace),
    Delay(Direction, Duration),
    Queue(Direction, QueueLimit),
    Loss(Direction, Loss),
    Schedule(Direction, Schedule),
    Snapshot(SyncSender<RelaySnapshot>),
    Cross(Action<C>),
}

/// What to do with cross traffic `C`, told the time.
pub(super) type Action<C> = Box<dyn FnOnce(&mut C, Instant) + Send>;
