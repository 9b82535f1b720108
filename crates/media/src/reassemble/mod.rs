//! Frames from RTP payloads, one file a payload format.

mod chunk;
pub mod jpeg;
