//! The ends of a flow, and the packets between them.

use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A packet as an agent sends it and as the other end finds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet<B> {
    /// Its size on the wire, headers of all layers included, which is what links carry and count.
    pub size: Bytes,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// What the protocol says.
    pub body: B,
}

/// One end of a flow: the house's contract of a protocol object, with packets in place of bytes.
///
/// The simulator hands in what happened, drains [`poll_transmit`](Agent::poll_transmit) until it
/// gives `None`, then waits for [`poll_timeout`](Agent::poll_timeout). An agent that is to start
/// later says so by its first `poll_timeout`.
pub trait Agent {
    /// What packets carry besides their size. Kept small, as it is moved at every hop; a path may
    /// double it.
    type Body: Clone;

    /// A packet arrived from the other end.
    fn handle_packet(&mut self, now: Instant, packet: &Packet<Self::Body>);

    /// The instant that [`poll_timeout`](Agent::poll_timeout) gave has come. Harmless if early.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet that leaves now.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Self::Body>>;

    /// When to call [`handle_timeout`](Agent::handle_timeout) and drain
    /// [`poll_transmit`](Agent::poll_transmit) next; `None` if only a packet can wake it.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Lets the state that the next call will need come into a near cache. Only the kinds of agents that come in
    /// thousands gain by it.
    fn prefetch(&self) {}
}
