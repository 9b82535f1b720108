//! The share of a server that one host may use: of its flows, and of the ended tests.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::Server;
use crate::terms::{Refusal, Terms};

/// No test begins while so many ended within the life of a token: whoever begins and ends them without pause fills no disk.
const MAX_ENDED: usize = 256;
/// Nor while their flows are so many times what is allowed at a time, and more than that: each is told of, too.
const ENDED_SHARE: usize = 4;
/// A host has at most half of the flows that the others leave, and of the tests that may end: something is left for the
/// next host.
const HOST_SHARE: usize = 2;
/// The half of an IPv6 address that names a network (RFC 4291 §2.5.1): a host may have any address in it.
const NETWORK: u128 = !0 << 64;

impl Server {
    pub(super) fn too_many_ended(&self, host: IpAddr) -> bool {
        let most = MAX_ENDED.max(ENDED_SHARE * usize::from(self.config.limits.flows));
        let is_too_much = |share: usize, of_host: bool| {
            let ended = self.ended.iter();
            let ended = ended.filter(|test| !of_host || self::host(test.client) == host);
            let (tests, flows) = ended.fold((0, 0), |(tests, flows), test| {
                (tests + 1, flows + usize::from(test.flows))
            });
            tests >= MAX_ENDED / share || flows >= most / share
        };
        is_too_much(1, false) || is_too_much(HOST_SHARE, true)
    }

    /// Refuses terms beyond the limits, of which a host has a share, unless the server serves one test.
    ///
    /// The flows of all tests count that are kept, also of those whose client has asked for the results and not said
    /// goodbye.
    pub(super) fn check_flows(&self, terms: &Terms, host: IpAddr) -> Result<(), Refusal> {
        let (mut own, mut others) = (0, 0);
        for test in self.tests.values() {
            let used = if self::host(test.client) == host {
                &mut own
            } else {
                &mut others
            };
            *used += usize::from(test.terms.flows);
        }
        let mut limits = self.config.limits;
        if !self.config.one_off {
            let left = usize::from(limits.flows).saturating_sub(others);
            limits.flows = u16::try_from(left.div_ceil(HOST_SHARE)).unwrap_or(u16::MAX);
        }
        limits.check(terms, own)
    }
}

/// The host of a client, whatever its port.
pub(super) fn host(client: SocketAddr) -> IpAddr {
    match client.ip().to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & NETWORK).into(),
        ip => ip,
    }
}
