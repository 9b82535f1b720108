//! The peer of a session: one address, one synchronisation source, and the rules for its successor.

mod succession;
pub(in crate::session) mod unexpected_media;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tfrc::time::Instant;

use crate::session::statistics::Ignored;

/// The silence after which a new source at the same address replaces the old one, because the peer was restarted.
/// It exceeds the time between the first packets of a sender without feedback (1 s), and a restarted receiver is
/// accepted well before the sender gives up.
pub(in crate::session) const SSRC_SILENCE: Duration = Duration::from_secs(2);
/// The silence after which another address replaces a peer that was found, because the peer was restarted on
/// another port. It exceeds [`SSRC_SILENCE`], as anyone can send from an address of their own.
pub(in crate::session) const ADDRESS_SILENCE: Duration = Duration::from_secs(5);

/// The silence after which a peer is gone: five times the unreduced RTCP interval (RFC 3550 §6.3.5).
pub(in crate::session) const MEMBER_TIMEOUT: Duration = Duration::from_secs(25);

/// The half of an IPv6 address that names a network (RFC 4291 §2.5.1).
const NETWORK: u128 = !0 << 64;

/// The class of a datagram's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Origin {
    /// The peer.
    Known,
    /// The first source, which becomes the peer if the datagram is valid.
    New,
    /// A source that may replace the peer if the datagram is valid.
    Successor,
    /// A source that is ignored.
    Stranger(Ignored),
}

/// A peer that was found.
#[derive(Clone, Copy, Debug)]
struct Latched {
    address: SocketAddr,
    ssrc: u32,
    heard: Instant,
    left: bool,
    /// A second packet continued the first (RFC 3550 §A.1).
    confirmed: bool,
    /// The bytes received from the peer less those sent, until it is confirmed: a forged packet is never answered
    /// with more bytes than its own.
    allowance: usize,
    /// Another source that reported about us, and has not been followed by the peer's own source since.
    aside: Option<u32>,
    /// Further sources of the same endpoint, by which it reports.
    reporters: [Option<u32>; 2],
    /// The last packet of the peer's source from another address, if none came from the peer's since.
    elsewhere: Option<(SocketAddr, u16)>,
}

