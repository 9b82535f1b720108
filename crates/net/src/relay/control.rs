//! What can be asked of a running relay.

use super::{Direction, RelaySnapshot};
use evenkeel_link::{DeliveryTrace, Loss, QueueLimit, Schedule};
use std::sync::mpsc::SyncSender;
use tfrc::time::Duration;
use tfrc::units::Rate;

/// One request.
#[derive(Debug)]
pub(super) enum Control {
    Rate(Direction, Rate),
    Trace(Direction, DeliveryTrace),
    Delay(Direction, Duration),
    Queue(Direction, QueueLimit),
    Loss(Direction, Loss),
    Schedule(Direction, Schedule),
    Snapshot(SyncSender<RelaySnapshot>),
}
