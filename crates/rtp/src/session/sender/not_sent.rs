//! The reasons for which a packet is not written.

use core::error::Error;
use core::fmt;

use tfrc::time::Instant;

/// The reason for which a packet was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotSent {
    /// The session is closed.
    Closed,
    /// No peer is known yet.
    NoPeer,
    /// The session sends no media.
    ReceivesOnly,
    /// The session sends no repair packets.
    NoRepair,
    /// The peer sent less than a third of the bytes that it would get, and did not prove that it hears us.
    UnconfirmedPeer,
    /// Media was given up, or a circuit breaker ended it.
    Ended,
    /// The rate does not allow a packet yet.
    Early {
        /// The time at which the rate permits a packet.
        until: Instant,
    },
    /// The payload is longer than a packet can carry.
    PayloadTooLong {
        /// The longest payload, in bytes.
        capacity: usize,
    },
    /// The buffer is shorter than the packet.
    BufferTooShort,
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the session is closed"),
            Self::NoPeer => f.write_str("no peer is known yet"),
            Self::ReceivesOnly => f.write_str("the session sends no media"),
            Self::NoRepair => f.write_str("the session sends no repair packets"),
            Self::UnconfirmedPeer => f.write_str("the peer has not proven that it hears us"),
            Self::Ended => f.write_str("media was given up, or a circuit breaker ended it"),
            Self::Early { until } => {
                let seconds = until.saturating_since(Instant::ZERO).as_secs_f64();
                write!(f, "the rate allows no packet before {seconds} s")
            }
            Self::PayloadTooLong { capacity } => {
                write!(f, "the payload is longer than {capacity} bytes")
            }
            Self::BufferTooShort => f.write_str("the buffer is shorter than the packet"),
        }
    }
}

impl Error for NotSent {}
