//! Where pictures go: a file, or nowhere.

mod y4m;

use std::io;

use crate::frame::Picture;
pub use y4m::Y4mFile;

/// Something that shows pictures, one after another, when it is told to.
pub trait Sink {
    /// Shows `picture` now.
    ///
    /// # Errors
    /// If it cannot be written, or its size is not the stream's.
    fn show(&mut self, picture: &Picture) -> io::Result<()>;
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Sink for Null {
    fn show(&mut self, _picture: &Picture) -> io::Result<()> {
        Ok(())
    }
}
