//! The media packets that the session and its caller exchange.

use std::time::Duration;

use tfrc::time::Instant;

use super::statistics::Ignored;

/// The content of a datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Incoming<'a> {
    /// Media from the peer.
    Media(MediaPacket<'a>),
    /// A repair packet from the peer; call [`poll_recovered`](super::Session::poll_recovered) next.
    Repair,
    /// A repair packet that is of no use, usually a dummy.
    Dummy,
    /// RTCP from the peer, which the session has handled.
    Control,
    /// Any other datagram, which was counted.
    Ignored(Ignored),
}

/// A media packet that passed every check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaPacket<'a> {
    /// The RTP sequence number, extended: it neither wraps nor starts again while the peer stays the same.
    /// Reordering may make it lower than the number before. A number occurs once, except that a recovered packet
    /// may still arrive.
    pub sequence: u64,
    /// The payload type, which is one of the configured ones.
    pub payload_type: u8,
    /// The RTP timestamp, in ticks of the peer's media clock modulo 2^32.
    pub timestamp: u32,
    /// The marker bit: the last packet of a frame, for video.
    pub marker: bool,
    /// The bytes after the RTP headers, without padding.
    pub payload: &'a [u8],
    /// The time of arrival, never before the previous packet's.
    pub arrival: Instant,
    /// The departure on the sender's clock, microseconds modulo 2^32, if the sender states it. The difference to
    /// `arrival` gives the jitter of the path without the sender's pacing.
    pub send_time: Option<u32>,
    /// The sender's round-trip time, if it has one.
    pub rtt: Option<Duration>,
}

/// The properties of a media packet that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaInfo {
    /// The capture instant on the media clock, counted from [`Instant::ZERO`] modulo 2^32
    /// ([`media_time`](crate::packet::rtp::media_time)). The session adds its random offset.
    pub timestamp: u32,
    /// True for the last packet of a frame.
    pub marker: bool,
}
