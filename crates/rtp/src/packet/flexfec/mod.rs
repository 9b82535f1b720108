//! Flexible forward error correction (RFC 8627): makes repair packets, and recovers lost media packets from them.
//!
//! A repair packet is the exclusive or of the media packets that its header names. If one of them is missing, the
//! repair packet and the others recover it, including its RTP header. Of the RFC's forms this is the flexible mask
//! (R = 0, F = 0, §4.2.2.1) over one source, which can name any packets of a frame of any size. Repair packets are
//! a source of their own, whose CSRC list names the protected source.

mod decoder;
mod encoder;
mod header;

pub use decoder::{Decoder, Unusable};
pub use encoder::{Encoder, dummy};
pub use header::{MAX_SPAN, OVERHEAD};
