//! Coded frames as RTP payloads, one file a payload format.

pub mod jpeg;
pub mod tables;
