//! Media of an unexpected payload type or from an unexpected address: a stream of it is reported once, a stray packet never.

use std::net::SocketAddr;

use tfrc::time::Instant;

use crate::packet::rtp::RtpHeader;

/// Media of a second source beside the peer.
#[derive(Debug, Default)]
pub(in crate::session) struct SecondSource {
    /// The time of the first packet.
    since: Option<Instant>,
    stream: UnexpectedMedia,
}

impl SecondSource {
    /// Works as [`UnexpectedMedia::is_stream`], but only if the peer sent a packet after the first one. A source
    /// that replaces a peer which is gone is no second source.
    pub(in crate::session) fn is_stream(
        &mut self,
        now: Instant,
        heard: Option<Instant>,
        source: SocketAddr,
        header: &RtpHeader,
    ) -> bool {
        let since = *self.since.get_or_insert(now);
        heard.is_some_and(|heard| heard > since) && self.stream.is_stream(source, header)
    }
}

/// The unexpected media so far.
#[derive(Debug, Default)]
pub(in crate::session) enum UnexpectedMedia {
    /// No unexpected media arrived.
    #[default]
    None,
    /// A packet that may belong to a stream: its address, and its header.
    Packet(SocketAddr, RtpHeader),
    /// A stream arrived and was reported.
    Reported,
}

impl UnexpectedMedia {
    /// Returns true once, for a packet that continues the one before (RFC 3550 §A.1).
    pub(in crate::session) fn is_stream(&mut self, source: SocketAddr, header: &RtpHeader) -> bool {
        let continues = match self {
            Self::Reported => return false,
            Self::None => false,
            Self::Packet(address, before) => {
                *address == source
                    && (before.ssrc, before.payload_type) == (header.ssrc, header.payload_type)
                    && before.sequence.wrapping_add(1) == header.sequence
            }
        };
        *self = if continues {
            Self::Reported
        } else {
            Self::Packet(source, *header)
        };
        continues
    }
}
