//! Where pictures go: a file, or nowhere.

mod dv;
mod y4m;

use std::io;

use crate::picture::Picture;
pub use dv::DvFile;
pub use y4m::Y4mFile;

/// Something that shows pictures, one after another, when it is told to.
pub trait Sink {
    /// Shows `picture` now.
    ///
    /// # Errors
    /// If it cannot be written, or its size is not the stream's.
    fn show(&mut self, picture: &Picture) -> io::Result<()>;

    /// Writes what is buffered: no more pictures come.
    ///
    /// # Errors
    /// If that fails; dropping the sink instead would hide it.
    fn finish(&mut self) -> io::Result<()>;
}

/// Shows nothing.
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
