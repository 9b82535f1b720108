//! What a router tells of each packet.

use super::frame::Flow;
use crate::emulation::Direction;
use evenkeel_link::DropReason;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Something happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRecord {
    /// When: what it did at that time, not when the router came to it.
    pub at: Instant,
    /// In which link.
    pub direction: Direction,
    /// Which packet, counted from zero over both directions. One that was doubled departs twice.
    pub number: u64,
    /// What.
    pub event: PacketEvent,
}

/// What happens to a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum PacketEvent {
    /// It came to the link.
    Arrived {
        /// Whose it is.
        flow: Flow,
        /// On the wire, without Ethernet's header.
        size: Bytes,
        /// Ethernet's header and all behind it, if packets are captured.
        frame: Option<Box<[u8]>>,
    },
    /// The link lost it or its queue dropped it.
    Dropped {
        /// Why.
        reason: DropReason,
    },
    /// It was sent on.
    Departed {
        /// When it should have been.
        due: Instant,
        /// As in [`PacketEvent::Arrived`], and marked if the queue marked it.
        frame: Option<Box<[u8]>>,
    },
}

/// Who is told of packets.
#[derive(Clone, Debug)]
pub struct Watch {
    /// If it is full, records are lost, and counted.
    pub records: std::sync::mpsc::SyncSender<PacketRecord>,
    /// With their bytes.
    pub captures: bool,
}
