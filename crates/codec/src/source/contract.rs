//! The contract of a source of pictures, and its errors.

use std::io;

use super::format::Format;
use super::program::Program;
use crate::picture::Picture;

/// A stream of pictures.
///
/// A source has no clock: [`Source::next`] returns the next picture as soon as it is available, and the caller asks
/// at the frame rate. Files and pipes may block meanwhile; a camera blocks until it has a picture.
pub trait Source {
    /// Returns the format of the pictures, which does not change.
    fn format(&self) -> Format;

    /// Returns the next picture; `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the stream breaks, which also ends it.
    fn next(&mut self) -> Result<Option<Picture>, SourceError>;

    /// Returns the program that produces the pictures, if there is one.
    fn program(&self) -> Option<Program> {
        None
    }
}

/// The reason for which there are no more pictures.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file or device cannot be opened or read.
    #[error("{input}: {error}")]
    Io {
        /// The name of the input.
        input: String,
        /// Why it failed.
        #[source]
        error: io::Error,
    },
    /// A field of the stream has an unsupported value.
    #[error("video stream: {field} is {value}")]
    Invalid {
        /// The name of the field.
        field: &'static str,
        /// The value of the field.
        value: String,
    },
    /// The program `ffmpeg` is missing, or cannot be run.
    #[error("cannot run ffmpeg: {0}")]
    NoFfmpeg(#[source] io::Error),
    /// `ffmpeg` cannot read the input.
    #[error("ffmpeg cannot read {input}: {message}")]
    Ffmpeg {
        /// The name of the input.
        input: String,
        /// The last line of its output.
        message: String,
    },
}
