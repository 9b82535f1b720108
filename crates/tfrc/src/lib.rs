//! TCP-Friendly Rate Control (RFC 5348), without I/O.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod ecn;
pub mod equation;
mod float;
pub mod loss;
pub mod pacer;
pub mod receiver;
pub mod sender;
pub mod seq;
pub mod time;
pub mod trace;
pub mod units;

pub use ecn::Ecn;
pub use receiver::{Arrival, Receiver, ReceiverConfig, Report};
pub use sender::{Feedback, Sender, SenderConfig};
