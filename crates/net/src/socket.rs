//! A UDP socket with the kernel's time of arrival and ECN field of each datagram.

use crate::clock::Clock;
#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::socket_option;
use crate::{binding, packet_info, wait};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// A bound, non-blocking UDP socket.
///
/// Bound to `[::]` it speaks IPv4 as well, or IPv4 alone on a machine without IPv6. IPv4 peers show,
/// and are addressed, as IPv4; a peer on a link keeps the number of its interface. Bound to the address
/// of a group it joins the group.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    receive_buffer: Bytes,
}

/// Why a socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another program, or another socket of this one, has the port.
    #[error("{0}: UDP port {port} is in use", port = .0.port())]
    PortInUse(SocketAddr),
    /// No interface of this machine has the address.
    #[error("{0}: no interface has the address {ip}", ip = .0.ip())]
    NoSuchAddress(SocketAddr),
    /// The port needs privileges.
    #[error("{0}: not permitted")]
    NotPermitted(SocketAddr),
    /// No interface leads to the group.
    #[error("{0}: cannot join the group {ip}: {1}", ip = .0.ip())]
    NotJoined(SocketAddr, #[source] io::Error),
    /// Anything else that the system says.
    #[error("{0}: {1}")]
    Other(SocketAddr, #[source] io::Error),
}

impl BindError {
    /// What was to be bound.
    pub const fn address(&self) -> SocketAddr {
        match self {
            Self::PortInUse(address)
            | Self::NoSuchAddress(address)
            | Self::NotPermitted(address)
            | Self::NotJoined(address, _)
            | Self::Other(address, _) => *address,
        }
    }
}

/// One datagram, or several of one size, to one destination.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where to.
    pub destination: SocketAddr,
    /// The ECN field of each datagram.
    pub ecn: Ecn,
    /// The payloads, one after the other.
    pub contents: &'a [u8],
    /// The size of each payload but the last, which may be shorter.
    pub segment: usize,
}

/// A datagram as the socket saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// Who sent it.
    pub source: SocketAddr,
    /// When it came: the kernel's receive time, on our clock.
    pub arrival: Instant,
    /// The ECN field it came with.
    pub ecn: Ecn,
    /// Its payload.
    pub payload: &'a [u8],
}

impl Socket {
    /// Binds `address`; port 0 lets the system choose.
    pub fn bind(address: SocketAddr) -> Result<Self, BindError> {
        Self::bind_from(address, &[])
    }

