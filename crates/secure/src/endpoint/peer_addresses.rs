//! The addresses at which a peer may be. Those that nothing authentic came from are freed, so that a new one finds room.

use std::net::SocketAddr;
use std::time::Duration;

use is::Candidate;
use tfrc::time::Instant;

/// The most addresses of a peer: as many as ICE has pairs (RFC 8445 §6.1.2.5). A peer might otherwise fill the memory.
pub(super) const MAX_ADDRESSES: usize = 100;

/// The most addresses that signalling may give, so that there is room for those that checks come from.
const MAX_SIGNALLED: usize = 50;

/// The time after which an address that gives no sign of life is not in use: consent ends then (RFC 7675 §5.1).
const UNUSED_AFTER: Duration = Duration::from_secs(30);

/// What becomes of a packet that claims to come from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The address is known.
    Known,
    /// The address is one more.
    New,
    /// There is no room for another address.
    Full,
}

/// The addresses of a peer, bounded.
#[derive(Default)]
pub(super) struct PeerAddresses(Vec<PeerAddress>);

struct PeerAddress {
    address: SocketAddr,
    /// The candidate, if signalling gave it.
    signalled: Option<Candidate>,
    /// When an answer to a check or an authentic packet last came from there. A check itself may be a repeated one.
    proved: Option<Instant>,
}

impl PeerAddresses {
    /// Adds a candidate of signalling. Returns false if it is known or there is no room for it.
    pub(super) fn signal(&mut self, candidate: &Candidate) -> bool {
        let mut signalled = self.0.iter().filter_map(|known| known.signalled.as_ref());
        let is_same = |known: &Candidate| {
            (known.addr(), known.kind()) == (candidate.addr(), candidate.kind())
        };
        let is_admitted = signalled.clone().count() < MAX_SIGNALLED
            && self.0.len() < MAX_ADDRESSES
            && !signalled.any(is_same);
        if is_admitted {
            self.0.push(PeerAddress {
                address: candidate.addr(),
                signalled: Some(candidate.clone()),
                proved: None,
            });
        }
        is_admitted
    }

    /// Adds the address that a packet came from, if there is room.
    pub(super) fn admit(&mut self, address: SocketAddr) -> Admission {
        if self.0.iter().any(|known| known.address == address) {
            return Admission::Known;
        }
        if self.0.len() >= MAX_ADDRESSES {
            return Admission::Full;
        }
        self.0.push(PeerAddress {
            address,
            signalled: None,
            proved: None,
        });
        Admission::New
    }

    /// Records that the peer is at an address.
    pub(super) fn prove(&mut self, now: Instant, address: SocketAddr) {
        let known = self.0.iter_mut().filter(|known| known.address == address);
        known.for_each(|known| known.proved = Some(now));
    }

    /// Frees the addresses that are not in use. Returns how many they were.
    pub(super) fn free_unused(&mut self, now: Instant) -> usize {
        let before = self.0.len();
        self.0.retain(|known| {
            let is_used = |at| now.saturating_since(at) < UNUSED_AFTER;
            known.signalled.is_some() || known.proved.is_some_and(is_used)
        });
        before - self.0.len()
    }

    /// Forgets all addresses except the signalled ones.
    pub(super) fn keep_signalled(&mut self) {
        self.0.retain(|known| known.signalled.is_some());
        self.0.iter_mut().for_each(|known| known.proved = None);
    }

    /// Forgets all addresses.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns a candidate for each address.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let candidates = self.0.iter().filter_map(|known| {
            let address = known.address;
            let found = || Candidate::server_reflexive(address, address, "udp").ok();
            known.signalled.clone().or_else(found)
        });
        candidates.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([198, 51, 100, 1], port))
    }

    #[test]
    fn address_without_sign_of_life_gives_way() {
        let mut addresses = PeerAddresses::default();
        let signalled = Candidate::host(address(1), "udp").unwrap();
        assert!(addresses.signal(&signalled) && !addresses.signal(&signalled));
        for port in 2..=100 {
            assert_eq!(addresses.admit(address(port)), Admission::New);
        }
        assert_eq!(addresses.admit(address(1)), Admission::Known);
        assert_eq!(addresses.admit(address(101)), Admission::Full);
        let now = Instant::from_secs(100);
        addresses.prove(now, address(50));
        addresses.prove(now - UNUSED_AFTER, address(51));
        assert_eq!(addresses.free_unused(now), 98);
        let left = addresses.candidates();
        let ports: Vec<_> = left.iter().map(|left| left.addr().port()).collect();
        assert_eq!(ports, [1, 50]);
        assert_eq!(addresses.admit(address(101)), Admission::New);
    }

    #[test]
    fn signalling_leaves_room_for_checks() {
        let mut addresses = PeerAddresses::default();
        for port in 1..=1_000 {
            addresses.signal(&Candidate::host(address(port), "udp").unwrap());
        }
        assert_eq!(addresses.candidates().len(), MAX_SIGNALLED);
        assert_eq!(addresses.admit(address(2_000)), Admission::New);
    }
}
