//! The contract of every protocol object: bytes and time in, bytes and time out.

use std::net::SocketAddr;
use tfrc::Ecn;
use tfrc::time::Instant;

/// The largest datagram that an endpoint reads, in bytes: a jumbo frame.
pub const MAX_DATAGRAM: usize = 9_216;

/// A datagram as it came from the network.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Where it came from, as the socket saw it.
    pub source: SocketAddr,
    /// When it arrived at the host: the kernel's receive time where there is one, so it may lie
    /// before the `now` of the call that hands it over. Never after it.
    pub arrival: Instant,
    /// The ECN field it arrived with.
    pub ecn: Ecn,
    /// The UDP payload.
    pub payload: &'a [u8],
}

/// A datagram to be sent: its bytes are the first `len` of the buffer that was passed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The address to send to.
    pub destination: SocketAddr,
    /// The bytes written to the buffer.
    pub len: usize,
    /// The ECN field to send it with.
    pub ecn: Ecn,
}

/// Why an endpoint asked to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The pacer lets the next media packet go.
    Departure,
    /// The nofeedback timer (RFC 5348 §4.4).
    NoFeedback,
    /// The receiver's feedback timer (RFC 5348 §6.2).
    Feedback,
    /// A compound RTCP report is due (RFC 3550 §6.2).
    Rtcp,
    /// A frame must be shown, or given up.
    Playout,
    /// The peer has been silent for as long as the caller allows.
    GiveUp,
}

/// A protocol object that a simulator and a socket drive alike.
///
/// The caller's loop is: hand in what happened (`handle_*`), drain [`poll_transmit`] until it gives
/// `None`, ask [`poll_timeout`], wait until then or until a datagram comes. `now` never goes back;
/// where a caller's clock does, the endpoint holds its own time still.
///
/// An endpoint never reads a clock, opens a socket, spawns a thread or draws an unseeded random
/// number. No input makes it panic.
///
/// [`poll_transmit`]: Endpoint::poll_transmit
/// [`poll_timeout`]: Endpoint::poll_timeout
pub trait Endpoint {
    /// A datagram arrived.
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>);

    /// The instant that [`poll_timeout`](Endpoint::poll_timeout) gave has come. Harmless if early.
    fn handle_timeout(&mut self, now: Instant);

    /// Writes the next datagram that may leave now into `buf`, or gives `None`.
    ///
    /// Bytes are chosen at this moment and no earlier, so what has gone stale is never sent.
    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit>;

    /// When to call [`handle_timeout`](Endpoint::handle_timeout) next, and why.
    fn poll_timeout(&self) -> Option<(Instant, Reason)>;
}
