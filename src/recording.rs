//! `--record`: received pictures as a y4m file, whose header waits for the first picture's size.

use std::fs::File;
use std::io;
use std::path::Path;

use evenkeel_media::frame::Picture;
use evenkeel_media::sink::{Sink, Y4mFile};
use evenkeel_media::source::{Format, FrameRate};

/// A y4m file that takes its size from the first picture.
pub(crate) enum Recording {
    /// Created, and empty.
    Waiting(File, FrameRate),
    /// With its header, and pictures.
    Running(Y4mFile),
    /// It failed; the error was given.
    Broken,
}

impl Recording {
    /// Creates the file, or empties it, so that a wrong path is known at once.
    pub(crate) fn create(path: &Path, frame_rate: FrameRate) -> io::Result<Self> {
        File::create(path).map(|file| Self::Waiting(file, frame_rate))
    }
}

impl Sink for Recording {
    fn show(&mut self, picture: &Picture) -> io::Result<()> {
        if let Self::Waiting(..) = self
            && let Self::Waiting(file, frame_rate) = std::mem::replace(self, Self::Broken)
        {
            let format = Format {
                width: picture.width(),
                height: picture.height(),
                frame_rate,
            };
            *self = Self::Running(Y4mFile::new(file, format)?);
        }
        match self {
            Self::Running(file) => file.show(picture),
            Self::Waiting(..) | Self::Broken => Ok(()),
        }
    }
}
