//! RTP payload formats: their headers, not what is cut where.

pub mod jpeg;
pub mod raw;
