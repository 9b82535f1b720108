//! Motion JPEG as RFC 2435 carries it: baseline, 4:2:0, standard Huffman tables, restart intervals.
//!
//! # Why our own coder
//!
//! An encoder that must hit a size codes a picture several times. A library starts each time from
//! the samples; here [`Coefficients`] are computed once, and each try quantises and codes them
//! again. Measured at 1280x720 and half a bit a pixel on one core of a virtual Xeon (the best of a
//! hundred, as the machine was shared): `jpeg-encoder` 0.7.1 with its AVX2 code takes 4.9 ms a pass,
//! so 9.8 ms with one correction; [`crate::rate_target`] takes 3.1 ms for its probes and its passes
//! together (4.1 ms in the median, with the target moving), of which the transform has 2.0 ms. That is `cargo bench -p evenkeel-codec --bench codec`.
//!
//! The decoder is ours because the network delivers *intervals*: each is decoded by itself straight
//! into I420, so one that is missing or damaged costs its own MCUs and no others, and no chroma is
//! interpolated only to be averaged again. It takes 2.6 ms where `zune-jpeg` 0.5.15 with AVX2 takes
//! 2.0 ms to a picture in 4:4:4, which would still have to be shrunk and mended.
//!
//! The tests hold the coder against both.

mod bits;
mod coefficients;
mod conceal;
mod dct;
mod decode;
mod encode;
mod entropy;
pub mod jfif;
mod layout;
mod range;
mod tables;

pub use coefficients::Coefficients;
pub use decode::Decoder;
pub(crate) use encode::{POSSIBLE_SIZES, check_size, nearest_side};
pub use encode::{Scan, encode, restart_interval_for};
pub use tables::{Scale, rfc2435_tables};
