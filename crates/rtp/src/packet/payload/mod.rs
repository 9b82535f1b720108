//! RTP payload formats: their headers, not what is cut where.

pub mod h264;
pub mod jpeg;
pub mod raw;
