//! The places of MCUs and blocks in the planes of a picture.

use crate::picture::{Picture, Sampling};

/// Returns the columns and rows of a plane.
pub(super) fn plane_size(picture: &Picture, plane: usize) -> (usize, usize) {
    match plane {
        0 => (picture.width(), picture.height()),
        _ => (picture.chroma_width(), picture.chroma_height()),
    }
}

/// The places of MCUs and their blocks.
pub(super) struct Layout {
    /// The MCUs in a row.
    pub(super) columns: usize,
    pub(super) sampling: Sampling,
}

impl Layout {
    /// Returns the blocks of an MCU in coding order: plane, then column and row in blocks.
    pub(super) fn blocks(&self) -> &'static [(usize, usize, usize)] {
        match self.sampling {
            Sampling::Yuv422 => &[(0, 0, 0), (0, 1, 0), (1, 0, 0), (2, 0, 0)],
            Sampling::Yuv420 => &[
                (0, 0, 0),
                (0, 1, 0),
                (0, 0, 1),
                (0, 1, 1),
                (1, 0, 0),
                (2, 0, 0),
            ],
        }
    }

    /// Returns the samples of an I420 plane that an MCU covers: across and down.
    pub(super) fn extent(&self, plane: usize) -> (usize, usize) {
        let rows = match self.sampling {
            Sampling::Yuv422 => 8,
            Sampling::Yuv420 => 16,
        };
        if plane == 0 {
            (16, rows)
        } else {
            (8, rows / 2)
        }
    }

    /// Returns the first column and row of an MCU in a plane.
    pub(super) fn origin(&self, mcu: usize, plane: usize) -> (usize, usize) {
        let (across, down) = self.extent(plane);
        (mcu % self.columns * across, mcu / self.columns * down)
    }
}
