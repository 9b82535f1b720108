//! A YUV4MPEG2 file, as `ffmpeg`, `mpv` and most tools read it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::Sink;
use crate::picture::Picture;
use crate::source::Format;

/// Writes pictures of one format to a file.
///
/// Each picture is one write, so all but the last are whole even if the process is killed, unless the disk refuses
/// one: Linux may end a write at the end of a page.
#[derive(Debug)]
pub struct Y4mFile<W: Write = File> {
    out: W,
    format: Format,
    /// The buffer of the next write.
    frame: Vec<u8>,
}

impl Y4mFile {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        Self::new(File::create(path)?, format)
    }
}

impl<W: Write> Y4mFile<W> {
    /// Writes the stream's header to `out`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, format: Format) -> io::Result<Self> {
        let Format {
            width,
            height,
            frame_rate,
        } = format;
        let (numerator, denominator) = (frame_rate.numerator(), frame_rate.denominator());
        // Chroma is sited between the luma samples, as in JPEG.
        let header =
            format!("YUV4MPEG2 W{width} H{height} F{numerator}:{denominator} Ip A1:1 C420jpeg\n");
        out.write_all(header.as_bytes())?;
        Ok(Self {
            out,
            format,
            frame: Vec::new(),
        })
    }
}

impl<W: Write> Sink for Y4mFile<W> {
    fn show(&mut self, picture: &Picture) -> io::Result<()> {
        let Format { width, height, .. } = self.format;
        if (picture.width(), picture.height()) != (width, height) {
            let (w, h) = (picture.width(), picture.height());
            let message = format!("picture of {w}x{h} in a file of {width}x{height}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        self.frame.clear();
        self.frame.extend_from_slice(b"FRAME\n");
        self.frame.extend_from_slice(picture.data());
        self.out.write_all(&self.frame)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FrameRate;

    fn format() -> Format {
        Format {
            width: 3,
            height: 1,
            frame_rate: FrameRate::new(30_000, 1001).expect("valid"),
        }
    }

    #[test]
    fn the_file_is_its_header_and_its_pictures() {
        let mut bytes = Vec::new();
        let mut file = Y4mFile::new(&mut bytes, format()).expect("memory");
        file.show(&Picture::new(3, 1)).expect("memory");
        drop(file);
        let expected: &[u8] = b"YUV4MPEG2 W3 H1 F30000:1001 Ip A1:1 C420jpeg\nFRAME\n\
            \x10\x10\x10\x80\x80\x80\x80";
        assert_eq!(bytes, expected);
    }

    /// The bytes of each write.
    struct Writes(Vec<Vec<u8>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_write_is_one_whole_picture() {
        let mut file = Y4mFile::new(Writes(Vec::new()), format()).expect("memory");
        for _ in 0..3 {
            file.show(&Picture::new(3, 1)).expect("memory");
        }
        let lengths: Vec<usize> = file.out.0.iter().skip(1).map(Vec::len).collect();
        assert_eq!(lengths, ["FRAME\n".len() + 7; 3]);
    }

    #[test]
    fn a_picture_of_another_size_is_refused() {
        let mut bytes = Vec::new();
        let mut file = Y4mFile::new(&mut bytes, format()).expect("memory");
        assert!(file.show(&Picture::new(1, 3)).is_err());
    }
}
