//! The content of a report, whatever its format on the wire.

use core::time::Duration;

use crate::Ecn;
use crate::time::Instant;

/// The fields of a report that concern all of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportHeader {
    /// The number of the first reported packet, modulo 2^16.
    pub first: u16,
    /// When the report was made, on the receiver's clock, which may have any zero.
    pub made_at: Instant,
    /// The unit of the report's arrival times: no round trip is believed to be shorter.
    pub resolution: Duration,
}

/// The arrival of one packet, as a sender of media learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The number under which the packet was sent, which neither wraps nor starts again.
    pub number: u64,
    /// The time of arrival, on a clock that runs as the receiver's, with any zero.
    pub arrived_at: Instant,
}

/// The reported status of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStatus {
    /// The packet had not arrived.
    Missing,
    /// The packet had arrived.
    Arrived {
        /// The time of arrival on the receiver's clock; `None` if the receiver cannot tell.
        at: Option<Instant>,
        /// The ECN field on arrival.
        ecn: Ecn,
    },
}

/// The status of consecutive packets: a long run of missing packets costs as much as one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRun {
    /// Consecutive packets that had not arrived.
    Missing {
        /// The number of packets, which may be 0.
        count: u16,
    },
    /// One packet that had arrived, as in [`PacketStatus::Arrived`].
    Arrived {
        /// The time of arrival.
        at: Option<Instant>,
        /// The ECN field on arrival.
        ecn: Ecn,
    },
}

impl StatusRun {
    /// The number of packets in the run.
    #[inline]
    pub(super) const fn count(self) -> u64 {
        match self {
            Self::Missing { count } => count as u64,
            Self::Arrived { .. } => 1,
        }
    }

    /// The status of each packet in the run.
    pub fn statuses(self) -> impl Iterator<Item = PacketStatus> + Clone {
        let (status, count) = match self {
            Self::Missing { count } => (PacketStatus::Missing, count),
            Self::Arrived { at, ecn } => (PacketStatus::Arrived { at, ecn }, 1),
        };
        core::iter::repeat_n(status, count.into())
    }
}

impl From<PacketStatus> for StatusRun {
    #[inline]
    fn from(status: PacketStatus) -> Self {
        match status {
            PacketStatus::Missing => Self::Missing { count: 1 },
            PacketStatus::Arrived { at, ecn } => Self::Arrived { at, ecn },
        }
    }
}
