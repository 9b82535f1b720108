//! RTP, RTCP, the TFRC profile and the session, without I/O.
#![forbid(unsafe_code)]

pub mod endpoint;
