//! H.264, with each picture coded to the size that the network permits.
//!
//! [Trials](evenkeel_h264::Encoder::try_out) of the same picture give its size at a quantiser or two (`coders.rs`).
//! The size at other quantisers follows from a general law and from the stream's earlier pictures (`size.rs`). The
//! law depends on the change from the picture before (`change.rs`) and on that picture's quantiser. Successive
//! quantisers are half an octave apart where little moves; a slightly softer picture lies between them
//! (`soften.rs`). A trial takes as much time as the picture. 720p has one trial, and before it, where pictures
//! differ from the last ones, one of a fifth of its rows (`strips.rs`). A picture that was badly misjudged is coded
//! again as a keyframe, if a keyframe can be smaller: a keyframe needs nothing of the picture that it replaces.
//!
//! There is no delay: no B pictures, no look-ahead, one reference. A keyframe is no larger than any picture, as the
//! next one would be late. Keyframes come first and on request; a cut needs none.

mod change;
mod coders;
mod colour;
mod decode;
mod encode;
mod parameter_sets;
mod size;
mod soften;
mod strips;
#[cfg(test)]
mod tests;

pub use self::decode::Decoder;
pub use self::encode::Encoder;
pub use self::parameter_sets::{ParameterSets, parameter_sets};
pub use evenkeel_h264::HAS_ASSEMBLY;
pub use evenkeel_h264::decoder::DecodeError as H264DecodeError;
use evenkeel_h264::{MAX_SIDES, MIN_SIDE};

/// The possible sizes in the words of a [`PictureSizeError`](crate::PictureSizeError).
pub(crate) const POSSIBLE_SIZES: &str =
    "H.264 has even sides from 16 on, and at most 3840x2160 or 2160x3840";

/// Returns true if H.264 can send pictures of this size.
pub const fn is_possible(width: usize, height: usize) -> bool {
    let (longer, shorter) = if width > height {
        (width, height)
    } else {
        (height, width)
    };
    let even = width.is_multiple_of(2) && height.is_multiple_of(2);
    even && longer <= MAX_SIDES.0 && shorter <= MAX_SIDES.1 && shorter >= MIN_SIDE
}

/// Returns the nearest size to this one that can be sent.
pub(crate) fn nearest_size(width: usize, height: usize) -> (usize, usize) {
    let most = if width >= height {
        MAX_SIDES
    } else {
        (MAX_SIDES.1, MAX_SIDES.0)
    };
    let side = |side: usize, most| side.clamp(MIN_SIDE, most).next_multiple_of(2);
    (side(width, most.0), side(height, most.1))
}
