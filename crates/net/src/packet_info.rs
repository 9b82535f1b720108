//! Making room for the ECN mark beside the kernel's receive time.
//!
//! quinn-udp 0.6.3 gives the kernel 96 bytes for what it says of a datagram, and asks for the
//! destination address (32 bytes, 40 over IPv6), the receive time (32), the size of merged datagrams
//! (24) and the ECN mark (24), which comes last and is lost. We have no use for the destination
//! address, so it gives way; `tests/socket.rs` fails where that is not enough.

use std::io;
use std::net::UdpSocket;

/// Stops the kernel from telling the destination address of each datagram.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn decline(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        switch_off(socket, libc::IPPROTO_IP, libc::IP_PKTINFO)
    } else {
        switch_off(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
    }
}

/// Elsewhere quinn-udp asks for no receive time, and its room suffices.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn decline(_: &UdpSocket) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[expect(unsafe_code, reason = "no safe wrapper offers this option")]
fn switch_off(socket: &UdpSocket, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let off: libc::c_int = 0;
    // SAFETY: the descriptor is open for as long as `socket` is borrowed, and the kernel reads no
    // more than the given size of `off`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const off).cast(),
            size_of_val(&off) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
