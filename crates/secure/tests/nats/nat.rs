//! A model of a NAT: which address it maps a sender to, and whose packets it lets in (RFC 4787 §4.1, §5).

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

/// Which destinations share a mapping, or whose packets pass a filter once the host has sent something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependence {
    /// Any.
    Independent,
    /// Those at one IP address.
    Address,
    /// One IP address and port.
    AddressAndPort,
}

impl Dependence {
    /// Returns the same value for peers that are treated alike.
    fn class(self, peer: SocketAddr) -> Option<(IpAddr, u16)> {
        match self {
            Self::Independent => None,
            Self::Address => Some((peer.ip(), 0)),
            Self::AddressAndPort => Some((peer.ip(), peer.port())),
        }
    }
}

/// The behaviour of a NAT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NatKind {
    pub(crate) mapping: Dependence,
    pub(crate) filtering: Dependence,
}

pub(crate) const FULL_CONE: NatKind = NatKind {
    mapping: Dependence::Independent,
    filtering: Dependence::Independent,
};
pub(crate) const RESTRICTED_CONE: NatKind = NatKind {
    mapping: Dependence::Independent,
    filtering: Dependence::Address,
};
pub(crate) const PORT_RESTRICTED_CONE: NatKind = NatKind {
    mapping: Dependence::Independent,
    filtering: Dependence::AddressAndPort,
};
pub(crate) const SYMMETRIC: NatKind = NatKind {
    mapping: Dependence::AddressAndPort,
    filtering: Dependence::AddressAndPort,
};

/// A NAT in front of one host.
pub(crate) struct Nat {
    kind: NatKind,
    pub(crate) public: IpAddr,
    mappings: Vec<Mapping>,
    next_port: u16,
}

struct Mapping {
    internal: SocketAddr,
    class: Option<(IpAddr, u16)>,
    external: SocketAddr,
    sent_to: HashSet<Option<(IpAddr, u16)>>,
}

impl Nat {
    pub(crate) fn new(kind: NatKind, public: IpAddr) -> Self {
        Self {
            kind,
            public,
            mappings: Vec::new(),
            next_port: 40_000,
        }
    }

    /// Returns the address from which the peer sees a packet of the host.
    pub(crate) fn outbound(&mut self, internal: SocketAddr, peer: SocketAddr) -> SocketAddr {
        let class = self.kind.mapping.class(peer);
        let is_same = |mapping: &Mapping| mapping.internal == internal && mapping.class == class;
        let index = self.mappings.iter().position(is_same);
        let index = index.unwrap_or_else(|| {
            // Steps of a prime, so that nobody can rely on a port that follows another.
            self.next_port += 101;
            self.mappings.push(Mapping {
                internal,
                class,
                external: SocketAddr::new(self.public, self.next_port),
                sent_to: HashSet::new(),
            });
            self.mappings.len() - 1
        });
        let mapping = &mut self.mappings[index];
        mapping.sent_to.insert(self.kind.filtering.class(peer));
        mapping.external
    }

    /// Returns the host that a packet of the peer reaches, if the filter lets it pass.
    pub(crate) fn inbound(&self, external: SocketAddr, peer: SocketAddr) -> Option<SocketAddr> {
        let mut mappings = self.mappings.iter();
        let mapping = mappings.find(|mapping| mapping.external == external)?;
        let passes = mapping.sent_to.contains(&self.kind.filtering.class(peer));
        passes.then_some(mapping.internal)
    }
}
