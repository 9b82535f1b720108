//! RTP payload formats: their headers only. The crate `media` decides where a frame is cut.

pub mod h264;
pub mod jpeg;
pub mod raw;
