//! RTP, RTCP, the TFRC profile and the session, without I/O.
//!
//! | Module | What it holds |
//! |---|---|
//! | [`endpoint`] | the contract of every protocol object |
//! | [`session`] | one end of a call: start here |
//! | [`rtp`], [`ext`], [`rtcp`] | packets: checked views to read, plain values to write |
//! | [`payload`] | payload headers (RFC 2435, RFC 4175, RFC 6184) |
//! | [`flexfec`] | repair packets (RFC 8627): made, and used
//! | [`sdp`] | the description of a stream |
//!
//! TFRC's quantities travel in two places and nowhere else: [`ext::RttSendTs`] in each media packet
//! (R and the send time), [`rtcp::TfrcFeedback`] on the way back (X_recv, p, and the echo that gives
//! the round-trip time).
#![forbid(unsafe_code)]

pub mod endpoint;
pub mod ext;
pub mod flexfec;
pub mod ntp;
pub mod payload;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod session;
pub mod wire;

pub use wire::ParseError;
