//! `--record`: received pictures as a y4m file, whose header waits for the first picture's size.

use std::io;

use evenkeel_codec::picture::Picture;
use evenkeel_codec::resize::fitted;
use evenkeel_codec::sink::{Sink, Y4mFile};
use evenkeel_codec::source::{Format, FrameRate};

use crate::failure;
use crate::output_file::OutputFile;

/// A y4m file that takes its size from the first picture.
///
/// Pictures with a half, a quarter, twice or four times its sides are scaled. Pictures of another size, which a
/// restarted peer may send, are left out, because the file cannot hold them. Each kind of loss is reported once.
pub(crate) enum Recording {
    /// The file is empty.
    Waiting(OutputFile, FrameRate),
    /// The file has a header and pictures of this format; also the losses that were reported.
    Running(Y4mFile<OutputFile>, Format, Vec<RecordingLoss>),
    /// The recording failed, and the error was reported.
    Broken,
}

/// The loss of a later picture, if it has another size than the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordingLoss {
    /// The picture is recorded with fewer columns and rows than it has.
    Samples,
    /// The picture is left out.
    Picture,
}

impl RecordingLoss {
    /// Returns the loss of a picture; `None` if all of it is recorded. `is_fitted` means that it can be scaled to
    /// fit.
    fn of(picture: &Picture, format: &Format, is_fitted: bool) -> Option<Self> {
        match is_fitted {
            false => Some(Self::Picture),
            true => (picture.width() > format.width).then_some(Self::Samples),
        }
    }

    /// Returns the warning, with its remedy.
    fn warning(self, picture: &Picture, format: &Format) -> String {
        let what = match self {
            Self::Samples => {
                "are made smaller: it began while the sender halved the sides of its pictures, or with another sender"
            }
            Self::Picture => "are left out: a y4m file has one size",
        };
        format!(
            "--record has pictures of {}x{}, that of the first; those of {}x{} {what}; start again to record all of them",
            format.width,
            format.height,
            picture.width(),
            picture.height(),
        )
    }
}

impl Recording {
    /// Creates a recording in this file, which is empty.
    pub(crate) fn new(file: OutputFile, frame_rate: FrameRate) -> Self {
        Self::Waiting(file, frame_rate)
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
            *self = Self::Running(Y4mFile::new(file, format)?, format, Vec::new());
        }
        match self {
            Self::Running(file, format, told) => {
                let fitted = fitted(picture, (format.width, format.height));
                if let Some(loss) = RecordingLoss::of(picture, format, fitted.is_some())
                    && !told.contains(&loss)
                {
                    failure::warn(loss.warning(picture, format));
                    told.push(loss);
                }
                fitted.map_or(Ok(()), |picture| file.show(&picture))
            }
            Self::Waiting(..) | Self::Broken => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Running(file, ..) => file.finish(),
            Self::Waiting(..) | Self::Broken => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::DEFAULT_FRAME_RATE;

    #[test]
    fn recording_goes_on_when_the_size_changes() {
        let path = std::env::temp_dir().join(format!("evenkeel-sizes-{}.y4m", std::process::id()));
        let file = OutputFile::create("--record", &path).unwrap();
        let mut recording = Recording::new(file, DEFAULT_FRAME_RATE);
        for side in [16, 24, 24, 32, 32, 16] {
            recording.show(&Picture::new(side, side)).unwrap();
        }
        recording.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        let header = written.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(written.len() - header, 4 * (6 + 16 * 16 * 3 / 2));
        let Recording::Running(_, format, told) = &recording else {
            panic!("it failed");
        };
        // Each loss is reported once.
        assert_eq!(told, &[RecordingLoss::Picture, RecordingLoss::Samples]);
        let larger = Picture::new(32, 32);
        let warning = RecordingLoss::Samples.warning(&larger, format);
        assert!(
            warning.contains("16x16") && warning.contains("32x32"),
            "{warning}"
        );
    }

    #[test]
    fn halved_pictures_lose_nothing_in_a_full_recording() {
        let format = Format {
            width: 32,
            height: 32,
            frame_rate: DEFAULT_FRAME_RATE,
        };
        for side in [8, 16, 32] {
            assert_eq!(
                RecordingLoss::of(&Picture::new(side, side), &format, true),
                None
            );
        }
    }
}
