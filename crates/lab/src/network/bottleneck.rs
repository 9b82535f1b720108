//! The link that all flows share, and the links to it.

use evenkeel_link::{DeliveryTrace, Jitter, LinkConfig, Loss};
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate, duration_from_secs};

use super::impairments::Impairments;
use super::queue::Queue;
use crate::units::BitRate;

/// The shared link.
#[derive(Clone, Debug)]
pub(crate) struct Bottleneck {
    /// On average, if a trace sets the pace.
    pub(crate) rate: Rate,
    pub(crate) trace: Option<DeliveryTrace>,
    /// Each way.
    pub(crate) queue: Queue,
    /// What it does besides, along the data.
    pub(crate) impairments: Impairments,
    /// What is lost of what comes back.
    pub(crate) report_loss: Loss,
    /// Each sender's packets are late by a random time up to so many packet times of the bottleneck.
    /// Without it, who is dropped at a full queue is a matter of phase, not of rates (Floyd and
    /// Jacobson, 1992).
    pub(crate) jitter: f64,
}

/// Access links are this many times as fast as the bottleneck: they drop and delay nothing.
const ACCESS_SPEED: f64 = 10.0;

impl Bottleneck {
    /// One that only its queue makes drop.
    pub(crate) fn new(rate: BitRate, queue: Queue) -> Self {
        Self {
            rate: rate.0,
            trace: None,
            queue,
            impairments: Impairments::default(),
            report_loss: Loss::None,
            jitter: 0.0,
        }
    }

    /// The link itself, along the data and back: the same queue, each way its own losses.
    pub(super) fn links(&self, delay: Duration) -> [LinkConfig; 2] {
        let mut either = link(self.rate, delay);
        self.queue.apply(&mut either);
        let mut forward = either;
        self.impairments.apply(&mut forward);
        let back = LinkConfig {
            loss: self.report_loss,
            ..either
        };
        [forward, back]
    }

    pub(super) fn access_rate(&self) -> Rate {
        // A trace delivers in bursts, which no link beside it must spread.
        match self.trace {
            Some(_) => Rate::INFINITY,
            None => self.rate * ACCESS_SPEED,
        }
    }

    pub(super) fn sending_jitter(&self, packet: Bytes) -> Jitter {
        let most = (packet / self.rate).as_secs_f64() * self.jitter;
        if most > 0.0 {
            Jitter::Uniform(duration_from_secs(most))
        } else {
            Jitter::None
        }
    }
}

/// A link whose queue holds whatever comes.
pub(crate) fn link(rate: Rate, delay: Duration) -> LinkConfig {
    LinkConfig {
        rate,
        delay,
        ..LinkConfig::default()
    }
}
