//! TCP-Friendly Rate Control (RFC 5348), without I/O.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod ecn;
pub mod time;
pub mod units;

pub use ecn::Ecn;
