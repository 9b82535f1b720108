//! Finds addresses of this end that peers beyond NATs can reach: those that STUN servers see, and those at relays.

mod binding;
mod relay;
mod server;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use is::Candidate;
use tfrc::time::Instant;
use turn_client_proto::api::TurnPeerData;
use turn_client_proto::stun::Instant as LibraryInstant;
use turn_client_proto::stun::types::message::Message;

use binding::Binding;
use relay::{FromRelay, Relay};
pub use server::{Account, IceServer, IceServerError};

/// The most bytes that a relay adds to a packet: the header of a Send indication, an IPv6 address, a length and padding
/// (RFC 8656 §11.1).
pub(crate) const MAX_RELAY_OVERHEAD: usize = 20 + 24 + 4 + 3;

/// How a request is repeated: the first time after R_TO, with R_c requests in all, and R_m × R_TO after the last (RFC 8489
/// §6.2.1). The library's own default waits a thousandth of that after the last.
const RETRANSMISSION: Retransmission = Retransmission {
    first: Duration::from_millis(500),
    requests: 7,
    last: Duration::from_secs(8),
};

struct Retransmission {
    first: Duration,
    requests: u32,
    last: Duration,
}

/// Asks servers for addresses, and carries packets through those that relay.
pub(crate) struct Gathering {
    servers: Vec<IceServer>,
    bases: Vec<SocketAddr>,
    bindings: Vec<Binding>,
    relays: Vec<Relay>,
    output: Output,
}

/// What bindings and relays put out.
#[derive(Default)]
pub(crate) struct Output {
    /// Addresses of this end that were found.
    pub(crate) candidates: VecDeque<Candidate>,
    /// Datagrams for servers.
    pub(crate) datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
    /// Relays that refuse to relay, or do not answer.
    pub(crate) failed: VecDeque<SocketAddr>,
}

impl Output {
    fn send(&mut self, server: SocketAddr, datagram: &[u8]) {
        self.datagrams.push_back((server, datagram.to_vec()));
    }
}

/// Where a datagram came from.
pub(crate) enum Arrival<'a> {
    /// From any other address than a server's.
    Direct,
    /// From a server, but neither an answer nor a peer's packet. No peer has the address of a server: to believe so would
    /// turn packets that are repeated on the way from the server into a path.
    Unknown,
    /// From a server, for this module alone.
    Handled,
    /// From a peer, through the relay that has this address for this end.
    Relayed(SocketAddr, TurnPeerData<&'a [u8]>),
}

impl Gathering {
    /// Begins to ask the servers. `bases` are the addresses of the socket from which this end sends.
    pub(crate) fn new(now: Instant, bases: Vec<SocketAddr>, servers: Vec<IceServer>) -> Self {
        let mut gathering = Self {
            servers,
            bases,
            bindings: Vec::new(),
            relays: Vec::new(),
            output: Output::default(),
        };
        for server in &gathering.servers {
            let Some(base) = base(&gathering.bases, server.address) else {
                continue;
            };
            // What a server sees of a stream is no address for datagrams.
            if server.by_stream.is_none() {
                let binding = Binding::new(now, base, server.address);
                gathering.bindings.push(binding);
            }
            let relay = Relay::new(now, base, server);
            gathering.relays.extend(relay);
        }
        gathering
    }

    /// Asks anew if the addresses from which the servers were asked have changed, and otherwise gives out again what was found.
    pub(crate) fn restart(&mut self, now: Instant, mut bases: Vec<SocketAddr>) {
        // Paths are known by the first address of a family.
        bases.sort_by_key(|base| !self.bases.contains(base));
        let is_good = |server: &IceServer| match self.base_towards(server.address) {
            Some(base) => bases.contains(&base),
            None => base(&bases, server.address).is_none(),
        };
        if !self.servers.iter().all(is_good) {
            *self = Self::new(now, bases, std::mem::take(&mut self.servers));
            return;
        }
        self.bases = bases;
        let reflexive = self.bindings.iter().filter_map(Binding::candidate);
        let relayed = self.relays.iter().filter_map(Relay::candidate);
        self.output.candidates = reflexive.chain(relayed).collect();
    }

