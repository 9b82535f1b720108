//! `--record`: received pictures as a file, which ends at its first error and never ends the call.

mod container;
mod first_size;
mod rate;
mod y4m;

use std::io;

use evenkeel_codec::picture::{CodedPicture, Picture};
use evenkeel_codec::sink::Sink;

pub(crate) use self::container::{Container, ContainerRecording};
pub(crate) use self::y4m::Y4mRecording;
use crate::failure;

/// A sink whose failure is reported at once, and again at the end of the run.
pub(crate) struct Recording {
    /// The sink, or the error with which it ended.
    sink: Result<Box<dyn Sink + Send>, io::Error>,
}

impl Recording {
    pub(crate) fn new(sink: impl Sink + Send + 'static) -> Self {
        Self {
            sink: Ok(Box::new(sink)),
        }
    }

    /// Writes to the sink, if there is still one.
    fn write(&mut self, write: impl FnOnce(&mut dyn Sink) -> io::Result<()>) {
        let Ok(sink) = &mut self.sink else {
            return;
        };
        if let Err(error) = write(sink.as_mut()) {
            failure::warn(format_args!(
                "{error}; the recording ends here, and the call goes on"
            ));
            self.sink = Err(error);
        }
    }
}

impl Sink for Recording {
    fn show(&mut self, picture: &Picture) -> io::Result<()> {
        self.write(|sink| sink.show(picture));
        Ok(())
    }

    fn show_coded(
        &mut self,
        picture: &Picture,
        coded: &CodedPicture,
        timestamp: u32,
    ) -> io::Result<()> {
        self.write(|sink| sink.show_coded(picture, coded, timestamp));
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Ok(sink) => sink.finish(),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("the recording is not whole: {error}"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full at its third picture.
    struct Fills(usize);

    impl Sink for Fills {
        fn show(&mut self, _picture: &Picture) -> io::Result<()> {
            self.0 += 1;
            assert!(self.0 <= 3, "a write after the last");
            match self.0 {
                3 => Err(io::ErrorKind::StorageFull.into()),
                _ => Ok(()),
            }
        }

        fn finish(&mut self) -> io::Result<()> {
            unreachable!("there is nothing to finish")
        }
    }

    #[test]
    fn full_disk_ends_the_recording_alone() {
        let mut recording = Recording::new(Fills(0));
        for _ in 0..10 {
            assert!(recording.show(&Picture::new(16, 16)).is_ok());
        }
        let error = recording.finish().expect_err("the disk was full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("not whole"), "{error}");
    }
}
