//! Video on demand: a [`Server`] that sends MPEG-TS over RTP (RFC 2250), bounded by TFRC, and a [`Player`] that counts stalls.
//!
//! Both are [endpoints](evenkeel_rtp::endpoint). A datagram carries seven TS packets, or as many as the way takes; its
//! RTP timestamp says when it was ready, so what it waited for behind TFRC can be told from what the network added.
//!
//! ```text
//! Rendition ─┐                                             ┌─ start-up buffer, stalls
//! Rendition ─┼► Title ─► Server ─ RTP ─► network ─► Player ┼─ loss, delay of each packet
//! Rendition ─┘    ▲        │ X, lag                        └► MPEG-TS in order, on time
//!                 └ Ladder ┘
//! ```
//!
//! - A [`Rendition`] reads a stream and says by its clock references when each TS packet is due.
//! - A [`Title`] is several of them with the same pictures; it changes from one to another where a picture
//!   depends on no other.
//! - A [`Ladder`] says when to change.
#![forbid(unsafe_code)]

mod demultiplexer;
mod entry;
mod ladder;
mod packet_reader;
mod player;
mod rendition;
mod rendition_cursor;
mod server;
mod tables;
#[cfg(test)]
mod test_stream;
mod title;
mod transit;
mod ts;
mod unheard;

pub use ladder::Ladder;
pub use packet_reader::Damage;
pub use player::{Player, PlayerConfig, PlayerFigures, PlayerState};
pub use rendition::{Rendition, RenditionError};
pub use server::{PlayerDeparture, Server, ServerConfig, ServerFigures};
pub use title::{Content, Datagram, Mismatch, Title, TitleError};
pub use ts::TS_LEN;

/// TS packets in a datagram: as many as fit into an Ethernet packet (RFC 2250 §2).
pub const TS_PER_DATAGRAM: usize = 7;
/// The longest payload of a datagram: 1,316 bytes.
pub const PAYLOAD_LEN: usize = TS_PER_DATAGRAM * TS_LEN;
/// An RTP packet's header with `rtt-sendts` and the transport-wide sequence number.
const HEADERS: usize = 28;
/// MPEG-TS (RFC 3551 §6).
pub const PAYLOAD_TYPE: u8 = 33;
/// Its clock (RFC 2250 §2).
pub const CLOCK_RATE: u32 = 90_000;

/// Returns how many TS packets a datagram carries whose UDP payload has at most this length: one at least, and seven
/// at most.
pub fn ts_per_datagram(greatest_payload: usize) -> usize {
    (greatest_payload.saturating_sub(HEADERS) / TS_LEN).clamp(1, TS_PER_DATAGRAM)
}