    /// As [`bind`](Self::bind), but joins a group for these sources alone, if there are any (RFC 4607).
    pub fn bind_from(address: SocketAddr, sources: &[IpAddr]) -> Result<Self, BindError> {
        Self::open(address, sources).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => BindError::PortInUse(address),
            io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress(address),
            io::ErrorKind::PermissionDenied => BindError::NotPermitted(address),
            _ if address.ip().is_multicast() => BindError::NotJoined(address, error),
            _ => BindError::Other(address, error),
        })
    }

    fn open(address: SocketAddr, sources: &[IpAddr]) -> io::Result<Self> {
        let socket = binding::bind(address, sources)?;
        // The system caps it silently (net.core.rmem_max), so what was got is read back.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER.get() as usize);
        // Who administers the network may exceed the cap; anyone else keeps what there is.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let _ = socket_option::set(
            &socket,
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            RECEIVE_BUFFER.get() as libc::c_int,
        );
        let receive_buffer = Bytes::from(socket.recv_buffer_size()?);
        let socket = UdpSocket::from(socket);
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        packet_info::decline(&socket)?;
        Ok(Self {
            local: socket.local_addr()?,
            socket,
            state,
            receive_buffer,
        })
    }

    /// The address that the socket is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Asks the system for a way from this socket's address to `destination`. Nothing is sent.
    ///
    /// # Errors
    ///
    /// Returns the system's reason if there is none.
    pub fn find_route(&self, destination: SocketAddr) -> io::Result<()> {
        let mut local = self.local;
        local.set_port(0);
        binding::bind(local, &[])?.connect(&self.address_for_system(destination).into())
    }

    /// Sets how many hops datagrams to a group may take, and the interface of an IPv6 `group` that names one.
    pub fn set_multicast(&self, group: SocketAddr, hops: u8) -> io::Result<()> {
        let socket = SockRef::from(&self.socket);
        let SocketAddr::V6(group) = group else {
            return socket.set_multicast_ttl_v4(hops.into());
        };
        socket.set_multicast_if_v6(group.scope_id())?;
        socket.set_multicast_hops_v6(hops.into())
    }

    /// The receive buffer that the system granted, its bookkeeping included: Linux grants, and
    /// reports, twice what one may fill.
    pub fn receive_buffer(&self) -> Bytes {
        self.receive_buffer
    }

    /// How many datagrams one call can send; 1 if the system cannot segment.
    pub fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// How many datagrams the system may hand over in one buffer.
    pub fn max_received_segments(&self) -> usize {
        self.state.gro_segments()
    }

    /// Sends, trying again a few times while the system has no room.
    pub fn send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        // A forged datagram may come from port 0. The system answers EINVAL to that port, which
        // quinn-udp takes for an old kernel's answer to ECN and segmentation, and uses neither again.
        if outgoing.destination.port() == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attempts = 0;
        loop {
            let error = match self.try_send(outgoing) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            attempts += 1;
            if attempts == SEND_ATTEMPTS || !is_full(&error) {
                return Err(error);
            }
            wait::writable(self.as_fd(), FULL_WAIT);
        }
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let transmit = quinn_udp::Transmit {
            destination: self.address_for_system(outgoing.destination),
            ecn: match outgoing.ecn {
                Ecn::NotEct => None,
                Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                Ecn::Ce => Some(EcnCodepoint::Ce),
            },
            contents: outgoing.contents,
            segment_size: Some(outgoing.segment),
            src_ip: None,
        };
        self.state
            .try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// Reads what waits, at most one batch, without blocking. Gives how many buffers were filled:
    /// fewer than [`ReceiveBatch::BUFFERS`] means that nothing more waits.
    pub fn receive(&self, clock: &Clock, batch: &mut ReceiveBatch) -> io::Result<usize> {
        batch.filled = 0;
        let ReceiveBatch { buffers, metas, .. } = batch;
        let mut slices = buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        let received = self
            .state
            .recv(UdpSockRef::from(&self.socket), &mut slices, metas);
        match received {
            Ok(filled) => {
                let reading = clock.read_both();
                for (meta, arrival) in batch.metas[..filled].iter().zip(&mut batch.arrivals) {
                    *arrival = reading.arrival(meta.timestamp, batch.latest);
                    batch.latest = *arrival;
                }
                batch.read_at = reading.now;
                batch.filled = filled;
                Ok(filled)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// An IPv4 address as an IPv6 socket wants it.
    fn address_for_system(&self, address: SocketAddr) -> SocketAddr {
        match address {
            SocketAddr::V4(v4) if self.local.is_ipv6() => {
                SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
            }
            _ => address,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Room for what one call receives, and what it received last. One a socket.
#[derive(Debug)]
pub struct ReceiveBatch {
    buffers: [Box<[u8]>; Self::BUFFERS],
    metas: [RecvMeta; Self::BUFFERS],
    arrivals: [Instant; Self::BUFFERS],
    filled: usize,
    read_at: Instant,
    latest: Instant,
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveBatch {
    /// How many buffers one call fills at most: half a megabyte, which a flood of 50 000 small
    /// datagrams a second empties in 6000 calls.
    pub const BUFFERS: usize = 8;

    /// An empty batch.
    pub fn new() -> Self {
        Self {
            buffers: std::array::from_fn(|_| vec![0; BUFFER_SIZE].into_boxed_slice()),
            metas: [RecvMeta::default(); Self::BUFFERS],
            arrivals: [Instant::ZERO; Self::BUFFERS],
            filled: 0,
            read_at: Instant::ZERO,
            latest: Instant::ZERO,
        }
    }

    /// When the batch was read: no arrival in it is later.
    pub fn read_at(&self) -> Instant {
        self.read_at
    }

    /// The datagrams of the last call, in the order in which they came. Those that the system had
    /// merged are apart again, and share their arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.filled).flat_map(|index| {
            let meta = &self.metas[index];
            let source = binding::peer_address(meta.addr);
            let ecn = match meta.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let arrival = self.arrivals[index];
            // An empty datagram gives no chunk: it carries nothing for anyone.
            self.buffers[index][..meta.len]
                .chunks(meta.stride.max(1))
                .map(move |payload| Received {
                    source,
                    arrival,
                    ecn,
                    payload,
                })
        })
    }

    /// True if the kernel stamped every datagram of the last call.
    pub(crate) fn is_stamped(&self) -> bool {
        self.filled > 0
            && self.metas[..self.filled]
                .iter()
                .all(|m| m.timestamp.is_some())
    }
}

/// True if the system had no room for the datagram at that moment.
fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

/// What is asked of the system: a second of 32 Mb/s, should the process not run for so long.
pub(crate) const RECEIVE_BUFFER: Bytes = Bytes::new(4 << 20);

/// The largest that the kernel hands over, merged or not: the IP length field's reach.
const BUFFER_SIZE: usize = 1 << 16;

/// A full socket buffer empties at the interface's rate; what it has not after these was not meant
/// to be sent at this rate.
const SEND_ATTEMPTS: u32 = 3;

const FULL_WAIT: Duration = Duration::from_micros(200);
