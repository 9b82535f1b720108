//! Motion JPEG as RFC 2435 carries it: baseline, 4:2:0, standard Huffman tables, restart intervals.
//!
//! # Why our own coder
//!
//! An encoder that must hit a size codes a picture several times. A library starts each time from
//! the samples; here [`Coefficients`] are computed once, and each try quantises and codes them
//! again. The decoder is ours because the network delivers *intervals*: each is decoded by itself
//! straight into I420, so one that is missing or damaged costs its own MCUs and no others, and no
//! chroma is interpolated only to be averaged again.
//!
//! The tests hold both against `zune-jpeg`; `cargo bench -p evenkeel-media --bench codec` has the
//! times.

mod bits;
mod coefficients;
mod dct;
mod decode;
mod encode;
mod entropy;
pub mod jfif;
mod tables;

pub use coefficients::Coefficients;
pub use decode::{DecodeError, Decoded, Decoder};
pub use encode::{PictureSizeError, Scan, encode, restart_interval_for};
pub use tables::{Scale, rfc2435_tables};