/// The peer of a session, if there is one.
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

    /// Returns the address to which to send.
    pub(in crate::session) fn address(&self) -> Option<SocketAddr> {
        self.configured.or(self.latched.map(|l| l.address))
    }

    /// Returns the synchronisation source of the peer.
    pub(in crate::session) fn ssrc(&self) -> Option<u32> {
        self.latched.map(|l| l.ssrc)
    }

    /// Returns when the last packet of the peer arrived.
    pub(in crate::session) fn heard(&self) -> Option<Instant> {
        self.latched.map(|l| l.heard)
    }

    /// Returns true if the peer was found and is not gone.
    pub(in crate::session) fn is_present(&self) -> bool {
        self.latched.is_some_and(|l| !l.left)
    }

    /// Returns true if the address was configured, or is that of the peer: RTCP may then introduce a source.
    pub(in crate::session) fn trusts(&self, source: SocketAddr) -> bool {
        self.address().is_some_and(|peer| same(peer, source))
    }

    /// Returns the host of the peer, without its port, which a restart or an address translator may change. The
    /// lower half of an IPv6 address is ignored too, because any host may choose it (RFC 8981).
    pub(in crate::session) fn host(&self) -> Option<IpAddr> {
        self.address().map(|peer| match peer.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & NETWORK).into(),
            ip => ip,
        })
    }

    /// Returns the class of a datagram from `source` that names `ssrc`.
    pub(in crate::session) fn origin(&self, now: Instant, source: SocketAddr, ssrc: u32) -> Origin {
        if self.configured.is_some_and(|peer| !same(peer, source)) {
            return Origin::Stranger(Ignored::WrongSource);
        }
        let Some(peer) = self.latched else {
            return Origin::New;
        };
        let silence = now.saturating_since(peer.heard);
        if !same(peer.address, source) {
            // A peer that nothing confirmed may be a forgery, so it is replaced as early as an SSRC.
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
            // These are late packets of a source that sent BYE; if it sends for longer, it is back.
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
            aside: None,
            reporters: [None; 2],
            elsewhere: None,
        });
    }

    /// Records media from the peer's address.
    pub(in crate::session) fn handle_media(&mut self) {
        if let Some(peer) = &mut self.latched {
            peer.elsewhere = None;
        }
    }

    /// Records a media packet of the peer's source, newer than all before, from another address. Returns true if the
    /// peer has moved there: an address translator gave it a new port, or it changed networks.
    ///
    /// Two such packets in sequence show that, with none from the peer's address between them: whoever only copies
    /// packets does not silence the peer.
    pub(in crate::session) fn has_moved(&mut self, source: SocketAddr, sequence: u16) -> bool {
        let Some(peer) = &mut self.latched else {
            return false;
        };
        let last = peer.elsewhere.replace((source, sequence));
        last.is_some_and(|(address, last)| {
            same(address, source) && sequence == last.wrapping_add(1)
        })
    }

    /// Follows the peer to another address, which is to be confirmed anew.
    pub(in crate::session) fn follow(&mut self, address: SocketAddr) {
        if let Some(peer) = &mut self.latched {
            (peer.address, peer.elsewhere) = (address, None);
            (peer.confirmed, peer.allowance) = (false, 0);
        }
        self.configured = self.configured.map(|_| address);
    }

    /// Records a valid datagram of `size` bytes from the peer, written by `ssrc`.
    ///
    /// An endpoint may report by other sources than the one that it was found by: pion draws one for each kind of
    /// report, and names 0 in requests for keyframes. Sources that take turns are one endpoint; a source after which
    /// the peer's own is silent is a successor.
    pub(in crate::session) fn handle_heard(&mut self, now: Instant, ssrc: u32, size: usize) {
        let Some(peer) = &mut self.latched else {
            return;
        };
        peer.allowance = peer.allowance.saturating_add(size);
        if peer.ssrc != ssrc && !peer.reporters.contains(&Some(ssrc)) {
            peer.aside = Some(ssrc);
            return;
        }
        peer.heard = now.max(peer.heard);
        if let Some(aside) = peer.aside.take() {
            peer.reporters = [Some(aside), peer.reporters[0]];
        }
    }

    /// Returns the class of RTCP about our own source.
    ///
    /// Its author is known by the address, and by our source, which only a receiver of our packets can name.
    pub(in crate::session) fn reporter(
        &self,
        now: Instant,
        source: SocketAddr,
        author: u32,
    ) -> Origin {
        let origin = self.origin(now, source, author);
        let is_present = self.is_present() && self.trusts(source);
        match (origin, self.latched) {
            (Origin::Stranger(Ignored::WrongSsrc), _) if is_present => Origin::Known,
            // A report by no name follows nobody.
            (Origin::Successor, Some(peer))
                if is_present && (author == 0 || peer.reporters.contains(&Some(author))) =>
            {
                Origin::Known
            }
            _ => origin,
        }
    }

    /// Records that a second media packet continued the first.
    pub(in crate::session) fn confirm(&mut self) {
        if let Some(peer) = &mut self.latched {
            peer.confirmed = true;
        }
    }

    /// Records the BYE of the peer.
    pub(in crate::session) fn handle_bye(&mut self, now: Instant) {
        if let Some(peer) = &mut self.latched {
            peer.left = true;
            peer.heard = now.max(peer.heard);
        }
    }

    /// Returns true if `size` bytes may be sent to the peer.
    pub(in crate::session) fn allows(&self, size: usize) -> bool {
        self.latched
            .is_none_or(|peer| peer.confirmed || peer.allowance >= size)
    }

    /// Records that `size` bytes were sent to the peer.
    pub(in crate::session) fn handle_sent(&mut self, size: usize) {
        if let Some(peer) = &mut self.latched {
            peer.allowance = peer.allowance.saturating_sub(size);
        }
    }
}

/// Compares addresses: a socket for both families maps IPv4 addresses, and may add a flow label.
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
        peer.handle_heard(Instant::ZERO, 1, 100);
        assert!(peer.allows(100));
        peer.handle_sent(60);
        assert!(!peer.allows(60));
        peer.confirm();
        assert!(peer.allows(60));
    }
}
