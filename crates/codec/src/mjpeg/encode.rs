//! Codes coefficients to restart intervals.

use tfrc::units::Bytes;

use super::coefficients::Coefficients;
use super::entropy::IntervalCoder;
use super::tables::Scale;
use crate::coder::PictureSizeError;
use crate::picture::{JpegImage, Picture, Sampling};

/// The largest side that fits into RFC 2435 §3.1.5.
pub(super) const MAX_SIDE: u16 = 2040;

/// The most MCUs of an interval, unless the caller chooses: 320 columns.
///
/// At the half byte a pixel of good quality a row of blocks has 160 bytes, so these MCUs have some 320. Several
/// intervals share a packet of 1,400 bytes, and a lost packet costs few rows. Each interval adds about 4.5 bytes:
/// its marker, its padding and a mean coded anew.
const LONGEST_INTERVAL: usize = 20;

/// Returns the restart interval for pictures of this width: a row of MCUs in the fewest equal parts of at most
/// twenty.
pub fn restart_interval_for(width: usize) -> u16 {
    let row = width.div_ceil(16).max(1);
    row.div_ceil(row.div_ceil(LONGEST_INTERVAL)) as u16
}

/// Codes a picture at `scale`, in intervals of [`restart_interval_for`] its width.
///
/// # Errors
/// Returns an error if the picture is larger than RFC 2435 can carry.
pub fn encode(picture: &Picture, scale: Scale) -> Result<JpegImage, PictureSizeError> {
    check_size(picture)?;
    let mut coefficients = Coefficients::default();
    coefficients.transform(picture);
    let mut scan = Scan::default();
    scan.code(&coefficients, scale, restart_interval_for(picture.width()));
    Ok(scan.image(&coefficients, scale))
}

/// The coded intervals of a picture, end to end in memory that the next picture reuses.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    restart_interval: u16,
    bytes: Vec<u8>,
    /// The end of each interval in `bytes`.
    ends: Vec<usize>,
}

impl Scan {
    /// Codes the whole picture; an interval of 0 MCUs makes it one piece.
    pub fn code(&mut self, picture: &Coefficients, scale: Scale, restart_interval: u16) {
        self.code_every(1, picture, scale, restart_interval);
    }

    /// Codes every `stride`-th interval only, with the same bytes as in the whole.
    pub fn code_every(
        &mut self,
        stride: usize,
        picture: &Coefficients,
        scale: Scale,
        restart_interval: u16,
    ) {
        self.restart_interval = restart_interval;
        self.bytes.clear();
        self.ends.clear();
        let coder = IntervalCoder::new(scale);
        for interval in picture
            .mcus()
            .chunks(chunk(restart_interval))
            .step_by(stride)
        {
            coder.code(interval, &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
    }

    /// Returns the size of the coded bytes and the two-byte markers between intervals, as [`JpegImage::scan_size`].
    pub fn size(&self) -> Bytes {
        Bytes::from(self.bytes.len() + 2 * self.ends.len().saturating_sub(1))
    }

    /// Returns the coded picture; `picture` and `scale` must be the arguments of the coding.
    pub fn image(&self, picture: &Coefficients, scale: Scale) -> JpegImage {
        let (width, height) = picture.size();
        let mut start = 0;
        let cut = |&end: &usize| {
            let interval = self.bytes[start..end].to_vec();
            start = end;
            Some(interval)
        };
        JpegImage {
            width,
            height,
            sampling: Sampling::Yuv420,
            tables: scale.tables(),
            restart_interval: self.restart_interval,
            intervals: self.ends.iter().map(cut).collect(),
        }
    }
}

/// Returns the MCUs of a piece.
pub(super) fn chunk(restart_interval: u16) -> usize {
    match restart_interval {
        0 => usize::MAX,
        mcus => usize::from(mcus),
    }
}

/// The possible sizes in the words of a `PictureSizeError`.
pub(crate) const POSSIBLE_SIZES: &str =
    "JPEG over RTP has sides that are multiples of 8, up to 2040";

/// Refuses a side that is zero or above 2040, which RFC 2435 cannot carry.
pub(crate) fn check_size(picture: &Picture) -> Result<(), PictureSizeError> {
    let (width, height) = (picture.width(), picture.height());
    let possible = 1..=usize::from(MAX_SIDE);
    if possible.contains(&width) && possible.contains(&height) {
        return Ok(());
    }
    Err(PictureSizeError {
        width,
        height,
        possible: POSSIBLE_SIZES,
    })
}

/// Returns the side nearest to this one that fits into RFC 2435 §3.1.5, which counts blocks of 8 in one byte. A
/// side that has to change is at least 16.
pub(crate) fn nearest_side(side: usize) -> usize {
    let largest = usize::from(MAX_SIDE);
    if side.is_multiple_of(8) && side <= largest {
        side
    } else {
        ((side.min(largest) + 4) / 8 * 8).max(16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::pictures;

    #[test]
    fn a_row_is_cut_into_equal_intervals() {
        let intervals = [16, 176, 320, 336, 640, 1280, 2040].map(restart_interval_for);
        assert_eq!(intervals, [1, 11, 20, 11, 20, 20, 19]);
    }

    #[test]
    fn a_finer_scale_costs_more() {
        let mut picture = Picture::new(33, 31);
        for (i, sample) in picture.planes_mut()[0].iter_mut().enumerate() {
            *sample = (i * 37 % 251) as u8;
        }
        let size = |quality| {
            let image = encode(&picture, Scale::from_quality(quality)).expect("small");
            assert_eq!(image.intervals.len(), 2);
            image.scan_size()
        };
        assert!(size(5.0) < size(50.0) && size(50.0) < size(95.0));
    }

    #[test]
    fn sizes_fall_in_small_steps_with_fine_tables() {
        let picture = &pictures((192, 128), 25, 1)[0];
        let size = |factor| {
            let image = encode(picture, Scale::new(factor)).expect("small");
            image.scan_size().as_f64()
        };
        // The scales are from Q = 97 to 80.
        let mut factor = 0.06;
        while factor < 0.4 {
            let step = size(factor * 1.01) / size(factor);
            assert!((0.95..=1.003).contains(&step), "{factor}: {step}");
            factor *= 1.01;
        }
    }

    #[test]
    fn a_picture_beyond_the_format_is_refused() {
        let error = encode(&Picture::new(2041, 8), Scale::ANNEX_K).expect_err("too wide");
        assert_eq!(error.width, 2041);
        assert!(encode(&Picture::new(0, 0), Scale::ANNEX_K).is_err());
    }
}
