//! Whom a session listens to: one address, one synchronisation source, and who may replace them.

mod succession;
pub(in crate::session) mod unexpected_media;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tfrc::time::Instant;

use crate::session::statistics::Ignored;

/// Silence after which a new source at the same address replaces the old one: the peer was
/// restarted. Longer than a sender without feedback leaves between its first packets (1 s), and
/// short enough that a restarted receiver is heard well before the sender gives up.
pub(in crate::session) const SSRC_SILENCE: Duration = Duration::from_secs(2);
/// Silence after which another address replaces a latched one: the peer was restarted on another
/// port. Longer than the above, as anyone can send from an address of their own.
pub(in crate::session) const ADDRESS_SILENCE: Duration = Duration::from_secs(5);

/// A peer that was silent for five times the unreduced RTCP interval is gone (RFC 3550 §6.3.5).
pub(in crate::session) const MEMBER_TIMEOUT: Duration = Duration::from_secs(25);

/// The half of an IPv6 address that names a network (RFC 4291 §2.5.1).
const NETWORK: u128 = !0 << 64;

/// What a datagram's origin means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Origin {
    /// The peer.
    Known,
    /// The first source: it becomes the peer if the datagram proves valid.
    New,
    /// A source that may replace the peer if the datagram proves valid.
    Successor,
    /// Nobody that we listen to.
    Stranger(Ignored),
}

/// The peer, once there is one.
#[derive(Clone, Copy, Debug)]
struct Latched {
    address: SocketAddr,
    ssrc: u32,
    heard: Instant,
    left: bool,
    /// A second packet continued the first (RFC 3550 §A.1).
    confirmed: bool,
    /// Bytes received from it less those sent to it, until it is confirmed: a forged packet is
    /// never answered with more than itself.
    allowance: usize,
}

/// The peer of a session, if it is known.
#[derive(Debug)]
pub(in crate::session) struct Peer {
    configured: Option<SocketAddr>,
    latched: Option<Latched>,
}

impl Peer {
    pub(in crate::session) const fn new(configured: Option<SocketAddr>) -> Self {
        Self {
            configured,
            latched: None,
        }
    }

    /// Where to send.
    pub(in crate::session) fn address(&self) -> Option<SocketAddr> {
        self.configured.or(self.latched.map(|l| l.address))
    }

    /// Its synchronisation source.
    pub(in crate::session) fn ssrc(&self) -> Option<u32> {
        self.latched.map(|l| l.ssrc)
    }

    /// When it was last heard.
    pub(in crate::session) fn heard(&self) -> Option<Instant> {
        self.latched.map(|l| l.heard)
    }

    /// True if it is there: found, and not gone.
    pub(in crate::session) fn is_present(&self) -> bool {
        self.latched.is_some_and(|l| !l.left)
    }

    /// True if the address was given, or is that of the peer: then RTCP may introduce a source.
    pub(in crate::session) fn trusts(&self, source: SocketAddr) -> bool {
        self.address().is_some_and(|peer| same(peer, source))
    }

    /// The host that it is at, whatever its port: one restarted or behind an address translator may have another; and
    /// whatever the lower half of an IPv6 address, which is any host's to choose (RFC 8981).
    pub(in crate::session) fn host(&self) -> Option<IpAddr> {
        self.address().map(|peer| match peer.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & NETWORK).into(),
            ip => ip,
        })
    }

    /// What to make of a datagram from `source` that names `ssrc`.
    pub(in crate::session) fn origin(&self, now: Instant, source: SocketAddr, ssrc: u32) -> Origin {
        if self.configured.is_some_and(|peer| !same(peer, source)) {
            return Origin::Stranger(Ignored::WrongSource);
        }
        let Some(peer) = self.latched else {
            return Origin::New;
        };
        let silence = now.saturating_since(peer.heard);
        if !same(peer.address, source) {
            // A latch that nothing confirmed may be a forgery, so it yields as early as an SSRC.
            let patience = if peer.confirmed {
                ADDRESS_SILENCE
            } else {
                SSRC_SILENCE
            };
            return if peer.left || silence >= patience {
                Origin::Successor
            } else {
                Origin::Stranger(Ignored::WrongSource)
            };
        }
        match (peer.ssrc == ssrc, peer.left) {
            (true, false) => Origin::Known,
            // Stragglers of a source that said BYE; if it keeps sending, it has come back.
            (true, true) | (false, false) if silence < SSRC_SILENCE => {
                Origin::Stranger(Ignored::WrongSsrc)
            }
            _ => Origin::Successor,
        }
    }

    /// Makes `ssrc` at `source` the peer.
    pub(in crate::session) fn latch(&mut self, now: Instant, source: SocketAddr, ssrc: u32) {
        self.latched = Some(Latched {
            address: source,
            ssrc,
            heard: now,
            left: false,
            confirmed: self.configured.is_some(),
            allowance: 0,
        });
    }

    /// A valid datagram of `size` bytes came from the peer.
    pub(in crate::session) fn handle_heard(&mut self, now: Instant, size: usize) {
        if let Some(peer) = &mut self.latched {
            peer.heard = now.max(peer.heard);
            peer.allowance = peer.allowance.saturating_add(size);
        }
    }

    /// A second media packet continued the first.
    pub(in crate::session) fn confirm(&mut self) {
        if let Some(peer) = &mut self.latched {
            peer.confirmed = true;
        }
    }

    /// The peer said BYE.
    pub(in crate::session) fn handle_bye(&mut self, now: Instant) {
        if let Some(peer) = &mut self.latched {
            peer.left = true;
            peer.heard = now.max(peer.heard);
        }
    }

    /// True if `size` bytes may be sent to the peer.
    pub(in crate::session) fn allows(&self, size: usize) -> bool {
        self.latched
            .is_none_or(|peer| peer.confirmed || peer.allowance >= size)
    }

    /// `size` bytes were sent to the peer.
    pub(in crate::session) fn handle_sent(&mut self, size: usize) {
        if let Some(peer) = &mut self.latched {
            peer.allowance = peer.allowance.saturating_sub(size);
        }
    }
}

