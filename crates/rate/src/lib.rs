//! The path model: the rate that keeps the delay of a call short, within the bound of TFRC.
//!
//! [TFRC](tfrc) gives the rate that is fair to TCP, and that rate fills every drop-tail queue. A call needs its frames in time,
//! so it sends at a lower rate, which keeps the queueing delay at a target. [`PathModel`] estimates that rate from the
//! arrivals of packets:
//!
//! ```text
//! packets sent ──► PathModel ──► rate, pace and size of the next frame
//! deliveries  ──►     │
//!                     ├─ clock         arrival times that the receiver's clock bears out
//!                     ├─ windowed_min  base delay: the delay of the empty path
//!                     ├─ signal        queueing delay apart from noise
//!                     ├─ bursts        the bottleneck's rate, by the stretch of each frame
//!                     ├─ cross         evidence of cross traffic that keeps a queue standing
//!                     └─ law           the rate: growth, back-off, or TFRC's X alone
//! ```
//!
//! Each frame is a probe: its packets leave as a burst at twice the rate, and the spread of their arrivals measures the
//! bottleneck. The probe needs neither packets nor delay of its own.
//!
//! # The law
//!
//! - **Growth.** While the queueing delay is below its target the rate grows. A burst that arrives as it left shows room for
//!   its pace, and the rate doubles in half a round. A stretched burst has filled the bottleneck, and the rate grows in
//!   proportion to the root of the flow's share of the link.
//! - **Back-off.** While the queueing delay is above its target the rate falls once a round, by a small share and by the
//!   growth of the queue. Then frames are shortened until the excess has drained.
//! - **Rounds are seconds, not round trips**, so that flows of any round trip share a link alike (RFC 8867 §5.5).
//! - **The target depends on the rate alone** and falls as the rate rises: flows that share a queue are pulled to one rate.
//! - **Cross traffic** that keeps a queue standing, or overflows two queues in a row, makes the flow compete at TFRC's X. The
//!   flow returns to delay when the queue has gone. After [`Params::hold`] it also returns when the queue has passed its
//!   peak: all flows observe that moment, so that flows which compete with each other alone return together.
//!
//! The rate never exceeds TFRC's X while packets are under way ([`PathModel::set_bound`]), whatever a receiver reports.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bursts;
mod clock;
mod coarse;
mod cross;
mod deliveries;
mod frame;
mod law;
mod law_state;
mod longer_path;
mod model;
mod number;
mod params;
mod queue;
mod random_loss;
mod sent;
mod signal;
mod standing;
mod transit_reports;
mod window;
mod windowed_min;

#[cfg(test)]
mod bad_input;

pub use law_state::Mode;
pub use model::PathModel;
pub use params::Params;
pub use transit_reports::TransitReport;
