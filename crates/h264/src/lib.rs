//! H.264 for a sender that chooses the size of each picture, by OpenH264.
//!
//! OpenH264 is C++ that is compiled in. What it does with memory is its own: see [`decoder`] for what a
//! hostile stream can come to, and what is checked before it sees one.
#![deny(unsafe_code)]

mod bits;
pub mod decoder;
mod encoder;
mod nal;
mod options;
mod sps;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use encoder::{Encoder, MAX_SIDES, MIN_SIDE, Planes, Qp};
pub use sps::{Colour, Sps};

/// True if OpenH264 was built with assembly, without which it takes a multiple of the time.
pub const HAS_ASSEMBLY: bool = cfg!(assembly);

/// Why a picture was not coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are no pictures of this size, or the encoder codes another.
    #[error("picture of {width}x{height}")]
    Size {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// OpenH264 failed: it has no memory, or the picture needs a coarser quantiser.
    #[error(
        "OpenH264 has too little memory for pictures of this size; free memory, or send smaller pictures"
    )]
    Encoder,
}
