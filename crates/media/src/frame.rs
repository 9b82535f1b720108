//! Frames of a call: a coded picture with its times, as sent and as received.

use evenkeel_codec::picture::CodedPicture;
use tfrc::time::Instant;

/// A coded frame on its way to the network.
#[derive(Clone, Debug)]
pub struct EncodedFrame {
    /// The time of capture, on the sender's clock.
    pub captured: Instant,
    /// The same instant on the media clock of 90 kHz, as RTP carries it.
    pub timestamp: u32,
    /// The coded picture, of which nothing is missing.
    pub picture: CodedPicture,
}

/// A frame as the network delivered it, due for display.
#[derive(Clone, Debug)]
pub struct ReceivedFrame {
    /// The RTP timestamp of the frame's packets.
    pub timestamp: u32,
    /// The time at which its display could begin: its display time, or later if it was complete or given up only then.
    pub due: Instant,
    /// The picture as it arrived.
    pub picture: CodedPicture,
}
