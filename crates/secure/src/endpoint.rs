//! Puts ICE, DTLS and SRTP below any endpoint, which sees plain RTP and RTCP from one address that never changes.

mod arrival;
mod connectivity;
mod departure;
mod media_path;
mod peer_addresses;
mod restart;

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant as StdInstant;

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use is::IceAgent;
use is::stun::TransId;
pub use is::{Candidate, IceCreds};
use media_path::{IcePath, MediaPath};
use peer_addresses::PeerAddresses;
pub use restart::IceRestart;
use tfrc::time::Instant;

use crate::dtls::{DtlsAssociation, DtlsError, Role};
pub use crate::gather::{Account, IceServer, IceServerError};
use crate::gather::{Arrival, Gathering};
use crate::identity::{Fingerprint, Identity};
use crate::srtp::{Protector, Unprotector};
use crate::words::ShortAuthenticationString;

/// The address at which the inner endpoint sees its peer, whichever way packets take (a block for documentation, RFC 5737).
pub const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);

/// The most datagrams of ICE and DTLS that wait to be sent: a flight of DTLS, and a check for each pair of addresses.
const MAX_WAITING: usize = 256;

/// The most addresses of this end: the peer names one more in each answer from another mapping of a NAT.
const MAX_OWN_CANDIDATES: usize = 100;

/// The most checks of ICE that are remembered: as many as ICE remembers, 9 of each of 100 pairs, and more.
const MAX_CHECKS: usize = 1_024;

/// What an end must know of itself and of its peer before they talk.
#[derive(Clone)]
pub struct SecureConfig {
    /// The addresses of this end's socket that a peer may reach.
    pub candidates: Vec<Candidate>,
    /// The servers that tell this end's address behind NATs, or relay its packets.
    pub servers: Vec<IceServer>,
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
    /// The part of this end in the handshake.
    pub role: Role,
    /// True if this end chooses among addresses (controls, RFC 8445 §6.1.1); the peer does not then.
    pub controls: bool,
}

/// What became of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecureEvent {
    /// A server reported this local candidate. The caller signals it to the peer (RFC 8838).
    LocalCandidate(Candidate),
    /// Each server has reported all that it has for this end, or does not answer. With no server that is at once.
    Gathered,
    /// The server at this address refuses to relay or does not answer. It is asked again.
    NoRelay(SocketAddr),
    /// Packets go to this address from now on, directly or through a relay.
    PeerAddress(SocketAddr),
    /// The peer is who it should be, and packets are encrypted. The peer shows the same words.
    Secured(ShortAuthenticationString),
    /// The peer answers no checks of ICE: the peer is gone, or its address changed. Packets of the inner endpoint are
    /// lost (RFC 7675 §5.1) until the peer answers a check again.
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
    gathering: Gathering,
    /// True once all servers have answered or failed.
    has_gathered: bool,
    /// The system's time at [`Instant::ZERO`].
    zero: StdInstant,
    path: MediaPath,
    peer_addresses: PeerAddresses,
    /// When an address of the peer became known that may be where the peer is now.
    new_address: Option<Instant>,
    /// When the checks last began anew.
    renewed: Option<Instant>,
    /// The latest checks of ICE, each with the path that it took.
    checks: VecDeque<(TransId, IcePath)>,
    waiting: VecDeque<(IcePath, Vec<u8>)>,
    events: VecDeque<SecureEvent>,
    refused: Refused,
    timeout: Option<Instant>,
    /// The source of the latest packet of the inner endpoint.
    ssrc: u32,
    plain: Vec<u8>,
}

impl<E: Endpoint> Secure<E> {
    /// Begins to look for the peer. `zero` is the time of the system at [`Instant::ZERO`].
    pub fn new(now: Instant, zero: StdInstant, config: SecureConfig, inner: E) -> Self {
        let mut ice = IceAgent::new(config.credentials);
        ice.set_controlling(config.controls);
        ice.set_remote_credentials(config.peer_credentials);
        let mut secure = Self {
            inner,
            ice,
            identity: config.identity,
            encrypts_extensions: config.encrypts_extensions,
            peer_fingerprint: config.peer_fingerprint,
            role: config.role,
            dtls: None,
            srtp: None,
            gathering: Gathering::new(now, bases(&config.candidates), config.servers),
            has_gathered: false,
            zero,
            path: MediaPath::default(),
            peer_addresses: PeerAddresses::default(),
            new_address: None,
            renewed: None,
            checks: VecDeque::new(),
            waiting: VecDeque::new(),
            events: VecDeque::new(),
            refused: Refused::default(),
            timeout: None,
            ssrc: 0,
            plain: Vec::new(),
        };
        secure.add_candidates(config.candidates, config.peer_candidates);
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
        self.add_candidates([], [candidate]);
        self.handle_connectivity(now);
    }

    fn add_candidates(
        &mut self,
        own: impl IntoIterator<Item = Candidate>,
        of_peer: impl IntoIterator<Item = Candidate>,
    ) {
        for candidate in own {
            self.ice.add_local_candidate(candidate);
        }
        for candidate in of_peer {
            if self.peer_addresses.signal(&candidate) {
                self.ice.add_remote_candidate(candidate);
            }
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<SecureEvent> {
        self.events.pop_front()
    }

    /// Returns how many packets were refused.
    pub fn refused(&self) -> Refused {
        self.refused
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

    fn system_time(&self, now: Instant) -> StdInstant {
        self.zero + now.saturating_since(Instant::ZERO)
    }

    fn own_time(&self, at: StdInstant) -> Instant {
        Instant::ZERO + at.saturating_duration_since(self.zero)
    }
}

impl<E: Endpoint> Endpoint for Secure<E> {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        let arrival = self
            .gathering
            .handle_datagram(now, datagram.source, datagram.payload);
        match arrival {
            Arrival::Direct => self.handle_packet(now, None, datagram),
            Arrival::Unknown => self.refused.unknown += 1,
            Arrival::Handled => self.handle_connectivity(now),
            Arrival::Relayed(relay, data) => {
                let datagram = Datagram {
                    source: data.peer,
                    payload: data.data(),
                    ..datagram
                };
                self.handle_packet(now, Some(relay), datagram);
            }
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
        self.poll_waiting(now, buf)
            .or_else(|| self.poll_probe(now, buf))
            .or_else(|| self.poll_inner(now, buf))
            .or_else(|| self.poll_server(buf))
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let connectivity = self.timeout.map(|at| (at, Reason::Connectivity));
        let inner = self.srtp.as_ref().and_then(|_| self.inner.poll_timeout());
        let both = connectivity.into_iter().chain(inner);
        both.min_by_key(|(at, _)| *at)
    }
}

/// Returns the addresses of the socket that candidates name.
fn bases(candidates: &[Candidate]) -> Vec<SocketAddr> {
    candidates.iter().map(Candidate::addr).collect()
}

/// Returns true if a packet is RTCP, by its type (RFC 5761 §4).
fn is_rtcp(packet: &[u8]) -> bool {
    matches!(packet.get(1), Some(192..=223))
}

#[cfg(test)]
mod tests;
