//! The conditions of a run, and what was measured in it.

use std::time::Duration;

use tfrc::units::{Bytes, Rate};

/// The size of a full packet.
pub(crate) const PACKET: Bytes = Bytes::new(1_460);

/// Which packets the path loses beside those that its queue has no room for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loss {
    None,
    /// The last of every so many.
    Every(u64),
    /// Each with this probability.
    Bernoulli(f64),
}

/// What the application has to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// More than can be sent.
    Greedy,
    /// The same, from a host whose own interface is the bottleneck: a full queue makes it wait.
    Backlogged,
    /// A frame at this interval, of this share of what X allows in it.
    Frames(Duration, f64),
    /// Nothing.
    Silent,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    pub rate: Rate,
    /// One way; the way back takes as long and has no queue.
    pub delay: Duration,
    /// What the queue holds, as time at `rate`.
    pub queue: Duration,
    pub loss: Loss,
    /// The probability that a report is lost.
    pub feedback_loss: f64,
    /// The probability that a packet is overtaken, by one to ten others.
    pub overtaken: f64,
}

/// What happened during one `Path::run`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub sent: u64,
    pub lost: u64,
    pub sent_bytes: u64,
    /// The time average of X.
    pub mean_x: f64,
    pub max_queue: Duration,
    /// The largest p that the receiver computed.
    pub max_p: f64,
    /// The means over the packets of what a receiver took for the length of a loss interval, 1/p.
    pub interval: f64,
    pub true_interval: f64,
    pub arrived: u64,
}

impl Measured {
    /// Lost packets of those sent.
    pub(crate) fn loss(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}
