//! H.264, each picture coded to the size that the network has for it.
//!
//! [Trials](evenkeel_h264::Encoder::try_out) of the same picture tell what it weighs with a quantiser or two
//! (`coders.rs`), how its size goes on from there is known of pictures in general and learnt of this stream's pictures
//! (`size.rs`), from how much differs from the picture before (`change.rs`) and from the quantiser of that.
//! Between one quantiser and the next, half an octave apart where little moves, lies the same picture a little
//! softer (`soften.rs`). A trial costs as much time as the picture: 720p has one, and before it, where pictures are
//! not like the last ones, one of a fifth of its rows (`strips.rs`). What was misjudged badly is
//! coded once more, as a keyframe, if that can be smaller: it needs nothing of the picture it replaces.
//!
//! There is no delay: no B pictures, nothing looked ahead at, one reference. A keyframe weighs no more than
//! any picture, as the next one would be late. Keyframes come first and when one is asked for; a cut needs none.

mod change;
mod coders;
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
use evenkeel_h264::{MAX_SIDES, MIN_SIDE};

/// What a [`PictureSizeError`](crate::PictureSizeError) says.
pub(crate) const POSSIBLE_SIZES: &str =
    "H.264 has even sides from 16 on, and at most 3840x2160 or 2160x3840";

/// True if there are pictures of this size.
pub const fn is_possible(width: usize, height: usize) -> bool {
    let (longer, shorter) = if width > height {
        (width, height)
    } else {
        (height, width)
    };
    let even = width.is_multiple_of(2) && height.is_multiple_of(2);
    even && longer <= MAX_SIDES.0 && shorter <= MAX_SIDES.1 && shorter >= MIN_SIDE
}

/// The size nearest to this one that can be sent.
pub(crate) fn nearest_size(width: usize, height: usize) -> (usize, usize) {
    let most = if width >= height {
        MAX_SIDES
    } else {
        (MAX_SIDES.1, MAX_SIDES.0)
    };
    let side = |side: usize, most| side.clamp(MIN_SIDE, most).next_multiple_of(2);
    (side(width, most.0), side(height, most.1))
}
