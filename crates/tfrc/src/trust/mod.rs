//! Bounds what a sender believes of its peer's reports, and decides when reports prove a lie.
//!
//! | Claim of the receiver | Bound |
//! |---|---|
//! | X_recv in a report of p | [`Receivable`]: the bytes that left, over a round trip |
//! | time of an arrival | `BelievedTransit`: the shortest and the longest round trip |
//! | time at which a report was made | `PeerClock`: the reports before it and the drift of clocks |
//! | delay of a report | `BelievedDelay`: a share of the round trip |
//! | X_recv in a report without arrival times | `MAX_STRETCH`: a factor of the rate at which packets left |
//! | R, X_recv and p of any value | `MIN_RTT`, `MAX_RATE`: arithmetic that stays finite |
//!
//! [`Suspicions`] counts the claims that no honest receiver makes. A packet that never left is refused where its
//! number is looked up, in [`crate::sent_packets::SentPacketTracker`].

mod delay;
mod peer_clock;
mod receivable;
mod suspicions;
mod transit;

use core::time::Duration;

use crate::units::Rate;

pub(crate) use delay::BelievedDelay;
pub(crate) use peer_clock::PeerClock;
pub use receivable::Receivable;
pub use suspicions::Suspicions;
pub(crate) use transit::BelievedTransit;

/// The shortest believed round trip: the resolution of a clock, so that no division by zero occurs.
pub(crate) const MIN_RTT: Duration = Duration::from_micros(1);
/// X stays below this rate whatever a receiver claims, so that time passes between two packets: 8 Tb/s, beyond any host.
pub(crate) const MAX_RATE: Rate = Rate::from_bytes_per_sec(1e12);
/// The largest believed α, and the inverse of the smallest: no queue changes a rate by more between two reports, and a larger
/// claim would merge all losses into one event.
pub(crate) const MAX_STRETCH: f64 = 2.0;
