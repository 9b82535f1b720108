//! The real clock: paced UDP sockets and the relay that emulates a link.
//!
//! Made for Linux. Other Unix systems lack some of what makes it punctual and exact: kernel receive
//! times, segmentation offload, the timer slack. There it works with what remains, which [`probe`]
//! reports.
#![deny(unsafe_code)]

mod clock;
mod driver;
mod lateness;
mod packet_info;
mod probe;
mod relay;
mod socket;
mod transmit;
mod wait;

pub use clock::Clock;
pub use driver::{Driver, DriverError, DriverStats, Handle};
pub use lateness::Lateness;
pub use probe::{ProbeError, ProbeReport, probe};
pub use relay::{
    CrossTraffic, Direction, HEADERS, LinkSnapshot, Relay, RelayConfig, RelayError, RelayEvent,
    RelayGone, RelayHandle, RelaySnapshot,
};
pub use socket::{BindError, Outgoing, ReceiveBatch, Received, Socket};
pub use transmit::SendCounters;
