//! An interface that the router reads and writes, frame by frame.

use super::frame::{OFFLOAD_HEADER, Received};
use crate::clock::Clock;
use crate::socket_option;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind,
    recvmsg, send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;
use tfrc::time::Instant;

/// What an interface of a router is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterfaceState {
    /// Frames come and go.
    Up,
    /// It was switched off: none do, until it is up again.
    Down,
    /// It was deleted, or moved to another network namespace. Another of its name is not this one.
    Gone,
}

/// A packet socket on one interface.
#[derive(Debug)]
pub(super) struct Port {
    /// The interface's number, which it keeps under another name and no other one of this network namespace gets.
    index: usize,
    socket: OwnedFd,
    buffer: Box<[u8]>,
    /// The latest arrival: the socket is a queue.
    latest: Instant,
    /// Frames that the kernel had no room for.
    overrun: u32,
}

/// Why an interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is none of this name in this network namespace.
    #[error("{0}: no such interface")]
    NoInterface(String),
    /// Only root, or who has CAP_NET_RAW, may read an interface.
    #[error("{0}: not permitted: run as root, or with CAP_NET_RAW")]
    NotPermitted(String),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(String, io::Error),
}

impl Port {
    /// Takes whatever arrives at an interface of this network namespace.
    pub(super) fn open(name: &str) -> Result<Self, PortError> {
        let failed = |error: Errno| match error {
            Errno::EPERM | Errno::EACCES => PortError::NotPermitted(name.to_owned()),
            other => PortError::System(name.to_owned(), other.into()),
        };
        let (address, _) = interface(|its_name, _| its_name == name)
            .map_err(failed)?
            .ok_or_else(|| PortError::NoInterface(name.to_owned()))?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Of no protocol until it is bound, lest it hear other interfaces before.
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            flags,
            SockProtocol::EthAll,
        )
        .map_err(failed)?;
        bind(socket.as_raw_fd(), &address).map_err(failed)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(failed)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1).map_err(failed)?;
        setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER).map_err(failed)?;
        setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER).map_err(failed)?;
        for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING] {
            socket_option::set(&socket, libc::SOL_PACKET, option, 1)
                .map_err(|error| PortError::System(name.to_owned(), error))?;
        }
        Ok(Self {
            index: address.ifindex(),
            socket,
            buffer: vec![0; OFFLOAD_HEADER + MAX_FRAME].into(),
            latest: Instant::ZERO,
            overrun: 0,
        })
    }

    /// The next frame; `None` if none waits.
    pub(super) fn receive(&mut self, clock: &Clock) -> io::Result<Option<Received<'_>>> {
        let mut space = cmsg_space!(TimeSpec, u32);
        let mut stamp = None;
        let length = {
            let mut slices = [IoSliceMut::new(&mut self.buffer)];
            let descriptor = self.socket.as_raw_fd();
            let message =
                match recvmsg::<()>(descriptor, &mut slices, Some(&mut space), MsgFlags::empty()) {
                    Ok(message) => message,
                    Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
                    Err(error) => return Err(error.into()),
                };
            for control in message.cmsgs().map_err(io::Error::from)? {
                match control {
                    ControlMessageOwned::ScmTimestampns(time) => stamp = Some(Duration::from(time)),
                    ControlMessageOwned::RxqOvfl(dropped) => self.overrun = dropped,
                    _ => {}
                }
            }
            message.bytes
        };
        self.latest = clock.read_both().arrival(stamp, self.latest);
        Ok(Some(Received {
            arrival: self.latest,
            bytes: &self.buffer[..length],
        }))
    }

    /// Sends a frame with its offload header.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), bytes, MsgFlags::empty())?;
        Ok(())
    }

    /// What its interface is now. Asks the system: for when a frame was neither received nor sent.
    pub(super) fn state(&self) -> io::Result<InterfaceState> {
        Ok(match interface(|_, index| index == self.index)? {
            None => InterfaceState::Gone,
            Some((_, is_up)) if is_up => InterfaceState::Up,
            Some(_) => InterfaceState::Down,
        })
    }

    /// Frames that came faster than they were read.
    pub(super) fn overrun(&self) -> u64 {
        self.overrun.into()
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Of the interface of this name and index, the address that a packet socket is bound to, and whether it is up.
fn interface(is_wanted: impl Fn(&str, usize) -> bool) -> Result<Option<(LinkAddr, bool)>, Errno> {
    Ok(getifaddrs()?.find_map(|interface| {
        let is_up = interface.flags.contains(InterfaceFlags::IFF_UP);
        let address = *interface.address?.as_link_addr()?;
        is_wanted(&interface.interface_name, address.ifindex()).then_some((address, is_up))
    }))
}

/// The largest that the kernel hands over: 64 KiB of segments not yet cut, and their headers.
const MAX_FRAME: usize = (1 << 16) + 256;

/// 50 ms at 1 Gb/s, as the kernel counts them: with its own overhead.
const SOCKET_BUFFER: usize = 16 << 20;