/// A socket for both families shows an IPv4 address as a mapped one, and may add a flow label.
fn same(a: SocketAddr, b: SocketAddr) -> bool {
    a.port() == b.port() && a.ip().to_canonical() == b.ip().to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "192.0.2.1:5004";
    const B: &str = "192.0.2.2:5004";

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    fn latched() -> Peer {
        let mut peer = Peer::new(None);
        peer.latch(Instant::ZERO, at(A), 1);
        peer.confirm();
        peer
    }

    #[test]
    fn a_configured_peer_is_the_only_address() {
        let peer = Peer::new(Some(at(A)));
        assert_eq!(peer.origin(Instant::ZERO, at(A), 1), Origin::New);
        let mapped = at("[::ffff:192.0.2.1]:5004");
        assert_eq!(peer.origin(Instant::ZERO, mapped, 1), Origin::New);
        let stranger = Origin::Stranger(Ignored::WrongSource);
        assert_eq!(peer.origin(Instant::from_secs(60), at(B), 1), stranger);
    }

    #[test]
    fn a_new_source_waits_for_the_old_one_to_fall_silent() {
        let peer = latched();
        let early = Instant::ZERO + SSRC_SILENCE - Duration::from_nanos(1);
        assert_eq!(
            peer.origin(early, at(A), 2),
            Origin::Stranger(Ignored::WrongSsrc)
        );
        assert_eq!(
            peer.origin(Instant::ZERO + SSRC_SILENCE, at(A), 2),
            Origin::Successor
        );
        assert_eq!(
            peer.origin(Instant::ZERO + SSRC_SILENCE, at(B), 1),
            Origin::Stranger(Ignored::WrongSource)
        );
        assert_eq!(
            peer.origin(Instant::ZERO + ADDRESS_SILENCE, at(B), 1),
            Origin::Successor
        );
    }

    #[test]
    fn a_bye_opens_the_door_to_others_at_once_and_to_itself_later() {
        let mut peer = latched();
        peer.handle_bye(Instant::ZERO);
        assert_eq!(peer.origin(Instant::ZERO, at(A), 2), Origin::Successor);
        assert_eq!(peer.origin(Instant::ZERO, at(B), 2), Origin::Successor);
        assert_eq!(
            peer.origin(Instant::ZERO, at(A), 1),
            Origin::Stranger(Ignored::WrongSsrc)
        );
        assert_eq!(
            peer.origin(Instant::ZERO + SSRC_SILENCE, at(A), 1),
            Origin::Successor
        );
    }

    #[test]
    fn another_port_is_the_same_host_and_another_address_is_not() {
        let host = |address| {
            let mut peer = latched();
            peer.latch(Instant::ZERO, at(address), 2);
            peer.host()
        };
        assert_eq!(host("192.0.2.1:6000"), latched().host());
        assert_eq!(host("[::ffff:192.0.2.1]:5004"), latched().host());
        assert_ne!(host(B), latched().host());
        assert_eq!(host("[2001:db8::1]:5004"), host("[2001:db8::f:2]:5004"));
        assert_ne!(host("[2001:db8::1]:5004"), host("[2001:db8:0:1::1]:5004"));
    }

    #[test]
    fn an_unconfirmed_peer_gets_no_more_than_it_sent() {
        let mut peer = Peer::new(None);
        peer.latch(Instant::ZERO, at(A), 1);
        peer.handle_heard(Instant::ZERO, 100);
        assert!(peer.allows(100));
        peer.handle_sent(60);
        assert!(!peer.allows(60));
        peer.confirm();
        assert!(peer.allows(60));
    }
}
