//! Puts an uncompressed picture together from RTP payloads (RFC 4175): each names its place.

use evenkeel_codec::picture::RawPicture;
use evenkeel_rtp::packet::payload::raw::{GROUP_422, RawPayload};

use super::Refused;
use super::coverage::Coverage;
use crate::event::NotShown;

/// The most packets of one frame: a picture of 3840x2160 in 4:2:2, with 1,012 bytes in each.
pub(super) const MAX_FRAME_PACKETS: usize = 16_384;

/// The most separate pieces of a picture: a packet makes at most one, however many lines it has.
const MAX_RANGES: usize = MAX_FRAME_PACKETS;

/// Returns the width and height of a picture by its last packet, whose last line ends in the lower right corner.
/// Returns `None` for a second field, which has half the lines.
pub(super) fn size_by_end(payload: &RawPayload<'_>) -> Option<(u16, u16)> {
    let (segment, pixels) = payload.segments().last()?;
    let columns = u16::try_from(pixels.len() / 2).ok()?;
    let width = segment.offset.checked_add(columns)?;
    (!segment.second_field).then_some((width, segment.line + 1))
}

/// A picture that is being put together.
#[derive(Debug)]
pub(super) struct RawAssembly {
    picture: RawPicture,
    covered: Coverage,
}

impl RawAssembly {
    /// Creates an empty picture.
    pub(super) fn new(width: u16, height: u16) -> Self {
        let size = 2 * usize::from(width) * usize::from(height);
        Self {
            picture: RawPicture {
                width,
                height,
                data: vec![0; size],
                missing: Vec::new(),
            },
            covered: Coverage::default(),
        }
    }

    /// Records a packet. A packet that exceeds the picture is refused as a whole.
    pub(super) fn push(&mut self, payload: &RawPayload<'_>) -> Result<(), Refused> {
        let stride = self.picture.stride();
        let inside = |line: u16, offset: u16, len: usize| {
            line < self.picture.height
                && 2 * usize::from(offset) + len <= stride
                && len.is_multiple_of(GROUP_422)
                && offset.is_multiple_of(2)
        };
        let consistent = payload.segments().all(|(segment, pixels)| {
            !segment.second_field && inside(segment.line, segment.offset, pixels.len())
        });
        if !consistent {
            return Err(Refused::Inconsistent);
        }
        if self.covered.ranges() + payload.segments().count() > MAX_RANGES {
            return Err(Refused::Oversized);
        }
        for (segment, pixels) in payload.segments() {
            let start = usize::from(segment.line) * stride + 2 * usize::from(segment.offset);
            let range = start..start + pixels.len();
            self.picture.data[range.clone()].copy_from_slice(pixels);
            self.covered.insert(range);
        }
        Ok(())
    }

    /// Returns true if every sample has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.covered.is_whole(self.picture.data.len())
    }

    /// Returns the picture, with its missing parts.
    pub(super) fn finish(mut self) -> Result<RawPicture, NotShown> {
        self.picture.missing = self.covered.holes(self.picture.data.len())?;
        Ok(self.picture)
    }
}
