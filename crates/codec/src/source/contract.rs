//! The contract of a source of pictures, and its errors.

use std::io;

use super::format::Format;
use super::program::Program;
use crate::picture::Picture;

/// A stream of pictures.
///
/// It has no clock: [`Source::next`] gives the next picture as soon as it has it, and the caller
/// asks at the frame rate. Files and pipes may block meanwhile; a camera blocks until it has one.
pub trait Source {
    /// What the pictures look like; it does not change.
    fn format(&self) -> Format;

    /// The next picture; `None` at the end.
    ///
    /// # Errors
    /// If the stream breaks. It is over then.
    fn next(&mut self) -> Result<Option<Picture>, SourceError>;

    /// The program that the pictures come from, if one does.
    fn program(&self) -> Option<Program> {
        None
    }
}

/// Why there are no more pictures.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file or device cannot be opened or read.
    #[error("{input}: {error}")]
    Io {
        /// What was read.
        input: String,
        /// Why it failed.
        #[source]
        error: io::Error,
    },
    /// A field of the stream has a value that cannot be taken.
    #[error("video stream: {field} is {value}")]
    Invalid {
        /// Which.
        field: &'static str,
        /// What it says.
        value: String,
    },
    /// The program `ffmpeg` is not there, or cannot be run.
    #[error("cannot run ffmpeg: {0}")]
    NoFfmpeg(#[source] io::Error),
    /// `ffmpeg` cannot read the input.
    #[error("ffmpeg cannot read {input}: {message}")]
    Ffmpeg {
        /// What it was to read.
        input: String,
        /// The last line it said.
        message: String,
    },
}
