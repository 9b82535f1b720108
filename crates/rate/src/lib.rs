//! The path model: what rate keeps the delay of a call, below what TFRC allows.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod base;
mod bursts;
mod cross;
mod model;
mod params;
mod sent;
mod signal;
mod window;

pub use model::{Mode, PathModel};
pub use params::Params;
