//! The addresses of this machine by which a peer may reach it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::binding;

/// Addresses that nobody has (RFC 5737, RFC 3849): the way to them is the one to the rest of the world.
const ELSEWHERE: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// An address of an interface that is up and is not the loopback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalAddress {
    /// The address.
    pub ip: IpAddr,
    /// The name of the interface.
    pub interface: String,
}

impl LocalAddress {
    /// Returns true if only a peer on the same link reaches the address.
    pub fn is_link_local(&self) -> bool {
        match self.ip {
            IpAddr::V4(v4) => v4.is_link_local(),
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        }
    }
}

/// As a peer writes it. A link-local IPv6 address has its interface as the scope.
impl fmt::Display for LocalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ip)?;
        if self.ip.is_ipv6() && self.is_link_local() {
            write!(f, "%{}", self.interface)?;
        }
        Ok(())
    }
}

/// Returns the addresses of this machine. Those of the interface with the default route come first, because bridges of virtual
/// machines and containers have addresses as well; then those beyond the link, and IPv4 before IPv6. The result is empty
/// where the system lists none.
pub fn local_addresses() -> Vec<LocalAddress> {
    let routed = ELSEWHERE
        .iter()
        .filter_map(|elsewhere| source_towards(elsewhere.parse().ok()?));
    ordered(listed(), &routed.collect::<Vec<_>>())
}

/// Orders addresses, of which `routed` are those that packets to the rest of the world have.
fn ordered(mut addresses: Vec<LocalAddress>, routed: &[IpAddr]) -> Vec<LocalAddress> {
    let main = addresses
        .iter()
        .filter(|address| routed.contains(&address.ip));
    let main: Vec<String> = main.map(|address| address.interface.clone()).collect();
    addresses.sort_by_key(|address| {
        let is_main = main.contains(&address.interface);
        (address.is_link_local(), !is_main, address.ip)
    });
    addresses.dedup();
    addresses
}

/// Returns the address from which the system would send to a destination. Nothing is sent.
fn source_towards(destination: SocketAddr) -> Option<IpAddr> {
    let any = match destination {
        SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
    };
    let socket = binding::bind(any, &[]).ok()?;
    socket.connect(&destination.into()).ok()?;
    Some(socket.local_addr().ok()?.as_socket()?.ip())
}

#[cfg(target_os = "linux")]
fn listed() -> Vec<LocalAddress> {
    use std::net::{SocketAddrV4, SocketAddrV6};

    use nix::net::if_::InterfaceFlags;

    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let reachable = interfaces.filter(|interface| {
        interface.flags.contains(InterfaceFlags::IFF_UP)
            && !interface.flags.contains(InterfaceFlags::IFF_LOOPBACK)
    });
    let address = |interface: nix::ifaddrs::InterfaceAddress| {
        let storage = interface.address?;
        let v4 = storage.as_sockaddr_in();
        let v6 = storage.as_sockaddr_in6();
        let v4 = v4.map(|address| IpAddr::V4(*SocketAddrV4::from(*address).ip()));
        let v6 = v6.map(|address| IpAddr::V6(*SocketAddrV6::from(*address).ip()));
        Some(LocalAddress {
            ip: v4.or(v6)?,
            interface: interface.interface_name,
        })
    };
    reachable.filter_map(address).collect()
}

#[cfg(not(target_os = "linux"))]
fn listed() -> Vec<LocalAddress> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_ipv6_address_has_its_scope() {
        let shown = |ip: &str| {
            let interface = "eth0".to_owned();
            let ip = ip.parse().expect("an address");
            LocalAddress { ip, interface }.to_string()
        };
        assert_eq!(shown("fe80::1"), "fe80::1%eth0");
        assert_eq!(shown("2001:db8::7"), "2001:db8::7");
        assert_eq!(shown("169.254.1.2"), "169.254.1.2");
    }

    #[test]
    fn interface_with_default_route_comes_first() {
        let address = |ip: &str, interface: &str| LocalAddress {
            ip: ip.parse().expect("an address"),
            interface: interface.into(),
        };
        let bridge = address("172.17.0.1", "docker0");
        let lan = address("192.168.1.20", "eth0");
        let lan_6 = address("2001:db8::20", "eth0");
        let own = address("fe80::1", "eth0");
        let listed = [&own, &lan_6, &bridge, &lan].map(Clone::clone).to_vec();
        let expected = [&lan, &lan_6, &bridge, &own].map(Clone::clone);
        assert_eq!(ordered(listed.clone(), &[lan.ip]), expected);
        let expected = [&bridge, &lan, &lan_6, &own].map(Clone::clone);
        assert_eq!(ordered(listed, &[]), expected, "no default route");
    }

    #[test]
    fn listed_addresses_are_reachable_from_elsewhere() {
        let addresses = local_addresses();
        assert!(addresses.iter().all(|address| !address.ip.is_loopback()));
        assert!(addresses.iter().all(|address| !address.ip.is_unspecified()));
    }
}
