//! The contract of a rate controller that is not TFRC.

use core::fmt;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What the receiver reports about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// The packet's number, from zero.
    pub sequence: u64,
    /// Its size above UDP, RTP header included: what the controller's rates count.
    pub size: Bytes,
    /// When it left, on the sender's clock.
    pub sent: Instant,
    /// When it arrived, on the receiver's clock; `None` if a later packet arrived and this one did not.
    pub arrival: Option<Instant>,
}

/// One feedback message, with everything that it says about packets.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackReport<'a> {
    /// When the receiver sent it, on the receiver's clock.
    pub reported: Instant,
    /// By sequence number. A packet that was reported lost and arrives late is reported again.
    pub packets: &'a [PacketReport],
}

/// A sans-I/O rate controller that follows per-packet feedback.
///
/// `backlog` is what the pacer holds: packets that are coded and have not left.
pub trait RateController: fmt::Debug {
    /// Records that a packet left.
    fn on_sent(&mut self, now: Instant, sequence: u64, size: Bytes) {
        let _ = (now, sequence, size);
    }

    /// Takes in a feedback message.
    fn on_feedback(&mut self, now: Instant, feedback: &FeedbackReport<'_>);

    /// The rate that the encoder is asked for.
    fn target_rate(&self, backlog: Bytes) -> Rate;

    /// The rate at which packets leave the pacer.
    fn pacing_rate(&self, backlog: Bytes) -> Rate;

    /// The time between two feedback messages.
    fn feedback_interval(&self) -> Duration;
}
