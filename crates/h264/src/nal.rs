//! The types of NAL units that this crate distinguishes (H.264 table 7-1).

pub(crate) const SLICE: u8 = 1;
pub(crate) const KEYFRAME_SLICE: u8 = 5;
pub(crate) const SPS: u8 = 7;
pub(crate) const PPS: u8 = 8;

/// Returns the type in the header of a NAL unit.
pub(crate) const fn unit_type(header: u8) -> u8 {
    header & 0x1f
}
