//! A `LinkConfig` describes a link at its start.

use super::MAX_HELD_BYTES;
use crate::impairment::{Jitter, Reordering};
use crate::loss::Loss;
use crate::queue::{Discipline, QueueLimit};
use tfrc::time::Duration;
use tfrc::units::Rate;

/// What a link is like when it starts. Rate, delay, queue and loss may change while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// How fast the wire is. Zero holds every packet back; [`Rate::INFINITY`] takes no time.
    /// Resolved to a thousandth of a bit per second.
    pub rate: Rate,
    /// The propagation delay, one way.
    pub delay: Duration,
    /// What is added to the delay, packet by packet.
    pub jitter: Jitter,
    /// Which packets fall behind others.
    pub reordering: Reordering,
    /// How likely a packet is to arrive twice. Clamped to [0, 1]; NaN is 0.
    pub duplication: f64,
    /// How much may wait for the wire.
    pub queue: QueueLimit,
    /// What else decides which packets wait, and in which order they leave.
    pub discipline: Discipline,
    /// What the path loses besides.
    pub loss: Loss,
}

impl Default for LinkConfig {
    /// A perfect link: no limit, no delay, no loss.
    fn default() -> Self {
        Self {
            rate: Rate::INFINITY,
            delay: Duration::ZERO,
            jitter: Jitter::None,
            reordering: Reordering::default(),
            duplication: 0.0,
            queue: QueueLimit::Bytes(MAX_HELD_BYTES),
            discipline: Discipline::DropTail,
            loss: Loss::None,
        }
    }
}