    /// Returns the address of the socket from which a server is asked.
    fn base_towards(&self, server: SocketAddr) -> Option<SocketAddr> {
        let bindings = self.bindings.iter().map(|it| (it.server, it.base()));
        let mut asked = bindings.chain(self.relays.iter().map(|it| (it.server, it.base)));
        asked.find_map(|(asked, base)| (asked == server).then_some(base))
    }

    /// Returns true if nothing more is expected of any server.
    pub(crate) fn is_complete(&self) -> bool {
        self.bindings.iter().all(Binding::is_complete) && self.relays.iter().all(Relay::is_complete)
    }

    /// Returns what is to be passed on. The caller empties it.
    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns the address of the socket that a datagram from `source` arrived at, as far as that is known.
    pub(crate) fn base(&self, source: SocketAddr) -> Option<SocketAddr> {
        base(&self.bases, source)
    }

    pub(crate) fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        source: SocketAddr,
        payload: &'a [u8],
    ) -> Arrival<'a> {
        if self.base_towards(source).is_none() {
            return Arrival::Direct;
        }
        let bindings = self.bindings.iter_mut();
        let mut bindings = bindings.filter(|binding| binding.server == source);
        if let Ok(message) = Message::from_bytes(payload)
            && bindings.any(|binding| binding.handle_message(now, &message, &mut self.output))
        {
            return Arrival::Handled;
        }
        let relays = self.relays.iter_mut();
        for relay in relays.filter(|relay| relay.server == source) {
            if payload.is_empty() && relay.is_by_stream() {
                relay.begin_again(now, &mut self.output);
                return Arrival::Handled;
            }
            match relay.handle_datagram(now, payload, &mut self.output) {
                FromRelay::Data(data) => {
                    return relay
                        .address
                        .map_or(Arrival::Handled, |address| Arrival::Relayed(address, data));
                }
                FromRelay::Handled => return Arrival::Handled,
                FromRelay::Unknown => {}
            }
        }
        Arrival::Unknown
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for binding in &mut self.bindings {
            if binding.timeout() <= now {
                binding.handle_timeout(now, &mut self.output);
            }
        }
        for relay in &mut self.relays {
            if relay.timeout() <= now {
                relay.handle_timeout(now, &mut self.output);
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let bindings = self.bindings.iter().map(Binding::timeout);
        bindings.chain(self.relays.iter().map(Relay::timeout)).min()
    }

    /// Returns true if packets from this address go through a relay.
    pub(crate) fn is_relayed(&self, source: SocketAddr) -> bool {
        self.relays
            .iter()
            .any(|relay| relay.address == Some(source))
    }

    /// Prepares for many packets from an address at a relay to a peer.
    pub(crate) fn bind_channel(&mut self, now: Instant, source: SocketAddr, peer: SocketAddr) {
        if let Some(relay) = relay_at(&mut self.relays, source) {
            relay.bind_channel(now, peer, &mut self.output);
        }
    }

    /// Writes what carries a packet from an address at a relay to a peer. Returns the relay's address and the length.
    pub(crate) fn wrap(
        &mut self,
        now: Instant,
        (source, peer): (SocketAddr, SocketAddr),
        packet: &[u8],
        buf: &mut [u8],
    ) -> Option<(SocketAddr, usize)> {
        let relay = relay_at(&mut self.relays, source)?;
        let len = relay.wrap(now, peer, packet, buf, &mut self.output)?;
        Some((relay.server, len))
    }
}

fn relay_at(relays: &mut [Relay], source: SocketAddr) -> Option<&mut Relay> {
    relays
        .iter_mut()
        .find(|relay| relay.address == Some(source))
}

/// Returns the first address of the same family.
fn base(bases: &[SocketAddr], peer: SocketAddr) -> Option<SocketAddr> {
    let is_same_family = |base: &&SocketAddr| base.is_ipv4() == peer.is_ipv4();
    bases.iter().find(is_same_family).copied()
}

fn library_time(now: Instant) -> LibraryInstant {
    LibraryInstant::from_nanos(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
}

fn own_time(at: LibraryInstant) -> Instant {
    Instant::from_nanos(u64::try_from(at.as_nanos()).unwrap_or(0))
}

#[cfg(test)]
mod tests;
