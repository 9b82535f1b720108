//! Live video at any rate: sources, encoder with a size target, sending buffer, playout, sinks.
#![forbid(unsafe_code)]

mod age;
pub mod call;
mod chain;
pub mod codec;
mod drift;
pub mod event;
pub mod filler;
pub mod frame;
mod halves;
mod least;
pub mod packetize;
pub mod playout;
pub mod policy;
pub mod quality;
pub mod rate_target;
pub mod reassemble;
pub mod receiver;
pub mod report;
pub mod resize;
pub mod sender;
pub mod sending_buffer;
pub mod sink;
pub mod source;
