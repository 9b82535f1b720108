//! Binding a UDP socket: both families in one, groups joined, and peers' addresses in the form of their family.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Binds `address`, or all of IPv4 in place of `[::]` on a machine without IPv6. A group is joined for these sources, or
/// for any if there are none.
pub(crate) fn bind(address: SocketAddr, sources: &[IpAddr]) -> io::Result<Socket> {
    match bind_exactly(address, sources) {
        Err(error) if address.ip() == ALL_ADDRESSES && is_without_ipv6(&error) => {
            bind_exactly((Ipv4Addr::UNSPECIFIED, address.port()).into(), sources)
        }
        socket => socket,
    }
}

/// Opens a socket, binds it and joins the group that its address names.
fn bind_exactly(address: SocketAddr, sources: &[IpAddr]) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(address.ip() != ALL_ADDRESSES)?;
    }
    let is_group = address.ip().is_multicast();
    // Several receivers of one machine may hear a group.
    socket.set_reuse_address(is_group)?;
    socket.bind(&address.into())?;
    match address {
        SocketAddr::V4(group) if is_group && sources.is_empty() => {
            socket.join_multicast_v4(group.ip(), &Ipv4Addr::UNSPECIFIED)?;
        }
        SocketAddr::V4(group) if is_group => {
            for source in sources {
                let IpAddr::V4(source) = source else {
                    return Err(io::Error::new(io::ErrorKind::Unsupported, NO_SUCH_SOURCE));
                };
                socket.join_ssm_v4(source, group.ip(), &Ipv4Addr::UNSPECIFIED)?;
            }
        }
        SocketAddr::V6(group) if is_group => {
            // The library joins no IPv6 group for a source, and routers forward these groups for nothing else.
            if !sources.is_empty() && group.ip().segments()[0] & 0xfff0 == 0xff30 {
                return Err(io::Error::new(io::ErrorKind::Unsupported, NO_IPV6_SOURCE));
            }
            socket.join_multicast_v6(group.ip(), group.scope_id())?;
        }
        _ => {}
    }
    Ok(socket)
}

/// True if this is why `[::]` cannot be bound on a machine without IPv6.
fn is_without_ipv6(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

/// The address of a datagram's sender as a person writes it: an IPv4 address as such, an IPv6 address with
/// its interface, which an answer needs, and without a flow label.
pub(crate) fn peer_address(address: SocketAddr) -> SocketAddr {
    match (address.ip().to_canonical(), address) {
        (IpAddr::V6(ip), SocketAddr::V6(v6)) => {
            SocketAddrV6::new(ip, v6.port(), 0, v6.scope_id()).into()
        }
        (ip, _) => SocketAddr::new(ip, address.port()),
    }
}

const NO_SUCH_SOURCE: &str = "a group of IPv4 has no source of IPv6";
const NO_IPV6_SOURCE: &str = "a group of IPv6 is not joined for one source";

/// All addresses of a machine, of both families.
const ALL_ADDRESSES: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_keeps_its_family_and_its_interface() {
        let v6 = |ip: &str, flow, scope| SocketAddrV6::new(ip.parse().unwrap(), 9, flow, scope);
        let four = SocketAddr::from(([192, 0, 2, 7], 9));
        for (seen, written) in [
            (v6("::ffff:192.0.2.7", 0, 0).into(), four),
            (four, four),
            (v6("fe80::7", 5, 3).into(), v6("fe80::7", 0, 3).into()),
            (
                v6("2001:db8::7", 5, 0).into(),
                v6("2001:db8::7", 0, 0).into(),
            ),
        ] {
            assert_eq!(peer_address(seen), written);
        }
    }

    #[test]
    fn lack_of_ipv6_is_known_by_its_errors() {
        let is_without = |code| is_without_ipv6(&io::Error::from_raw_os_error(code));
        assert!(is_without(libc::EAFNOSUPPORT) && is_without(libc::EADDRNOTAVAIL));
        assert!(!is_without(libc::EADDRINUSE) && !is_without(libc::EACCES));
    }
}
