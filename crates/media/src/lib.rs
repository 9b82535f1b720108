//! Live video at any rate: sources, encoder with a size target, sending buffer, playout, sinks.
#![forbid(unsafe_code)]

mod age;
mod back_queue;
pub mod call;
mod ceiling;
mod chain;
pub mod codec;
mod departures;
mod drain;
mod drift;
pub mod event;
mod fall;
pub mod filler;
pub mod frame;
mod halves;
pub mod packetize;
pub mod playout;
pub mod policy;
pub mod quality;
pub mod rate_target;
pub mod reassemble;
pub mod receiver;
pub mod report;
pub mod resize;
mod rtt_track;
pub mod sender;
pub mod sending_buffer;
pub mod sink;
pub mod source;
