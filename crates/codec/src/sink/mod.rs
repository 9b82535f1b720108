//! The outputs of pictures: a file, or nowhere.

mod dv;
mod y4m;

use std::io;

use crate::picture::{CodedPicture, Picture};
pub use dv::DvFile;
pub use y4m::Y4mFile;

/// A sink of pictures, which shows each when it is called.
pub trait Sink {
    /// Shows `picture` now.
    ///
    /// # Errors
    /// Returns an error if the picture cannot be written, or its size is not the stream's.
    fn show(&mut self, picture: &Picture) -> io::Result<()>;

    /// Shows `picture` now, which was decoded from `coded`; `timestamp` is the time of its capture on a clock of 90 kHz.
    ///
    /// # Errors
    /// As [`show`](Self::show), which this calls unless the sink keeps the coded form or the time.
    fn show_coded(
        &mut self,
        picture: &Picture,
        coded: &CodedPicture,
        timestamp: u32,
    ) -> io::Result<()> {
        let _ = (coded, timestamp);
        self.show(picture)
    }

    /// Writes the buffered bytes; no more pictures follow.
    ///
    /// # Errors
    /// Returns the error of the write, which dropping the sink would hide.
    fn finish(&mut self) -> io::Result<()>;
}

/// A sink that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Sink for Null {
    fn show(&mut self, _picture: &Picture) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
