//! The peer from which a relay's socket accepts datagrams.

use std::net::SocketAddr;
use tfrc::time::{Duration, Instant};

/// The one peer of a socket, given or learnt. Whoever else speaks is a stranger, so the relay
/// cannot be used to reflect traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    address: Option<SocketAddr>,
    is_fixed: bool,
    last_heard: Instant,
}

impl Peer {
    /// A peer with a known address, or the first that will speak.
    pub(super) fn new(address: Option<SocketAddr>) -> Self {
        Self {
            address,
            is_fixed: address.is_some(),
            last_heard: Instant::ZERO,
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// True if a datagram that came from `source` at `now` is the peer's.
    pub(super) fn accepts(&mut self, now: Instant, source: SocketAddr) -> bool {
        let silent = now.saturating_since(self.last_heard) >= SILENCE;
        match self.address {
            Some(peer) if peer == source => {}
            Some(_) if self.is_fixed || !silent => return false,
            _ => self.address = Some(source),
        }
        self.last_heard = self.last_heard.max(now);
        true
    }
}

/// After this a learnt peer may be replaced: twice the RTCP interval of 5 s that a receiver, or a
/// sender whose rate has fallen to nothing, keeps (RFC 3550 §6.2).
const SILENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_first_to_speak_is_the_peer_until_it_is_silent() {
        let mut peer = Peer::new(None);
        assert!(peer.accepts(Instant::from_secs(1), address(1)));
        assert!(!peer.accepts(Instant::from_secs(10), address(2)));
        assert_eq!(peer.address(), Some(address(1)));
        assert!(peer.accepts(Instant::from_secs(11), address(2)));
        assert!(!peer.accepts(Instant::from_secs(12), address(1)));
    }

    #[test]
    fn a_configured_peer_is_never_replaced() {
        let mut peer = Peer::new(Some(address(1)));
        assert!(!peer.accepts(Instant::from_secs(1_000), address(2)));
        assert!(peer.accepts(Instant::from_secs(1_000), address(1)));
    }
}
