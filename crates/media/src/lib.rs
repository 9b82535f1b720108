//! Live video at any rate: sources, encoder with a size target, sending buffer, playout, sinks.
#![forbid(unsafe_code)]

pub mod codec;
pub mod frame;
pub mod quality;
pub mod rate_target;
pub mod sink;
pub mod source;
