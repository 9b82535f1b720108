//! Media that is not taken, of a payload type or from an address: a stream of it is told, once, and a packet that strayed
//! is not.

use std::net::SocketAddr;

use tfrc::time::Instant;

use crate::packet::rtp::RtpHeader;

/// Media that came beside the peer's.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    /// Since when.
    since: Option<Instant>,
    stream: Untaken,
}

impl Strangers {
    /// As [`Untaken::tells`], once the peer was heard after the first of them: who takes the place of one that is gone is no
    /// second one.
    pub(super) fn tells(
        &mut self,
        now: Instant,
        heard: Option<Instant>,
        source: SocketAddr,
        header: &RtpHeader,
    ) -> bool {
        let since = *self.since.get_or_insert(now);
        heard.is_some_and(|heard| heard > since) && self.stream.tells(source, header)
    }
}

/// What came and was not taken.
#[derive(Debug, Default)]
pub(super) enum Untaken {
    /// Nothing.
    #[default]
    None,
    /// A packet that may be one of a stream: its address, and its header.
    Packet(SocketAddr, RtpHeader),
    /// A stream, which was told.
    Told,
}

impl Untaken {
    /// True of the packet that makes a stream of those that came, the first time: it continues the one before
    /// (RFC 3550 §A.1).
    pub(super) fn tells(&mut self, source: SocketAddr, header: &RtpHeader) -> bool {
        let continues = match self {
            Self::Told => return false,
            Self::None => false,
            Self::Packet(address, before) => {
                *address == source
                    && (before.ssrc, before.payload_type) == (header.ssrc, header.payload_type)
                    && before.sequence.wrapping_add(1) == header.sequence
            }
        };
        *self = if continues {
            Self::Told
        } else {
            Self::Packet(source, *header)
        };
        continues
    }
}
