//! One network hop without I/O: rate, delay, queue and loss.
//!
//! The simulator drives a [`Link`] in virtual time and the relay drives the same one in real time.
//!
//! ```
//! use evenkeel_link::{Link, LinkConfig, QueueLimit};
//! use tfrc::time::{Duration, Instant};
//! use tfrc::units::{Bytes, Rate};
//!
//! let config = LinkConfig {
//!     rate: Rate::from_bits_per_sec(1e6),
//!     delay: Duration::from_millis(30),
//!     queue: QueueLimit::Time(Duration::from_millis(50)),
//!     ..LinkConfig::default()
//! };
//! let mut link = Link::new(config, 1);
//! link.handle_packet(Instant::ZERO, "packet", Bytes::new(1_250));
//! // 10 000 bits take 10 ms at 1 Mb/s, and 30 ms to arrive.
//! let due = Instant::from_millis(40);
//! assert_eq!(link.poll_timeout(), Some(due));
//! assert_eq!(link.poll_output(due), Some("packet"));
//! ```
#![forbid(unsafe_code)]

mod counters;
mod event;
mod impairment;
mod in_flight;
mod link;
mod loss;
mod packet;
mod quantity;
mod queue;
mod random;
mod rate;
mod schedule;
mod trace_file;

pub use counters::{Count, Counters};
pub use event::{DropReason, Event};
pub use impairment::{Jitter, Reordering};
pub use link::{Link, LinkConfig};
pub use loss::{GilbertElliott, Loss, Policer};
pub use packet::Packet;
pub use quantity::parse_quantity;
pub use queue::{
    CoDelConfig, Discipline, FqCoDelConfig, PieConfig, QueueLimit, RedConfig, RedUnit,
};
pub use random::Random;
pub use schedule::{Change, Field, Schedule, ScheduleError};
pub use trace_file::{DeliveryTrace, DeliveryTraceError};
