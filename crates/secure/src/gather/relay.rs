//! Sends packets through a relay, a TURN server, whose address the peer sees in place of this end's (RFC 8656).

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use is::Candidate;
use tfrc::time::Instant;
use turn_client_proto::api::{TurnConfig, TurnEvent, TurnPeerData, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::{DelayedTransmitBuild, TurnClientApi};
use turn_client_proto::stun::agent::Transmit;
use turn_client_proto::types::{TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;

use super::server::IceServer;
use super::{Output, RETRANSMISSION, Retransmission, library_time, own_time};

/// The time after which a relay that refused or forgot this end is asked again.
const RETRY_AFTER: Duration = Duration::from_secs(15);

/// The least time between two calls of the library, which at times asks to be called at once.
const CALL_INTERVAL: Duration = Duration::from_millis(5);

/// The time after which a relay that takes back what it granted, and grants it to nobody again, has lost the allocation: it was
/// started anew. Anyone can make it refuse one request, by damaging the request.
const LOST_AFTER: Duration = Duration::from_secs(5);

/// The most hosts that may send through the relay: as many as ICE has pairs (RFC 8445 §6.1.2.5).
const MAX_PERMISSIONS: usize = 100;

/// An allocation at a relay, kept alive by the library's timers, and made anew where the relay lost it.
pub(super) struct Relay {
    pub(super) server: SocketAddr,
    pub(super) base: SocketAddr,
    /// The address by which the user knows the relay.
    named: SocketAddr,
    config: TurnConfig,
    client: Option<TurnClientUdp>,
    /// The address at the relay.
    pub(super) address: Option<SocketAddr>,
    /// The hosts that may send through the relay.
    granted: HashSet<IpAddr>,
    /// When the relay began to refuse what it had granted.
    refused_since: Option<Instant>,
    /// True once a failure was reported.
    has_failed: bool,
    timeout: Instant,
}

/// What a datagram from the relay was.
pub(super) enum FromRelay<'a> {
    /// A packet that a peer sent to the address at the relay.
    Data(TurnPeerData<&'a [u8]>),
    /// A message of the relay itself.
    Handled,
    /// Nothing of the relay: another protocol at the same address.
    Unknown,
}

impl Relay {
    /// Begins to ask a server for an address, if the server has an account for this end.
    pub(super) fn new(now: Instant, base: SocketAddr, server: &IceServer) -> Option<Self> {
        let account = server.account.as_ref()?;
        let credentials = TurnCredentials::new(&account.user, &account.password);
        let mut config = TurnConfig::new(credentials);
        let Retransmission {
            first,
            requests,
            last,
        } = RETRANSMISSION;
        config.set_request_retransmits(first, Duration::MAX, requests, last);
        Some(Self {
            server: server.address,
            base,
            named: server.by_stream.unwrap_or(server.address),
            config,
            client: None,
            address: None,
            granted: HashSet::new(),
            refused_since: None,
            has_failed: false,
            timeout: now,
        })
    }

    pub(super) fn timeout(&self) -> Instant {
        self.timeout
    }

    /// Returns true if the relay has granted an address, or has refused or not answered once.
    pub(super) fn is_complete(&self) -> bool {
        self.address.is_some() || self.has_failed
    }

    pub(super) fn candidate(&self) -> Option<Candidate> {
        Candidate::relayed(self.address?, self.base, "udp").ok()
    }

    pub(super) fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        payload: &'a [u8],
        output: &mut Output,
    ) -> FromRelay<'a> {
        let Some(client) = &mut self.client else {
            return FromRelay::Unknown;
        };
        let transmit = Transmit::new(payload, TransportType::Udp, self.server, self.base);
        match client.recv(transmit, library_time(now)) {
            TurnRecvRet::PeerData(data) => FromRelay::Data(data),
            TurnRecvRet::Ignored(_) => FromRelay::Unknown,
            _ => {
                self.handle_timeout(now, output);
                FromRelay::Handled
            }
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, output: &mut Output) {
        let at = library_time(now);
        if self.client.is_none() && self.timeout > now {
            return;
        }
        let client = self.client.get_or_insert_with(|| {
            TurnClientUdp::allocate(self.base, self.server, self.config.clone())
        });
        let mut is_lost = false;
        while let Some(event) = client.poll_event() {
            match event {
                TurnEvent::AllocationCreated(_, address) => {
                    self.address = Some(address);
                    self.has_failed = false;
                    output
                        .candidates
                        .extend(Candidate::relayed(address, self.base, "udp"));
                }
                TurnEvent::AllocationCreateFailed(_) => is_lost = true,
                TurnEvent::PermissionCreated(_, host) => {
                    self.granted.insert(host);
                    self.refused_since = None;
                }
                TurnEvent::PermissionCreateFailed(_, host) if self.granted.contains(&host) => {
                    let since = self.refused_since.get_or_insert(now);
                    is_lost |= *since + LOST_AFTER <= now;
                }
                _ => {}
            }
        }
        while let Some(transmit) = client.poll_transmit(at) {
            output.send(self.server, transmit.data.as_ref());
        }
        match client.poll(at) {
            TurnPollRet::WaitUntil(until) => {
                // The library may give up an allocation and say so only when it is called the next time.
                self.timeout = own_time(until).clamp(now + CALL_INTERVAL, now + RETRY_AFTER);
            }
            _ => is_lost = true,
        }
        if is_lost {
            self.forget();
            self.timeout = now + RETRY_AFTER;
            if !self.has_failed {
                output.failed.push_back(self.named);
            }
            self.has_failed = true;
        }
    }

    /// Returns true if a stream leads to the relay.
    pub(super) fn is_by_stream(&self) -> bool {
        self.named != self.server
    }

    /// Asks for an address anew, because the allocation ended with its stream (RFC 8656 §5).
    pub(super) fn begin_again(&mut self, now: Instant, output: &mut Output) {
        self.forget();
        self.timeout = now;
        self.handle_timeout(now, output);
    }

    fn forget(&mut self) {
        self.client = None;
        self.address = None;
        self.granted.clear();
        self.refused_since = None;
    }

    /// Asks the relay for a channel to the peer, whose packets then have a header of four bytes instead of 36.
    pub(super) fn bind_channel(&mut self, now: Instant, peer: SocketAddr, output: &mut Output) {
        if let Some(client) = &mut self.client {
            // A channel that exists already, or is gone with the allocation, needs nothing.
            let _ = client.bind_channel(TransportType::Udp, peer, library_time(now));
            self.handle_timeout(now, output);
        }
    }

    /// Writes what the relay is to pass to the peer, or returns `None` if the relay may not do so yet: the packet is
    /// lost, as on the path.
    pub(super) fn wrap(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        packet: &[u8],
        buf: &mut [u8],
        output: &mut Output,
    ) -> Option<usize> {
        let client = self.client.as_mut()?;
        let at = library_time(now);
        if !client.have_permission(TransportType::Udp, peer.ip()) {
            let granted = client
                .permissions(TransportType::Udp, self.address?)
                .count();
            if granted < MAX_PERMISSIONS {
                // One that is asked for already needs nothing.
                let _ = client.create_permission(TransportType::Udp, peer.ip(), at);
                self.handle_timeout(now, output);
            }
            return None;
        }
        let send = client
            .send_to(TransportType::Udp, peer, packet, at)
            .ok()??;
        let len = send.data.len();
        send.data.write_into(buf.get_mut(..len)?);
        Some(len)
    }
}
