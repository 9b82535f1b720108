//! A recording of uncompressed pictures, whose header waits for the first picture's size and the stream's rate.

use std::io;

use evenkeel_codec::picture::{CodedPicture, Picture};
use evenkeel_codec::sink::{Sink, Y4mFile};
use evenkeel_codec::source::{Format, FrameRate};

use super::first_size::FirstSize;
use super::rate;
use crate::inputs::DEFAULT_FRAME_RATE;
use crate::output_file::OutputFile;

/// A y4m file that takes its size from the first picture.
pub(crate) struct Y4mRecording {
    state: State,
    /// The frame rate, unless it is to be measured.
    frame_rate: Option<FrameRate>,
}

enum State {
    /// The file is empty, and these pictures wait for its rate.
    Waiting(OutputFile, Vec<(u32, Picture)>),
    /// The file has a header.
    Running(Y4mFile<OutputFile>, FirstSize),
    /// A write failed.
    Broken,
}

/// The bytes of pictures at which a recording waits no longer for its rate.
const MAX_WAITING: usize = 64 << 20;

impl Y4mRecording {
    /// Creates a recording in this file, which is empty.
    pub(crate) fn new(file: OutputFile, frame_rate: Option<FrameRate>) -> Self {
        Self {
            state: State::Waiting(file, Vec::new()),
            frame_rate,
        }
    }

    /// Writes the header and the pictures that wait for it.
    fn begin(&mut self) -> io::Result<()> {
        let State::Waiting(file, waiting) = std::mem::replace(&mut self.state, State::Broken)
        else {
            return Ok(());
        };
        let Some((_, first)) = waiting.first() else {
            return Ok(());
        };
        let timestamps: Vec<u32> = waiting.iter().map(|(timestamp, _)| *timestamp).collect();
        let frame_rate = self.frame_rate.or_else(|| rate::of(&timestamps));
        let format = Format {
            width: first.width(),
            height: first.height(),
            frame_rate: frame_rate.unwrap_or(DEFAULT_FRAME_RATE),
        };
        self.state = State::Running(Y4mFile::new(file, format)?, FirstSize::of(first));
        waiting
            .iter()
            .try_for_each(|(_, picture)| self.show(picture))
    }
}

impl Sink for Y4mRecording {
    fn show(&mut self, picture: &Picture) -> io::Result<()> {
        match &mut self.state {
            State::Running(file, size) => size.fit(picture).map_or(Ok(()), |it| file.show(&it)),
            State::Waiting(..) | State::Broken => Ok(()),
        }
    }

    fn show_coded(
        &mut self,
        picture: &Picture,
        _coded: &CodedPicture,
        timestamp: u32,
    ) -> io::Result<()> {
        let State::Waiting(_, waiting) = &mut self.state else {
            return self.show(picture);
        };
        waiting.push((timestamp, picture.clone()));
        let bytes: usize = waiting.iter().map(|(_, it)| it.data().len()).sum();
        let is_enough = waiting.len() == rate::PICTURES || bytes >= MAX_WAITING;
        if self.frame_rate.is_some() || is_enough {
            self.begin()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.begin()?;
        match &mut self.state {
            State::Running(file, _) => file.finish(),
            State::Waiting(..) | State::Broken => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_codec::picture::AccessUnit;

    /// Returns a recording of pictures with these sides, one every `step` ticks.
    fn recorded(name: &str, frame_rate: Option<FrameRate>, sides: &[usize], step: u32) -> Vec<u8> {
        let path = std::env::temp_dir().join(format!("evenkeel-{name}-{}.y4m", std::process::id()));
        let file = OutputFile::create("--record", &path).unwrap();
        let mut recording = Y4mRecording::new(file, frame_rate);
        let coded = CodedPicture::from(AccessUnit::default());
        for (side, index) in sides.iter().zip(0..) {
            let picture = Picture::new(*side, *side);
            recording
                .show_coded(&picture, &coded, index * step)
                .unwrap();
        }
        recording.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        written
    }

    fn header(written: &[u8]) -> String {
        let line = written.split(|byte| *byte == b'\n').next();
        String::from_utf8_lossy(line.unwrap_or_default()).into_owned()
    }

    #[test]
    fn recording_goes_on_when_the_size_changes() {
        let sides = [16, 24, 24, 32, 32, 16];
        let written = recorded("sizes", Some(DEFAULT_FRAME_RATE), &sides, 3_600);
        let header = header(&written).len() + 1;
        assert_eq!(written.len() - header, 4 * (6 + 16 * 16 * 3 / 2));
    }

    #[test]
    fn unknown_rate_is_measured() {
        for (sides, step, expected) in [
            (&[16; 40][..], 1_500, "F60:1"),
            (&[16; 3], 3_003, "F30000:1001"),
            (&[16; 1], 3_003, "F25:1"),
        ] {
            let written = recorded("rate", None, sides, step);
            let line = header(&written);
            assert_eq!(written.len(), line.len() + 1 + sides.len() * (6 + 384));
            let rate = line.split(' ').find(|word| word.starts_with('F'));
            assert_eq!(rate, Some(expected), "{line}");
        }
    }

    #[test]
    fn recording_without_pictures_is_empty() {
        assert!(recorded("none", None, &[], 1).is_empty());
    }
}
