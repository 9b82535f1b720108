//! Flexible forward error correction (RFC 8627): repair packets from media packets, and lost media packets
//! from both.
//!
//! A repair packet is the exclusive or of the media packets that its header names; where one of those is
//! missing it gives that one back, RTP header and all. Of the RFC's forms this is the one with a flexible
//! mask (R = 0, F = 0, §4.2.2.1) over one source: it can name any packets of a frame of any size. Repair
//! packets travel as a source of their own, whose CSRC list names the source that they repair.

mod decoder;
mod encoder;
mod header;

pub use decoder::{Decoder, Unusable};
pub use encoder::{Encoder, dummy};
pub use header::{MAX_SPAN, OVERHEAD};
