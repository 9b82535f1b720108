//! The contract of every protocol object: it takes bytes and times, and returns bytes and times.

use std::net::SocketAddr;
use tfrc::Ecn;
use tfrc::time::Instant;

/// The largest datagram that an endpoint reads, in bytes: a jumbo frame.
pub const MAX_DATAGRAM: usize = 9_216;

/// A datagram that arrived from the network.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The address of the sender, as the socket reports it.
    pub source: SocketAddr,
    /// The time of arrival at the host: the kernel's receive time where there is one. It may precede the `now` of
    /// the call that passes the datagram, but never follows it.
    pub arrival: Instant,
    /// The ECN field on arrival.
    pub ecn: Ecn,
    /// The UDP payload.
    pub payload: &'a [u8],
}

/// A datagram to be sent: its bytes are the first `len` of the buffer that the caller passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The address to send to.
    pub destination: SocketAddr,
    /// The bytes written to the buffer.
    pub len: usize,
    /// The ECN field to send it with.
    pub ecn: Ecn,
}

/// The reason for which an endpoint asks to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The pacer permits the next media packet.
    Departure,
    /// The nofeedback timer (RFC 5348 §4.4).
    NoFeedback,
    /// The receiver's feedback timer (RFC 5348 §6.2).
    Feedback,
    /// A compound RTCP report is due (RFC 3550 §6.2).
    Rtcp,
    /// A frame must be shown or given up.
    Playout,
    /// The peer has been silent for as long as the caller allows.
    GiveUp,
    /// The way to the peer is to be found, checked or secured: ICE (RFC 8445 §14) or DTLS (RFC 9147 §5.8).
    Connectivity,
}

/// A protocol object that a simulator and a socket drive alike.
///
/// The caller passes events (`handle_*`), calls [`poll_transmit`] until it returns `None`, asks [`poll_timeout`],
/// and waits until then or until a datagram arrives. `now` must not go back; if it does, the endpoint's own time
/// stands still.
///
/// An endpoint never reads a clock, opens a socket, spawns a thread or draws an unseeded random number. No input
/// makes it panic.
///
/// [`poll_transmit`]: Endpoint::poll_transmit
/// [`poll_timeout`]: Endpoint::poll_timeout
pub trait Endpoint {
    /// Handles a datagram that arrived.
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>);

    /// Handles the expiry of the timeout that [`poll_timeout`](Endpoint::poll_timeout) returned. An early call is
    /// harmless.
    fn handle_timeout(&mut self, now: Instant);

    /// Writes the next datagram that may leave now into `buf`, or returns `None`.
    ///
    /// The endpoint chooses the bytes only now, so it never sends data that has become stale.
    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit>;

    /// Returns when to call [`handle_timeout`](Endpoint::handle_timeout) next, and why.
    fn poll_timeout(&self) -> Option<(Instant, Reason)>;
}
