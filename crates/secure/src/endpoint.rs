//! Puts ICE, DTLS and SRTP below any endpoint, which sees plain RTP and RTCP from one address that never changes.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant as StdInstant;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, MAX_DATAGRAM, Reason, Transmit};
use is::stun::{StunMessage, StunPacket};
pub use is::{Candidate, IceCreds};
use is::{IceAgent, IceAgentEvent, IceConnectionState, Protocol};
use tfrc::Ecn;
use tfrc::time::Instant;

use crate::dtls::{DtlsAssociation, DtlsError, DtlsEvent, Role};
use crate::identity::{Fingerprint, Identity};
use crate::srtp::{MAX_OVERHEAD, Protector, Unprotector};
use crate::words::ShortAuthenticationString;

/// The address at which the inner endpoint sees its peer, whichever way packets take (a block for documentation, RFC 5737).
pub const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The most datagrams of ICE and DTLS that wait to be sent: a flight of DTLS, and a check for each pair of addresses.
const MAX_WAITING: usize = 256;

/// What an end must know of itself and of its peer before they talk.
#[derive(Clone)]
pub struct SecureConfig {
    /// The addresses of this end's socket that a peer may reach.
    pub candidates: Vec<Candidate>,
    /// The user fragment and password of this end (RFC 8445 §5.3).
    pub credentials: IceCreds,
    /// The user fragment and password of the peer.
    pub peer_credentials: IceCreds,
    /// The addresses at which the peer may be reached, as far as they are known.
    pub peer_candidates: Vec<Candidate>,
    /// The fingerprint of the peer's certificate.
    pub peer_fingerprint: Fingerprint,
    /// The certificate of this end.
    pub identity: Identity,
    /// Encrypts RTP header extensions, too (RFC 9335). The peer must know it.
    pub encrypts_extensions: bool,
    /// The part of this end in the handshake. The client also chooses among addresses (controls, in terms of ICE).
    pub role: Role,
}

/// What became of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecureEvent {
    /// Packets go to this address from now on.
    PeerAddress(SocketAddr),
    /// The peer is who it should be, and packets are encrypted. The peer shows the same words.
    Secured(ShortAuthenticationString),
    /// No check of ICE was answered of late: the peer is gone, or its address changed.
    Disconnected,
    /// The peer ended the connection.
    Closed,
    /// The connection is not secured, and never will be.
    Failed(DtlsError),
}

/// Packets that were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Packets that were not authentic, or arrived before there were keys.
    pub not_authentic: u64,
    /// Packets that belong to none of the protocols (RFC 7983).
    pub unknown: u64,
}

/// An endpoint whose packets are encrypted, and that finds its peer by ICE.
///
/// Nothing that is not authenticated reaches the inner endpoint. Nothing of the inner endpoint leaves before there are keys.
pub struct Secure<E> {
    inner: E,
    ice: IceAgent,
    identity: Identity,
    encrypts_extensions: bool,
    peer_fingerprint: Fingerprint,
    role: Role,
    /// The handshake, which begins once an address pair carries packets: an end may wait for its peer for hours.
    dtls: Option<DtlsAssociation>,
    srtp: Option<(Protector, Unprotector)>,
    local: Vec<SocketAddr>,
    /// The system's time at [`Instant::ZERO`].
    zero: StdInstant,
    peer: Option<SocketAddr>,
    waiting: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<SecureEvent>,
    refused: Refused,
    timeout: Option<Instant>,
    plain: Vec<u8>,
}

impl<E: Endpoint> Secure<E> {
    /// Begins to look for the peer. `zero` is any time of the system, which stands for [`Instant::ZERO`] of the caller's time.
    pub fn new(now: Instant, zero: StdInstant, config: SecureConfig, inner: E) -> Self {
        let mut ice = IceAgent::new(config.credentials);
        ice.set_controlling(config.role == Role::Client);
        ice.set_remote_credentials(config.peer_credentials);
        let local = config.candidates.iter().map(Candidate::addr).collect();
        for candidate in config.candidates {
            ice.add_local_candidate(candidate);
        }
        for candidate in config.peer_candidates {
            ice.add_remote_candidate(candidate);
        }
        let mut secure = Self {
            inner,
            ice,
            identity: config.identity,
            encrypts_extensions: config.encrypts_extensions,
            peer_fingerprint: config.peer_fingerprint,
            role: config.role,
            dtls: None,
            srtp: None,
            local,
            zero,
            peer: None,
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
            timeout: None,
            plain: Vec::new(),
        };
        secure.handle_connectivity(now);
        secure
    }

    /// Returns the inner endpoint.
    pub fn inner(&self) -> &E {
        &self.inner
    }

    /// Returns the inner endpoint.
    pub fn inner_mut(&mut self) -> &mut E {
        &mut self.inner
    }

