//! The peer of a session: one address, one synchronisation source, and the rules for its successor.

mod moves;
mod succession;
#[cfg(test)]
mod tests;
pub(in crate::session) mod unexpected_media;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tfrc::time::Instant;

use crate::session::statistics::Ignored;
use moves::Moves;

/// The silence after which a new source at the same address replaces the old one, because the peer was restarted.
/// It exceeds the time between the first packets of a sender without feedback (1 s), and a restarted receiver is
/// accepted well before the sender gives up.
pub(in crate::session) const SSRC_SILENCE: Duration = Duration::from_secs(2);
/// The silence after which another address replaces a peer that was found, because the peer was restarted on
/// another port. It exceeds [`SSRC_SILENCE`], as anyone can send from an address of their own.
pub(in crate::session) const ADDRESS_SILENCE: Duration = Duration::from_secs(5);

/// The silence after which a peer is gone: five times the unreduced RTCP interval (RFC 3550 §6.3.5).
pub(in crate::session) const MEMBER_TIMEOUT: Duration = Duration::from_secs(25);

/// Media of a rate that video can use, and the reports about it, have no longer gaps. A BYE is believed after as long a
/// silence of its source.
const RUNNING_GAP: Duration = Duration::from_millis(500);
/// Datagrams of the source after its BYE that show a forgery: one may have been overtaken by the BYE.
const WITNESSES: u32 = 2;
/// A source without proof gets at most this multiple of the bytes that arrived from it (RFC 9000 §8.1).
const MAX_AMPLIFICATION: usize = 3;

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
    /// The last datagram of the source itself: others may report in its name.
    heard_itself: Instant,
    left: bool,
    /// The time of a BYE that is not believed yet, and the datagrams of the source since then.
    bye: Option<(Instant, u32)>,
    /// A second packet continued the first (RFC 3550 §A.1).
    confirmed: bool,
    /// RTCP from the address named our source, so that someone there receives what we send.
    hears_us: bool,
    /// RTCP of the peer's own source did.
    proven: bool,
    /// The bytes that the peer may get until it hears us.
    allowance: usize,
    /// The media packets since the first one of the rival.
    packets: u32,
    /// Another source that reported about us, and has not been followed by the peer's own source since.
    aside: Option<u32>,
    /// Further sources of the same endpoint, by which it reports.
    reporters: [Option<u32>; 2],
    /// The source by which the endpoint had reported before its media came from another.
    reporter: Option<u32>,
    moves: Moves,
}

impl Latched {
    /// Returns true if the endpoint reports by this source.
    fn reports_by(&self, author: u32) -> bool {
        self.reporter == Some(author) || self.reporters.contains(&Some(author))
    }
}

/// The peer of a session, if there is one.
#[derive(Debug)]
pub(in crate::session) struct Peer {
    configured: Option<SocketAddr>,
    /// The configured peer continued from an address that nobody configured.
    is_elsewhere: bool,
    latched: Option<Latched>,
    rival: Option<Rival>,
}

/// A source of media beside a peer that nothing proved.
#[derive(Clone, Copy, Debug)]
struct Rival {
    address: SocketAddr,
    ssrc: u32,
    since: Instant,
    sequence: u16,
    packets: u32,
}

