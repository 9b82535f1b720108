//! A call: pictures of [`evenkeel_codec`] sent at the rate of the network and shown in time, without sockets.
//!
//! - [`call`] is one end of a call; [`sender`] and [`receiver`] are its two sides.
//! - [`policy`] sets the size of each frame, [`filler`] fills the rate beside frames, [`sending_buffer`] holds coded frames.
//! - [`frame`] has frames as sent and as received, [`rtp_codec`] the RTP side of each codec.
//! - [`packetize`] cuts frames into payloads, [`reassemble`] puts them together again.
//! - [`playout`] decides when a frame is shown; `age.rs`, `drift.rs` and `chain.rs` measure what it needs.
//! - [`event`] has the frame events of the trace, [`report`] the figures of a run.
#![forbid(unsafe_code)]

mod age;
pub mod call;
mod chain;
mod coarse_minimum;
mod drift;
pub mod event;
pub mod filler;
pub mod frame;
pub mod packetize;
pub mod playout;
pub mod policy;
pub mod reassemble;
pub mod receiver;
pub mod report;
pub mod rtp_codec;
pub mod sender;
pub mod sending_buffer;
#[cfg(test)]
mod test_support;
