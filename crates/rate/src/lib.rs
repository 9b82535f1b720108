//! The path model: what rate keeps the delay of a call, below what TFRC allows.
//!
//! [TFRC](tfrc) gives the rate that is fair to TCP, and fills every queue. A call wants its frames in time, so it sends at a
//! lower rate: the one at which the queue stays at a target that all flows of the queue share. [`PathModel`] learns that rate
//! from the arrivals of packets:
//!
//! ```text
//! packets sent ──► PathModel ──► rate, pace and size of the next frame
//! deliveries  ──►     │
//!                     ├─ clock         which arrival times are believed
//!                     ├─ windowed_min  delay of the empty path
//!                     ├─ signal        queueing delay apart from noise
//!                     ├─ bursts        the bottleneck's rate, by the stretch of each frame
//!                     ├─ cross         whether others keep the queue standing
//!                     └─ law           the rate: growth, back-off, or TFRC's X alone
//! ```
//!
//! Each frame is a probe: it leaves as a burst at twice the rate, and the spread of its arrivals measures the bottleneck
//! without a packet or a millisecond more than the frame needs.
//!
//! # The law
//!
//! - **Growth.** While the queue is below its target the rate grows. A burst that arrives as it left proves room for its pace,
//!   and the rate doubles in half a round. A burst that was stretched has met the bottleneck, and the rate grows in
//!   proportion to the root of its share of the link.
//! - **Back-off.** While the queue is beyond its target the rate falls by a small share each round, and by what the queue
//!   grows. Then frames are shortened until what was too much has drained.
//! - **Rounds are seconds, not round trips**, so that five calls over 20 to 300 ms share a link alike (RFC 8867 §5.5).
//! - **The target depends on the rate alone** and falls as it rises: flows that share a queue are pulled to one rate.
//! - **Cross traffic** that keeps a queue standing, or fills it twice until packets are lost, makes the flow
//!   compete at TFRC's X, until the queue has gone or a test at a moment that all flows share finds the path empty.
//!
//! What a receiver claims can only lower the rate: TFRC's X is never exceeded ([`PathModel::set_bound`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bursts;
mod clock;
mod coarse;
mod cross;
mod law;
mod model;
mod number;
mod params;
mod queue;
mod random_loss;
mod sent;
mod signal;
mod standing;
mod window;
mod windowed_min;

#[cfg(test)]
mod bad_input;

pub use coarse::TransitReport;
pub use model::{Mode, PathModel};
pub use params::Params;
