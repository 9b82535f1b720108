//! An uncompressed picture from RTP payloads (RFC 4175), each written where it says it belongs.

use evenkeel_codec::picture::RawPicture;
use evenkeel_rtp::packet::payload::raw::{GROUP_422, RawPayload};

use super::Refused;
use super::coverage::Coverage;
use crate::event::NotShown;

/// The most packets of one frame: a picture of 3840x2160 in 4:2:2, 1,012 bytes in each.
pub(super) const MAX_FRAME_PACKETS: usize = 16_384;

/// The most pieces of a picture between which something is missing: a packet of a sender's is one, however many
/// lines it has.
const MAX_RANGES: usize = MAX_FRAME_PACKETS;

/// Columns and rows of a picture whose last packet this is: its last line ends in the lower right corner. `None` if it is
/// of a second field, which has half the lines.
pub(super) fn size_by_end(payload: &RawPayload<'_>) -> Option<(u16, u16)> {
    let (segment, pixels) = payload.segments().last()?;
    let columns = u16::try_from(pixels.len() / 2).ok()?;
    let width = segment.offset.checked_add(columns)?;
    (!segment.second_field).then_some((width, segment.line + 1))
}

/// One picture being put together.
#[derive(Debug)]
pub(super) struct RawAssembly {
    picture: RawPicture,
    covered: Coverage,
}

impl RawAssembly {
    /// A picture of which nothing has come.
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

    /// Takes in a packet. One that leaves the picture is refused as a whole.
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

    /// Every sample is there.
    pub(super) fn is_complete(&self) -> bool {
        self.covered.is_whole(self.picture.data.len())
    }

    /// The picture, with what is missing.
    pub(super) fn finish(mut self) -> Result<RawPicture, NotShown> {
        self.picture.missing = self.covered.holes(self.picture.data.len())?;
        Ok(self.picture)
    }
}
