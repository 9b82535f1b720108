//! `--record`: received pictures as a y4m file, whose header waits for the first picture's size.

use std::fs::File;
use std::io;
use std::path::Path;

use evenkeel_media::frame::Picture;
use evenkeel_media::resize::fitted;
use evenkeel_media::sink::{Sink, Y4mFile};
use evenkeel_media::source::{Format, FrameRate};

/// A y4m file that takes its size from the first picture. Those that were coded with half or a quarter of the sides, or
/// of which the first was, are made to fit; pictures of another size, which a peer may send that was started anew, are
/// left out: the file could not hold them.
pub(crate) enum Recording {
    /// Created, and empty.
    Waiting(File, FrameRate),
    /// With its header, and pictures of this format.
    Running(Y4mFile, Format),
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
            *self = Self::Running(Y4mFile::new(file, format)?, format);
        }
        match self {
            Self::Running(file, format) => match fitted(picture, (format.width, format.height)) {
                Some(picture) => file.show(&picture),
                None => Ok(()),
            },
            Self::Waiting(..) | Self::Broken => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Running(file, _) => file.finish(),
            Self::Waiting(..) | Self::Broken => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::DEFAULT_FRAME_RATE;

    #[test]
    fn a_peer_that_changes_its_size_does_not_end_the_recording() {
        let path = std::env::temp_dir().join(format!("evenkeel-sizes-{}.y4m", std::process::id()));
        let mut recording = Recording::create(&path, DEFAULT_FRAME_RATE).unwrap();
        for side in [16, 24, 32, 16] {
            recording.show(&Picture::new(side, side)).unwrap();
        }
        recording.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        let header = written.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(written.len() - header, 3 * (6 + 16 * 16 * 3 / 2));
    }
}
