//! A file of raw DV, as `ffmpeg` and most editors read it.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::Sink;
use crate::picture::Picture;

/// Writes the frames that pictures of DV carry, byte for byte, and whole.
#[derive(Debug)]
pub struct DvFile<W: Write = File> {
    out: BufWriter<W>,
}

impl<W: Write> DvFile<W> {
    /// Creates the file, which has no header.
    pub fn new(out: W) -> Self {
        Self {
            out: BufWriter::new(out),
        }
    }
}

impl<W: Write> Sink for DvFile<W> {
    fn show(&mut self, picture: &Picture) -> io::Result<()> {
        match picture.dv() {
            Some(frame) => self.out.write_all(&frame.data),
            None => {
                let message = "a picture that is no DV in a file of DV";
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dif::System;
    use crate::picture::DvFrame;

    #[test]
    fn the_file_is_its_frames_and_nothing_else() {
        let frame = |fill| DvFrame {
            system: System::Lines525,
            data: vec![fill; 10],
            missing: Vec::new(),
        };
        let mut bytes = Vec::new();
        let mut file = DvFile::new(&mut bytes);
        for fill in [1, 2] {
            let picture = Picture::new(2, 2).with_dv(frame(fill));
            file.show(&picture).expect("memory");
        }
        assert!(file.show(&Picture::new(2, 2)).is_err());
        file.finish().expect("memory");
        drop(file);
        assert_eq!(bytes, [[1; 10], [2; 10]].concat());
    }
}
