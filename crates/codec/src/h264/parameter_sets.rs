//! The parameter sets of a stream of H.264, known before the first picture.

use evenkeel_h264::{Encoder as Coder, Qp};

use super::encode::planes;
use crate::picture::Picture;

/// The types of the NAL units of parameter sets (H.264 table 7-1).
const SEQUENCE: u8 = 7;
const PICTURE: u8 = 8;

/// The parameter sets that every keyframe of a stream repeats, each a NAL unit without start code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterSets {
    /// The sequence parameter set.
    pub sequence: Vec<u8>,
    /// The picture parameter set.
    pub picture: Vec<u8>,
}

/// Gives the parameter sets of pictures of this size; `None` if there are none.
pub fn parameter_sets((width, height): (usize, usize)) -> Option<ParameterSets> {
    let mut coder = Coder::new(width, height).ok()?;
    let black = Picture::new(width, height);
    let units = coder.encode_keyframe(&planes(&black), Qp::COARSEST).ok()?;
    let set = |kind: u8| {
        let mut units = units.iter();
        units.find(|unit| unit.first().is_some_and(|header| header & 0x1f == kind))
    };
    Some(ParameterSets {
        sequence: set(SEQUENCE)?.clone(),
        picture: set(PICTURE)?.clone(),
    })
}
