//! Modelled traffic that shares a relay's links with real datagrams.

use super::Direction;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Traffic without sockets: its packets queue, wait and get lost in the relay's links as datagrams do,
/// and what comes out of a link is handed back to it.
///
/// It is driven as an endpoint is: the relay hands in what happened, drains
/// [`poll_transmit`](CrossTraffic::poll_transmit) until it gives `None`, then waits for
/// [`poll_timeout`](CrossTraffic::poll_timeout). Of a packet that a link drops it hears nothing more.
/// It runs on the relay's thread, so it must not block.
pub trait CrossTraffic: Send + 'static {
    /// What it sends. Its flows are not the flow of the datagrams, whatever their numbers.
    type Packet: evenkeel_link::Packet + Send;

    /// A packet came out of the link in this direction.
    fn handle_packet(&mut self, now: Instant, direction: Direction, packet: Self::Packet);

    /// The instant that [`poll_timeout`](CrossTraffic::poll_timeout) gave has come. Harmless if early.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet that leaves now: in which direction, what, and its size on the wire.
    fn poll_transmit(&mut self, now: Instant) -> Option<(Direction, Self::Packet, Bytes)>;

    /// When to call [`handle_timeout`](CrossTraffic::handle_timeout) next; `None` if only a packet can
    /// wake it.
    fn poll_timeout(&self) -> Option<Instant>;
}

/// None.
impl CrossTraffic for () {
    type Packet = ();

    fn handle_packet(&mut self, _now: Instant, _direction: Direction, (): ()) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<(Direction, (), Bytes)> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