    /// Adds an address of the peer that became known later (RFC 8838).
    pub fn add_peer_candidate(&mut self, now: Instant, candidate: Candidate) {
        self.ice.add_remote_candidate(candidate);
        self.handle_connectivity(now);
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SecureEvent> {
        self.events.pop_front()
    }

    /// Returns how many packets were refused.
    pub fn refused(&self) -> Refused {
        self.refused
    }

    fn handle_stun(&mut self, now: Instant, datagram: Datagram<'_>) {
        let same_family = |local: &&SocketAddr| local.is_ipv4() == datagram.source.is_ipv4();
        let Some(&destination) = self.local.iter().find(same_family) else {
            return;
        };
        let Ok(message) = StunMessage::parse(datagram.payload) else {
            self.refused.unknown += 1;
            return;
        };
        if !self.ice.accepts_message(&message) {
            self.refused.not_authentic += 1;
            return;
        }
        let packet = StunPacket {
            proto: Protocol::Udp,
            source: datagram.source,
            destination,
            message,
        };
        let at = self.system_time(now);
        self.ice.handle_packet(at, packet);
        self.handle_connectivity(now);
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

    fn handle_media(&mut self, now: Instant, datagram: Datagram<'_>) {
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
        let plain = Datagram {
            source: PEER,
            payload: &self.plain[..len],
            ..datagram
        };
        self.inner.handle_datagram(now, plain);
    }

    /// Lets ICE and DTLS act, and takes over what they put out.
    fn handle_connectivity(&mut self, now: Instant) {
        let at = self.system_time(now);
        self.ice.handle_timeout(at);
        while let Some(event) = self.ice.poll_event() {
            match event {
                IceAgentEvent::NominatedSend { destination, .. } => {
                    self.peer = Some(destination);
                    self.events.push_back(SecureEvent::PeerAddress(destination));
                }
                IceAgentEvent::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                    self.events.push_back(SecureEvent::Disconnected);
                }
                _ => {}
            }
        }
        while let Some(transmit) = self.ice.poll_transmit() {
            self.wait(transmit.destination, transmit.contents.into());
        }
        if let Some(peer) = self.peer {
            self.begin_handshake(now).handle_timeout(now);
            while let Some(datagram) = self.dtls.as_mut().and_then(DtlsAssociation::poll_transmit) {
                self.wait(peer, datagram);
            }
        }
        while let Some(event) = self.dtls.as_mut().and_then(DtlsAssociation::poll_event) {
            self.events.push_back(match event {
                DtlsEvent::Keys(keys) => {
                    let protector = Protector::new(&keys.local)
                        .with_encrypted_extensions(self.encrypts_extensions);
                    self.srtp = Some((protector, Unprotector::new(&keys.remote)));
                    SecureEvent::Secured(keys.words)
                }
                DtlsEvent::Closed => SecureEvent::Closed,
                DtlsEvent::Failed(error) => SecureEvent::Failed(error),
            });
        }
        let ice = self.ice.poll_timeout().map(|at| self.own_time(at));
        let dtls = self.dtls.as_ref().filter(|_| self.peer.is_some());
        let dtls = dtls.and_then(DtlsAssociation::poll_timeout);
        self.timeout = [ice, dtls].into_iter().flatten().min();
    }

    fn begin_handshake(&mut self, now: Instant) -> &mut DtlsAssociation {
        self.dtls.get_or_insert_with(|| {
            DtlsAssociation::new(
                now,
                self.zero,
                self.role,
                &self.identity,
                self.peer_fingerprint,
            )
        })
    }

    fn wait(&mut self, destination: SocketAddr, datagram: Vec<u8>) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((destination, datagram));
        }
    }

    fn system_time(&self, now: Instant) -> StdInstant {
        self.zero + now.saturating_since(Instant::ZERO)
    }

    fn own_time(&self, at: StdInstant) -> Instant {
        Instant::ZERO + at.saturating_duration_since(self.zero)
    }
}

impl<E: Endpoint> Endpoint for Secure<E> {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        // RFC 7983 §7.
        match datagram.payload.first() {
            Some(0..=3) => self.handle_stun(now, datagram),
            Some(20..=63) => self.handle_dtls(now, datagram),
            Some(128..=191) if datagram.payload.len() <= MAX_DATAGRAM => {
                self.handle_media(now, datagram);
            }
            _ => self.refused.unknown += 1,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timeout.is_some_and(|timeout| timeout <= now) {
            self.handle_connectivity(now);
        }
        if self.srtp.is_some() {
            self.inner.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        if let Some((destination, datagram)) = self.waiting.pop_front() {
            buf.get_mut(..datagram.len())?.copy_from_slice(&datagram);
            return Some(Transmit {
                destination,
                len: datagram.len(),
                ecn: Ecn::NotEct,
            });
        }
        let (Some((protector, _)), Some(destination)) = (&mut self.srtp, self.peer) else {
            return None;
        };
        let room = buf.len().checked_sub(MAX_OVERHEAD)?;
        loop {
            let plain = self.inner.poll_transmit(now, &mut buf[..room])?;
            let protected = if is_rtcp(&buf[..plain.len]) {
                protector.protect_rtcp(buf, plain.len)
            } else {
                protector.protect_rtp(buf, plain.len)
            };
            // What must not leave is lost, as on the path.
            if let Ok(len) = protected {
                return Some(Transmit {
                    destination,
                    len,
                    ecn: plain.ecn,
                });
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let connectivity = self.timeout.map(|at| (at, Reason::Connectivity));
        let inner = self.srtp.as_ref().and_then(|_| self.inner.poll_timeout());
        let both = connectivity.into_iter().chain(inner);
        both.min_by_key(|(at, _)| *at)
    }
}

/// Returns true if a packet is RTCP, by its type (RFC 5761 §4).
fn is_rtcp(packet: &[u8]) -> bool {
    matches!(packet.get(1), Some(192..=223))
}

#[cfg(test)]
mod tests;
