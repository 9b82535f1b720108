//! Making room for the ECN mark beside the kernel's receive time.
//!
//! quinn-udp 0.6.3 gives the kernel 96 bytes for what it says of a datagram, and asks for the
//! destination address (32 bytes, 40 over IPv6), the receive time (32), the size of merged datagrams
//! (24) and the ECN mark (24), which comes last and is lost. We have no use for the destination
//! address, so it gives way; `tests/socket.rs` fails where that is not enough.

use std::io;
use std::net::UdpSocket;

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::socket_option;

/// Stops the kernel from telling the destination address of each datagram.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn decline(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        socket_option::set(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 0)
    } else {
        socket_option::set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 0)
    }
}

/// Elsewhere quinn-udp asks for no receive time, and its room suffices.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn decline(_: &UdpSocket) -> io::Result<()> {
    Ok(())
}
