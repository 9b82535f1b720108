//! The record of a packet in a router or a relay.

use crate::emulation::Direction;
use evenkeel_link::DropReason;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// Something happened to a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketRecord {
    /// When: what it did at that time, not when the emulator came to it.
    pub at: Instant,
    /// In which link.
    pub direction: Direction,
    /// Which packet, counted from zero over both directions. One that was doubled departs twice.
    pub number: u64,
    /// What.
    pub event: PacketEvent,
}

impl PacketRecord {
    pub(crate) fn new(at: Instant, direction: Direction, number: u64, event: PacketEvent) -> Self {
        Self {
            at,
            direction,
            number,
            event,
        }
    }
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
        /// If packets are captured: a router's with Ethernet's header and all behind it, a relay's from IP's header on.
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
    /// It came out of the link and went no further: the system refused it, or nobody knows where to.
    Refused,
}

/// Who is told of packets.
#[derive(Clone, Debug)]
pub struct Watch {
    /// If it is full, records are lost, and counted.
    pub records: std::sync::mpsc::SyncSender<PacketRecord>,
    /// With their bytes.
    pub captures: bool,
}

/// What tells flows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The protocol number of IP: 6 is TCP, 17 UDP; 255 what is not IP.
    pub protocol: u8,
    /// From.
    pub source: IpAddr,
    /// To.
    pub destination: IpAddr,
    /// 0 where the protocol has none, and in later fragments.
    pub source_port: u16,
    /// 0 where the protocol has none, and in later fragments.
    pub destination_port: u16,
}

impl Flow {
    /// What is not IP.
    pub(crate) const OTHER: Self = Self {
        protocol: 255,
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        source_port: 0,
        destination_port: 0,
    };
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (source, destination) = (self.source, self.destination);
        match self.protocol {
            TCP => f.write_str("tcp")?,
            UDP => f.write_str("udp")?,
            255 => return f.write_str("other"),
            protocol => return write!(f, "ip{protocol} {source} {destination}"),
        }
        let (from, to) = (self.source_port, self.destination_port);
        write!(f, " {source}:{from} {destination}:{to}")
    }
}

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
