//! Media as it passes between the session and its caller.

use std::time::Duration;

use tfrc::time::Instant;

use super::statistics::Ignored;

/// What a datagram turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incoming<'a> {
    /// Media from the peer.
    Media(MediaPacket<'a>),
    /// A repair packet from the peer, to be followed by [`poll_recovered`](super::Session::poll_recovered).
    Repair,
    /// One that is of no use: a dummy, as a rule.
    Dummy,
    /// RTCP from the peer: the session has taken note of it.
    Control,
    /// Neither; it was counted.
    Ignored(Ignored),
}

/// A media packet that passed every check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaPacket<'a> {
    /// The RTP sequence number, extended: it neither wraps nor starts again while the peer stays
    /// the same. It may be lower than that of the packet before (reordering), never equal to one seen, but
    /// where a repair packet gave back one that came after all.
    pub sequence: u64,
    /// What the payload is, one of those that we take.
    pub payload_type: u8,
    /// The RTP timestamp, in ticks of the peer's media clock modulo 2^32.
    pub timestamp: u32,
    /// The marker bit: the last packet of a frame, for video.
    pub marker: bool,
    /// What follows the RTP headers, padding removed.
    pub payload: &'a [u8],
    /// When it arrived, never before the packet that was handed in before it.
    pub arrival: Instant,
    /// The sender's clock at departure, microseconds modulo 2^32: against `arrival` it gives jitter
    /// that owes nothing to the sender's pacing.
    pub send_time: u32,
    /// The round-trip time that the sender knew, if it knew one.
    pub rtt: Option<Duration>,
}

/// What the caller says about a media packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaInfo {
    /// The capture instant on the media clock, counted from [`Instant::ZERO`] modulo 2^32
    /// ([`media_time`](crate::packet::rtp::media_time)). The session adds its random offset.
    pub timestamp: u32,
    /// Set on the last packet of a frame.
    pub marker: bool,
}
