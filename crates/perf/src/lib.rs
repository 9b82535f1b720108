//! The traffic generator: TFRC flows of dummy data between a [`Server`] and its [`Client`]s.
//!
//! Both are [endpoints](evenkeel_rtp::endpoint): bytes and time in, bytes and time out. One socket carries
//! the messages that agree on a test and end it ([`control`]) and the RTP sessions of all its flows; a
//! synchronisation source names the flow and the side. A test goes so:
//!
//! ```text
//! client                                server
//!   Hello ─────────────────────────────►        any address may say it: nothing is kept
//!        ◄───────────────────────── Token       no longer than the Hello
//!   Request (token, terms) ────────────►        the address is proved: the limits are asked
//!        ◄──────────── Accept, or Refuse        why, and what would be allowed
//!   RTP and RTCP of each flow ◄────────►        for as long as agreed
//!   Finish ────────────────────────────►
//!        ◄─────────────────────── Results       what the server sent and received, flow by flow
//!   Goodbye ───────────────────────────►
//! ```
//!
//! Whatever is lost of these the client asks for again. A server forgets a client that is silent.
#![forbid(unsafe_code)]

pub mod control;

mod client;
mod count;
mod flow;
mod flows;
mod limit;
mod server;
mod terms;
mod token;

pub use client::{Client, ClientConfig, ClientError, Phase};
pub use count::Count;
pub use flow::FlowState;
pub use flows::FlowEvent;
pub use limit::RateLimited;
pub use server::{Server, ServerConfig, ServerEvent, ServerEventKind};
pub use terms::{Direction, Limits, Mode, Refusal, ReportTiming, Terms};