impl Peer {
    pub(in crate::session) const fn new(configured: Option<SocketAddr>) -> Self {
        Self {
            configured,
            is_elsewhere: false,
            latched: None,
            rival: None,
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

    /// Returns true if the address was configured, or is the peer's: RTCP may then introduce a source.
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

    /// Returns true if the peer yields to another source at its address, which shows that it hears us: nothing proved the
    /// peer, and its media does not run.
    pub(in crate::session) fn yields_to_proof(
        &self,
        now: Instant,
        source: SocketAddr,
        author: u32,
    ) -> bool {
        self.latched.is_some_and(|peer| {
            let is_running = now.saturating_since(peer.heard_itself) < RUNNING_GAP;
            let is_other = same(peer.address, source) && peer.reporter != Some(author);
            is_other && !peer.proven && !is_running
        })
    }

    /// Returns true if the peer's own figures have this author.
    pub(in crate::session) fn is_author(&self, author: u32) -> bool {
        self.latched
            .is_some_and(|peer| peer.ssrc == author || peer.reporter == Some(author))
    }

    /// Takes `ssrc` as the media of the peer, which reported by another source so far, and may go on so. The source of
    /// the reports proved nothing for this one, which yields as any other.
    pub(in crate::session) fn adopt(&mut self, ssrc: u32) {
        self.rival = None;
        if let Some(peer) = &mut self.latched {
            peer.reporter = Some(peer.ssrc);
            (peer.ssrc, peer.proven, peer.packets) = (ssrc, false, 0);
        }
    }

    /// Records media of a stranger, and returns true if the peer yields to it: nothing proved the peer, and it sent
    /// fewer packets than the stranger since the first one of these, for as long as running media has no gap. A running
    /// stream thus outlives a forger, and a forger who came first keeps nobody out. A peer that is proven yields only to
    /// media from its address, while its own source sends none: the endpoint may have restarted, or report by that source.
    pub(in crate::session) fn yields_to_media(
        &mut self,
        now: Instant,
        source: SocketAddr,
        (ssrc, sequence): (u32, u16),
    ) -> bool {
        if self.configured.is_some_and(|peer| !same(peer, source)) {
            return false;
        }
        let is_open = |peer: &&mut Latched| !peer.proven || same(peer.address, source);
        let Some(peer) = self.latched.as_mut().filter(is_open) else {
            return false;
        };
        let before = self.rival.filter(|rival| {
            let is_next = rival.sequence.wrapping_add(1) == sequence;
            is_next && rival.ssrc == ssrc && same(rival.address, source)
        });
        if before.is_none() {
            peer.packets = 0;
        }
        let rival = Rival {
            address: source,
            ssrc,
            since: before.map_or(now, |rival| rival.since),
            sequence,
            packets: before.map_or(0, |rival| rival.packets).saturating_add(1),
        };
        self.rival = Some(rival);
        let most = if peer.proven { 1 } else { rival.packets };
        now.saturating_since(rival.since) >= RUNNING_GAP && peer.packets < most
    }

    /// Records RTCP from the peer's address that names our source. Another author than the peer's own source may be of the
    /// same endpoint, or the one that a forger keeps out.
    pub(in crate::session) fn prove(&mut self, author: u32) {
        if let Some(peer) = &mut self.latched {
            peer.hears_us = true;
            peer.proven |= peer.ssrc == author;
        }
    }

    /// Makes `ssrc` at `source` the peer.
    pub(in crate::session) fn latch(&mut self, now: Instant, source: SocketAddr, ssrc: u32) {
        self.rival = None;
        // The endpoint may go on to report by the source that proved it.
        let reporter = self.latched.filter(|peer| {
            peer.proven && !peer.left && peer.ssrc != ssrc && same(peer.address, source)
        });
        self.latched = Some(Latched {
            address: source,
            ssrc,
            heard: now,
            heard_itself: now,
            left: false,
            bye: None,
            confirmed: self.configured.is_some(),
            hears_us: false,
            proven: false,
            allowance: 0,
            aside: None,
            reporters: [None; 2],
            reporter: reporter.map(|peer| peer.ssrc),
            moves: Moves::default(),
            packets: 0,
        });
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
        let answer = size.saturating_mul(MAX_AMPLIFICATION);
        peer.allowance = peer.allowance.saturating_add(answer);
        if peer.ssrc != ssrc && !peer.reports_by(ssrc) {
            peer.aside = Some(ssrc);
            return;
        }
        peer.heard = now.max(peer.heard);
        if peer.ssrc == ssrc {
            peer.heard_itself = peer.heard;
        }
        peer.bye = peer
            .bye
            .map(|(at, heard)| (at, heard + u32::from(at < now)))
            .filter(|(_, heard)| *heard < WITNESSES);
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
                if is_present && (author == 0 || peer.reports_by(author)) =>
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

    /// Records the BYE of the peer, which may be forged as long as the peer goes on.
    pub(in crate::session) fn handle_bye(&mut self, now: Instant) {
        if let Some(peer) = &mut self.latched
            && !peer.left
        {
            peer.bye.get_or_insert((now, 0));
        }
    }

    /// Returns when a BYE is believed unless the peer goes on.
    pub(in crate::session) fn bye_expiry(&self) -> Option<Instant> {
        Some(self.latched?.bye?.0 + RUNNING_GAP)
    }

    /// Believes a BYE if it is time, and returns true if so.
    pub(in crate::session) fn check_bye(&mut self, now: Instant) -> bool {
        let is_due = self.bye_expiry().is_some_and(|expiry| expiry <= now);
        if let Some(peer) = self.latched.as_mut().filter(|_| is_due) {
            (peer.left, peer.bye) = (true, None);
        }
        is_due
    }

    /// Returns true if `size` bytes may be sent to the peer. A configured address needs no proof.
    pub(in crate::session) fn allows(&self, size: usize) -> bool {
        (self.configured.is_some() && !self.is_elsewhere)
            || self
                .latched
                .is_none_or(|peer| peer.hears_us || peer.allowance >= size)
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
