//! Media of an unexpected payload type or address: a stream is reported once, a stray packet is not.

use std::net::SocketAddr;

use tfrc::time::Instant;

use crate::packet::rtp::RtpHeader;

/// Media from another address than the peer's.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    /// The time of the first packet.
    since: Option<Instant>,
    stream: UnexpectedMedia,
}

impl Strangers {
    /// As [`UnexpectedMedia::reports`], once the peer was heard after the first of them: who takes the place of one that is gone is no
    /// second one.
    pub(super) fn reports(
        &mut self,
        now: Instant,
        heard: Option<Instant>,
        source: SocketAddr,
        header: &RtpHeader,
    ) -> bool {
        let since = *self.since.get_or_insert(now);
        heard.is_some_and(|heard| heard > since) && self.stream.reports(source, header)
    }
}

/// Media that the session ignores.
#[derive(Debug, Default)]
pub(super) enum UnexpectedMedia {
    /// Nothing.
    #[default]
    None,
    /// One packet, perhaps of a stream: its address and its header.
    Packet(SocketAddr, RtpHeader),
    /// A stream, which was reported.
    Reported,
}

impl UnexpectedMedia {
    /// True of the packet that makes a stream of those that came, the first time: it continues the one before
    /// (RFC 3550 §A.1).
    pub(super) fn reports(&mut self, source: SocketAddr, header: &RtpHeader) -> bool {
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
