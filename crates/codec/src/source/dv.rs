//! Reads raw DV from a file or a pipe: DIF blocks alone, as on a camera's tape.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::contract::{Source, SourceError};
use super::format::{Format, FrameRate};
use crate::dif::{BLOCK, BlockId, System};
use crate::dv;
use crate::picture::{DvFrame, Picture};

/// Reads frames of one system, and returns each with its picture in the coarse form that needs no decoder.
#[derive(Debug)]
pub struct DvFile<R = BufReader<File>> {
    input: R,
    name: String,
    system: System,
    format: Format,
    /// The first frame, which determined the system.
    first: Option<DvFrame>,
}

impl DvFile {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no raw DV of 25 Mb/s.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(BufReader::new(file), name),
            Err(error) => Err(SourceError::Io { input: name, error }),
        }
    }
}

impl<R: Read> DvFile<R> {
    /// Reads the first frame of a stream; errors call the stream `name`.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read, or is no raw DV of 25 Mb/s.
    pub fn new(mut input: R, name: String) -> Result<Self, SourceError> {
        let Some(frame) = read_frame(&mut input, &name)? else {
            return Err(broken(&name));
        };
        let system = frame.system;
        let (numerator, denominator) = system.frame_rate();
        let frame_rate = FrameRate::new(numerator, denominator);
        let frame_rate = frame_rate.ok_or_else(|| broken(&name))?;
        let (width, height) = system.size();
        Ok(Self {
            input,
            name,
            system,
            format: Format {
                width,
                height,
                frame_rate,
            },
            first: Some(frame),
        })
    }
}

impl<R: Read> Source for DvFile<R> {
    fn format(&self) -> Format {
        self.format
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        let frame = match self.first.take() {
            Some(frame) => Some(frame),
            None => read_frame(&mut self.input, &self.name)?,
        };
        match frame {
            Some(frame) if frame.system != self.system => Err(SourceError::Invalid {
                field: "DV system",
                value: format!("{} after {}", frame.system.encode(), self.system.encode()),
            }),
            frame => Ok(frame.map(dv::picture)),
        }
    }
}

/// Reads the next frame, with each block in the place that it names; `None` at the end.
fn read_frame(input: &mut impl Read, name: &str) -> Result<Option<DvFrame>, SourceError> {
    let wrong = |error| SourceError::Io {
        input: name.to_owned(),
        error,
    };
    let mut data = Vec::new();
    let mut read = |data: &mut Vec<u8>, len: usize| {
        let mut limited = input.take((len - data.len()) as u64);
        limited.read_to_end(data).map_err(wrong)
    };
    if read(&mut data, BLOCK)? == 0 {
        return Ok(None);
    }
    let system = System::of_header(&data).ok_or_else(|| SourceError::Invalid {
        field: "DIF header",
        value: format!(
            "{}, not that of DV of 25 Mb/s",
            data[..data.len().min(5)].escape_ascii()
        ),
    })?;
    read(&mut data, system.frame_len())?;
    if data.len() < system.frame_len() {
        return Err(broken(name));
    }
    for (place, block) in data.chunks_exact(BLOCK).enumerate() {
        if BlockId::parse(block) != Some(BlockId::at(place)) {
            return Err(SourceError::Invalid {
                field: "DIF block ID",
                value: format!("{} in block {place} of a frame", block[..3].escape_ascii()),
            });
        }
    }
    Ok(Some(DvFrame {
        system,
        data,
        missing: Vec::new(),
    }))
}

/// Returns the error that the stream ends within a frame.
fn broken(name: &str) -> SourceError {
    SourceError::Io {
        input: name.to_owned(),
        error: io::ErrorKind::UnexpectedEof.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::dv_frame;
    use proptest::prelude::*;

    fn frame(system: System) -> Vec<u8> {
        let mut frame = dv_frame(system, 0).data;
        if system == System::Lines625 {
            for block in frame.chunks_exact_mut(BLOCK) {
                block[3] = 0x80;
            }
        }
        frame
    }

    fn read(stream: &[u8]) -> Result<usize, String> {
        let message = |error: SourceError| error.to_string();
        let mut source = DvFile::new(stream, "tape".into()).map_err(message)?;
        let mut frames = 0;
        while let Some(picture) = source.next().map_err(message)? {
            assert!(picture.dv().is_some());
            frames += 1;
        }
        Ok(frames)
    }

    #[test]
    fn the_first_header_tells_the_format() {
        for (system, size, rate) in [
            (System::Lines525, (720, 480), "30000/1001"),
            (System::Lines625, (720, 576), "25"),
        ] {
            let stream = frame(system).repeat(3);
            let format = DvFile::new(stream.as_slice(), "tape".into())
                .unwrap()
                .format();
            assert_eq!((format.width, format.height), size);
            assert_eq!(format.frame_rate.to_string(), rate);
            assert_eq!(read(&stream), Ok(3));
        }
    }

    #[test]
    fn error_names_what_is_no_dv() {
        let whole = frame(System::Lines525);
        let changed = |at: usize, byte: u8| {
            let mut stream = whole.repeat(2);
            stream[at] = byte;
            stream
        };
        for (stream, expected) in [
            (Vec::new(), "tape: unexpected end of file"),
            (whole[..50].to_vec(), "tape: unexpected end of file"),
            (whole[..119_999].to_vec(), "tape: unexpected end of file"),
            (
                b"RIFF, and so on".repeat(9),
                "DIF header is RIFF,, not that of DV",
            ),
            (changed(120_001, 0x0f), "DIF header is \\x1f\\x0f\\x00"),
            (changed(120_003, 0x80), "unexpected end of file"),
            (changed(82, 1), "DIF block ID is ?\\x07\\x01 in block 1"),
        ] {
            let message = read(&stream).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        let mixed = [whole.clone(), frame(System::Lines625)].concat();
        let message = read(&mixed).unwrap_err();
        assert!(
            message.contains("DV system is SD-VCR/625-50 after SD-VCR/525-60"),
            "{message}"
        );
    }

    proptest! {
        #[test]
        fn no_stream_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let mut stream = frame(System::Lines525);
            stream.extend(&bytes);
            let _ = read(&stream);
        }
    }
}
