//! Live video at any rate: sources, encoder with a size target, sending buffer, playout, sinks.
#![forbid(unsafe_code)]

pub mod frame;
