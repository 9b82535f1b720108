//! Motion JPEG as RFC 2435 carries it: baseline, 4:2:0, standard Huffman tables, restart intervals.
//!
//! # Reasons for a coder of our own
//!
//! An encoder that must hit a size codes a picture several times. A library starts each time from the samples; here
//! [`Coefficients`] are computed once, and each pass quantises and codes them again. Measured at 1280x720 and half
//! a bit a pixel on one core of a virtual Xeon (the best of a hundred runs, as the machine was shared):
//! `jpeg-encoder` 0.7.1 with its AVX2 code takes 4.9 ms a pass, so 9.8 ms with one correction.
//! [`crate::rate_target`] takes 3.1 ms for its probes and its passes together (4.1 ms in the median, with the
//! target moving), of which the transform takes 2.0 ms. The command is `cargo bench -p evenkeel-codec --bench
//! codec`.
//!
//! The network delivers *intervals*, so our decoder decodes each by itself straight into I420. A missing or damaged
//! interval thus costs its own MCUs and no others, and chroma is not interpolated only to be averaged again. It
//! takes 2.6 ms where `zune-jpeg` 0.5.15 with AVX2 takes 2.0 ms to a picture in 4:4:4, which would still have to be
//! shrunk and concealed.
//!
//! The tests compare the coder with both.

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
