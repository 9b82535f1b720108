//! RTP, RTCP, the TFRC profile and the session, without I/O.
#![forbid(unsafe_code)]

pub mod endpoint;
pub mod ext;
pub mod ntp;
pub mod payload;
pub mod rtcp;
pub mod rtp;
pub mod session;
mod wire;

pub use wire::ParseError;
