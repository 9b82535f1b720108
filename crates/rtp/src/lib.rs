//! RTP, RTCP, the TFRC profile and the session, without I/O.
//!
//! | Module | Content |
//! |---|---|
//! | [`endpoint`] | the contract of every protocol object |
//! | [`session`] | one end of a call: start here |
//! | [`packet`] | wire formats: checked views to read, plain values to write |
//! | [`packet::rtp`], [`packet::ext`], [`packet::rtcp`] | packets and header extensions |
//! | [`packet::payload`] | payload headers (RFC 2435, RFC 4175, RFC 6184) |
//! | [`packet::flexfec`] | repair packets (RFC 8627) |
//! | [`packet::sdp`] | the description of a stream |
//! | [`ntp`] | wall-clock time on the wire |
//!
//! Only two formats carry the quantities of TFRC: [`packet::ext::RttSendTs`] in each media packet (R and the send
//! time), and [`packet::rtcp::TfrcFeedback`] in reports (X_recv, p, and the echo that gives the round-trip time).
#![forbid(unsafe_code)]

pub mod endpoint;
pub mod ntp;
pub mod packet;
pub mod session;
