//! Finds the longest datagram that the way to a peer takes, as far as this system knows the way.

use std::net::SocketAddr;

/// Returns the greatest UDP payload towards `peer`: by the interface, and by what routers have said since. `None` where
/// the system does not tell.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn greatest_payload(peer: SocketAddr) -> Option<usize> {
    use rustix::net::sockopt;
    use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};

    let peer = match peer.ip().to_canonical() {
        ip if ip.is_ipv4() => SocketAddr::new(ip, peer.port()),
        // With its scope.
        _ => peer,
    };
    let (any, headers) = match peer {
        SocketAddr::V4(_) => ((Ipv4Addr::UNSPECIFIED, 0).into(), 28),
        SocketAddr::V6(_) => (SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)), 48),
    };
    // To connect sends nothing and finds the route.
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    let mtu = if peer.is_ipv4() {
        sockopt::ip_mtu(&socket)
    } else {
        sockopt::ipv6_mtu(&socket)
    };
    usize::try_from(mtu.ok()?).ok()?.checked_sub(headers)
}

/// Other systems do not tell.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn greatest_payload(_: SocketAddr) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn loopback_takes_long_datagrams() {
        let peer = "127.0.0.1:9".parse().unwrap();
        let payload = greatest_payload(peer).unwrap();
        assert!(payload > 1_472, "{payload}");
        let mapped = "[::ffff:127.0.0.1]:9".parse().unwrap();
        assert_eq!(greatest_payload(mapped), Some(payload));
    }
}
