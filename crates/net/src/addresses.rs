//! The addresses of this machine by which a peer may reach it.

use std::fmt;
use std::net::IpAddr;

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

/// Returns the addresses of this machine, those beyond the link first, and IPv4 before IPv6. The result is empty where
/// the system lists none.
pub fn local_addresses() -> Vec<LocalAddress> {
    let mut addresses = listed();
    addresses.sort_by_key(|address| (address.is_link_local(), address.ip));
    addresses.dedup();
    addresses
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
    fn listed_addresses_are_reachable_from_elsewhere() {
        let addresses = local_addresses();
        assert!(addresses.iter().all(|address| !address.ip.is_loopback()));
        assert!(addresses.iter().all(|address| !address.ip.is_unspecified()));
    }
}
