//! Handles what arrives: checks of ICE, DTLS, and packets for the inner endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, MAX_DATAGRAM};
use is::Protocol;
use is::stun::{StunMessage, StunPacket, TransId};
use tfrc::time::Instant;

use super::media_path::IcePath;
use super::peer_addresses::Admission;
use super::{Candidate, PEER, Secure, is_rtcp};

/// The least time between two times that the checks begin anew, so that nobody keeps them from their end.
pub(super) const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);

impl<E: Endpoint> Secure<E> {
    /// Handles a packet of the peer, or of anyone who claims to be the peer, by its first byte (RFC 7983 §7).
    pub(super) fn handle_packet(
        &mut self,
        now: Instant,
        at_relay: Option<SocketAddr>,
        datagram: Datagram<'_>,
    ) {
        match datagram.payload.first() {
            Some(0..=3) => self.handle_stun(now, at_relay, datagram),
            Some(20..=63) => self.handle_dtls(now, datagram),
            Some(128..=191) if datagram.payload.len() <= MAX_DATAGRAM => {
                self.handle_media(now, at_relay, datagram);
            }
            _ => self.refused.unknown += 1,
        }
    }

    fn handle_stun(&mut self, now: Instant, at_relay: Option<SocketAddr>, datagram: Datagram<'_>) {
        let Some(path) = self.path_of(at_relay, datagram.source) else {
            return;
        };
        let Ok(message) = StunMessage::parse(datagram.payload) else {
            self.refused.unknown += 1;
            return;
        };
        let is_admitted = self.ice.accepts_message(&message)
            && if message.is_binding_request() {
                // A request from a new address gives the peer one more.
                self.admit(now, datagram.source) != Admission::Full
            } else {
                self.is_symmetric(message.trans_id(), path)
            };
        if !is_admitted {
            self.refused.not_authentic += 1;
            return;
        }
        if !message.is_binding_request() {
            self.peer_addresses.prove(now, datagram.source);
            self.path.handle_answer(now, path);
        }
        let packet = StunPacket {
            proto: Protocol::Udp,
            source: datagram.source,
            destination: path.source,
            message,
        };
        let at = self.system_time(now);
        self.ice.handle_packet(at, packet);
        self.handle_connectivity(now);
    }

    /// Returns true if an answer takes the path of its check back (RFC 8445 §7.2.5.2.1). Whoever repeats a check towards another
    /// address would otherwise make packets go where nobody answered.
    fn is_symmetric(&self, id: TransId, path: IcePath) -> bool {
        let check = self.checks.iter().rfind(|(check, _)| *check == id);
        check.is_some_and(|(_, checked)| *checked == path)
    }

    fn handle_dtls(&mut self, now: Instant, datagram: Datagram<'_>) {
        // A handshake costs more than a check: only an address that passed one may begin it.
        if self.ice.has_viable_remote_candidate(datagram.source) {
            self.begin_handshake(now)
                .handle_datagram(now, datagram.payload);
            self.handle_connectivity(now);
        } else {
            self.refused.not_authentic += 1;
        }
    }

    fn handle_media(&mut self, now: Instant, at_relay: Option<SocketAddr>, datagram: Datagram<'_>) {
        let Some((_, unprotector)) = &mut self.srtp else {
            self.refused.not_authentic += 1;
            return;
        };
        self.plain.clear();
        self.plain.extend_from_slice(datagram.payload);
        let opened = if is_rtcp(datagram.payload) {
            unprotector.unprotect_rtcp(&mut self.plain)
        } else {
            unprotector.unprotect_rtp(&mut self.plain)
        };
        let Ok(len) = opened else {
            self.refused.not_authentic += 1;
            return;
        };
        self.follow_peer(now, at_relay, datagram.source);
        let plain = Datagram {
            source: PEER,
            payload: &self.plain[..len],
            ..datagram
        };
        self.inner.handle_datagram(now, plain);
    }

    /// Lets an authentic packet prove where the peer is.
    fn follow_peer(&mut self, now: Instant, at_relay: Option<SocketAddr>, source: SocketAddr) {
        let Some(path) = self.path_of(at_relay, source) else {
            return;
        };
        let was_known = self.path.current() == Some(path);
        let is_checked = !was_known && self.ice.has_viable_remote_candidate(source);
        let mut has_news = self.path.handle_authentic(now, path, is_checked);
        if has_news {
            self.take_path(now, path);
        }
        if was_known {
            return;
        }
        // The next check of the peer may come three seconds later.
        if self.admit(now, source) == Admission::New
            && let Ok(candidate) = Candidate::server_reflexive(source, source, "udp")
        {
            self.ice.add_remote_candidate(candidate);
            has_news = true;
        }
        self.peer_addresses.prove(now, source);
        if has_news {
            self.handle_connectivity(now);
        }
    }

    /// Adds the address that a packet came from. Addresses that are not in use give way.
    fn admit(&mut self, now: Instant, source: SocketAddr) -> Admission {
        let mut admission = self.peer_addresses.admit(source);
        if admission == Admission::Full
            && self.may_renew(now)
            && self.peer_addresses.free_unused(now) > 0
        {
            self.renew_checks(now);
            admission = self.peer_addresses.admit(source);
        }
        if admission == Admission::New && self.path.has_keys() {
            self.new_address = Some(now);
        }
        admission
    }

    /// Returns the path that a packet took: the socket has one address for each family, whichever interface was used.
    pub(super) fn path_of(
        &self,
        at_relay: Option<SocketAddr>,
        peer: SocketAddr,
    ) -> Option<IcePath> {
        Some(IcePath {
            source: at_relay.or_else(|| self.gathering.base(peer))?,
            destination: peer,
        })
    }

    /// Returns true if the checks may begin anew.
    pub(super) fn may_renew(&self, now: Instant) -> bool {
        self.renewed.is_none_or(|at| at + RENEWAL_INTERVAL <= now)
    }
}
