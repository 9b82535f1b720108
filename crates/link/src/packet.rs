//! The properties of a packet, besides its size, that a link uses.

use tfrc::Ecn;

/// A payload that a [`Link`](crate::Link) carries.
///
/// The defaults suit a payload without an IP header: it cannot be marked, and all belong to one flow.
pub trait Packet: Clone {
    /// The ECN field.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Sets the ECN field to CE. Called only where [`ecn`](Packet::ecn) says that it may be.
    fn mark(&mut self) {}

    /// Names the packet in [`Event::Dropped`](crate::Event::Dropped).
    fn number(&self) -> u64 {
        0
    }

    /// Tells flows apart, for disciplines that keep them apart.
    fn flow(&self) -> u64 {
        0
    }
}

impl Packet for () {}
impl Packet for i32 {}
impl Packet for u64 {}
impl Packet for usize {}
impl Packet for &str {}
impl Packet for Vec<u8> {}
