//! YUV4MPEG2 streams: raw pictures behind a line of text, from a file or from `ffmpeg`'s pipe.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::contract::{Source, SourceError};
use super::format::{Format, FrameRate};
use crate::picture::{BLACK, CHROMA, GREY, Picture, WHITE};

/// Longest header line taken; real ones have some 60 bytes.
const LONGEST_LINE: u64 = 1024;

/// With which every stream begins.
const SIGNATURE: &[u8] = b"YUV4MPEG2";

/// Largest side taken: 8K. A picture is then at most 200 MB, and read before it is believed.
pub const MAX_SIDE: usize = 8192;

/// Reads pictures of 8 bits in 4:2:0, 4:2:2, 4:4:4 or luma alone, and gives them as 4:2:0.
#[derive(Debug)]
pub struct Y4m<R = BufReader<File>> {
    input: R,
    name: String,
    format: Format,
    chroma: Chroma,
    is_full_range: bool,
}

/// How the stream samples its chroma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chroma {
    Yuv420,
    Yuv422,
    Yuv444,
    Mono,
}

impl Y4m {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no such stream.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(BufReader::new(file), name),
            Err(error) => Err(SourceError::Io { input: name, error }),
        }
    }
}

impl<R: BufRead> Y4m<R> {
    /// Reads the header of a stream; `name` is what errors call it.
    ///
    /// # Errors
    /// If it cannot be read, or is no such stream.
    pub fn new(mut input: R, name: String) -> Result<Self, SourceError> {
        let line = match first_bytes(&mut input) {
            Ok(start) if has_signature(start) => read_line(&mut input),
            // What is no such stream need not have lines.
            Ok(start) => return Err(no_signature(start)),
            Err(error) => Err(error),
        };
        let line = match line {
            Ok(line) => line,
            Err(error) => return Err(SourceError::Io { input: name, error }),
        };
        let (format, chroma, is_full_range) = parse_header(&line)?;
        Ok(Self {
            input,
            name,
            format,
            chroma,
            is_full_range,
        })
    }

    fn read_picture(&mut self) -> Result<Option<Picture>, SourceError> {
        let line = read_line(&mut self.input).map_err(|error| self.error(error))?;
        if line.is_empty() {
            return Ok(None);
        }
        if line != b"FRAME" && !line.starts_with(b"FRAME ") {
            let remedy = "each picture begins with FRAME; where files were joined or damaged, let ffmpeg make one of them";
            return Err(invalid_and("frame header", &line, remedy));
        }
        let size = self.chroma.samples(self.format);
        let mut data = Vec::new();
        let mut limited = (&mut self.input).take(size as u64);
        let read = limited.read_to_end(&mut data);
        match read {
            Ok(read) if read == size => {
                let mut picture = self.chroma.to_420(self.format, data);
                if self.is_full_range {
                    limit(&mut picture);
                }
                Ok(Some(picture))
            }
            Ok(_) => Err(self.error(io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, error: io::Error) -> SourceError {
        SourceError::Io {
            input: self.name.clone(),
            error,
        }
    }
}

impl<R: BufRead> Source for Y4m<R> {
    fn format(&self) -> Format {
        self.format
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        self.read_picture()
    }
}

/// A line without its end; empty at the end of the stream.
fn read_line(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    match line.pop() {
        None | Some(b'\n') => Ok(line),
        Some(_) if line.len() as u64 + 1 == LONGEST_LINE => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a y4m stream",
        )),
        Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Format, chroma, and whether the samples are of 0 to 255.
fn parse_header(line: &[u8]) -> Result<(Format, Chroma, bool), SourceError> {
    let missing = |field| invalid(field, b"missing");
    let mut words = line.split(|&byte| byte == b' ');
    if words.next() != Some(SIGNATURE) {
        return Err(no_signature(line));
    }
    let (mut width, mut height, mut frame_rate) = (None, None, None);
    let (mut chroma, mut is_full_range) = (Chroma::Yuv420, false);
    for word in words {
        let Some((&tag, value)) = word.split_first() else {
            continue;
        };
        match tag {
            b'W' => width = Some(side("width", value)?),
            b'H' => height = Some(side("height", value)?),
            b'F' => frame_rate = Some(rate(value)?),
            b'C' => chroma = Chroma::named(value)?,
            // FFmpeg's word for samples as JPEG has them.
            b'X' if value == b"COLORRANGE=FULL" => is_full_range = true,
            // Interlacing, pixel aspect and comments change nothing here.
            _ => {}
        }
    }
    let format = Format {
        width: width.ok_or_else(|| missing("width"))?,
        height: height.ok_or_else(|| missing("height"))?,
        frame_rate: frame_rate.ok_or_else(|| missing("frame rate"))?,
    };
    Ok((format, chroma, is_full_range))
}

fn side(field: &'static str, value: &[u8]) -> Result<usize, SourceError> {
    let side = str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok());
    side.filter(|side| (1..=MAX_SIDE).contains(side))
        .ok_or_else(|| invalid(field, value))
}

fn rate(value: &[u8]) -> Result<FrameRate, SourceError> {
    let parse = || {
        let (numerator, denominator) = str::from_utf8(value).ok()?.split_once(':')?;
        FrameRate::new(numerator.parse().ok()?, denominator.parse().ok()?)
    };
    parse().ok_or_else(|| invalid("frame rate", value))
}

/// Whether a stream that begins so may be one: a pipe may have given less than all of the signature.
/// What comes first, and stays to be read; a signal only delays it.
fn first_bytes(input: &mut impl BufRead) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => return input.fill_buf(),
        }
    }
}

fn has_signature(start: &[u8]) -> bool {
    let len = start.len().min(SIGNATURE.len());
    !start.is_empty() && start[..len] == SIGNATURE[..len]
}

fn no_signature(start: &[u8]) -> SourceError {
    let line = start.split(|&byte| byte == b'\n').next();
    let shown: &[u8] = match line {
        _ if start.is_empty() => b"missing",
        Some(line) if !line.is_empty() && line.iter().all(|byte| (b' '..=b'~').contains(byte)) => {
            line
        }
        _ => b"no text",
    };
    let remedy = "y4m begins with YUV4MPEG2; give a file of another kind its own ending, and ffmpeg reads it";
    invalid_and("signature", shown, remedy)
}

fn invalid(field: &'static str, value: &[u8]) -> SourceError {
    let value = shown(value);
    SourceError::Invalid { field, value }
}

/// The same, with what helps.
fn invalid_and(field: &'static str, value: &[u8], remedy: &str) -> SourceError {
    let value = format!("{}: {remedy}", shown(value));
    SourceError::Invalid { field, value }
}

/// Enough to recognise it; a stream that is no text is not poured into an error.
fn shown(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(64)])
        .escape_debug()
        .collect()
}

impl Chroma {
    fn named(value: &[u8]) -> Result<Self, SourceError> {
        match value {
            // The siting of the samples differs by half of one, which a test picture may ignore.
            b"420" | b"420jpeg" | b"420mpeg2" | b"420paldv" => Ok(Self::Yuv420),
            b"422" => Ok(Self::Yuv422),
            b"444" => Ok(Self::Yuv444),
            b"mono" => Ok(Self::Mono),
            _ => Err(invalid("colour space", value)),
        }
    }

    fn samples(self, Format { width, height, .. }: Format) -> usize {
        let luma = width * height;
        match self {
            Self::Yuv420 => Picture::samples(width, height),
            Self::Yuv422 => luma + 2 * width.div_ceil(2) * height,
            Self::Yuv444 => 3 * luma,
            Self::Mono => luma,
        }
    }

    /// The picture of `data`, which has exactly [`Chroma::samples`].
    fn to_420(self, Format { width, height, .. }: Format, data: Vec<u8>) -> Picture {
        let columns = match self {
            Self::Yuv420 => {
                return Picture::from_data(width, height, data)
                    .unwrap_or_else(|| Picture::new(width, height));
            }
            Self::Yuv422 => width.div_ceil(2),
            Self::Yuv444 => width,
            Self::Mono => 0,
        };
        let mut picture = Picture::new(width, height);
        let (luma, chroma) = data.split_at(width * height);
        let [y, cb, cr] = picture.planes_mut();
        y.copy_from_slice(luma);
        if columns > 0 {
            let (from_cb, from_cr) = chroma.split_at(chroma.len() / 2);
            for (from, to) in [(from_cb, cb), (from_cr, cr)] {
                shrink(from, columns, to, width.div_ceil(2));
            }
        }
        picture
    }
}

/// From samples of 0 to 255 to the range of [`Picture`].
fn limit(picture: &mut Picture) {
    let [black, grey] = [BLACK, GREY].map(u16::from);
    let [luma, chroma] = [WHITE - BLACK, CHROMA.1 - CHROMA.0].map(u16::from);
    let [y, cb, cr] = picture.planes_mut();
    for sample in y {
        *sample = ((u16::from(*sample) * luma + 127) / 255 + black) as u8;
    }
    for sample in [cb, cr].into_iter().flatten() {
        // Greys are the same in both.
        *sample = ((u16::from(*sample) * chroma + grey * (255 - chroma) + 127) / 255) as u8;
    }
}

/// Averages two rows, and two columns if `from` has more of them than `to`.
fn shrink(from: &[u8], from_columns: usize, to: &mut [u8], columns: usize) {
    let step = if from_columns > columns { 2 } else { 1 };
    for (pair, row) in from.chunks(2 * from_columns).zip(to.chunks_mut(columns)) {
        let above = &pair[..from_columns];
        // The last row of an odd height has none below.
        let below = pair.get(from_columns..).filter(|row| !row.is_empty());
        let below = below.unwrap_or(above);
        for (i, sample) in row.iter_mut().enumerate() {
            let x = i * step;
            let right = (x + step - 1).min(from_columns - 1);
            let corners = [above[x], above[right], below[x], below[right]];
            let sum: u16 = corners.into_iter().map(u16::from).sum();
            *sample = ((sum + 2) / 4) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(stream: &[u8]) -> Result<Vec<Picture>, SourceError> {
        let mut source = Y4m::new(stream, "test".into())?;
        let mut pictures = Vec::new();
        while let Some(picture) = source.next()? {
            pictures.push(picture);
        }
        Ok(pictures)
    }

    fn message(stream: &[u8]) -> String {
        read(stream).expect_err("must fail").to_string()
    }

    #[test]
    fn pictures_are_read_to_the_end() {
        let stream = b"YUV4MPEG2 W2 H2 F25:1 Ip XYSCSS=420JPEG\nFRAME\n123456FRAME Ip\nabcdef";
        let pictures = read(stream).expect("valid");
        assert_eq!(pictures.len(), 2);
        assert_eq!(pictures[1].data(), b"abcdef");
    }

    #[test]
    fn other_chroma_is_averaged_to_420() {
        let cases: [(&str, &[u8], &[u8]); 3] = [
            (
                "422",
                &[1, 2, 3, 15, 30, 45, 60],
                &[1, 2, 3, 15, 30, 45, 60],
            ),
            (
                "444",
                &[1, 2, 3, 10, 20, 30, 41, 51, 61],
                &[1, 2, 3, 15, 30, 46, 61],
            ),
            ("mono", &[1, 2, 3], &[1, 2, 3, 128, 128, 128, 128]),
        ];
        for (name, samples, expected) in cases {
            let mut stream = format!("YUV4MPEG2 W3 H1 F1:1 C{name}\nFRAME\n").into_bytes();
            stream.extend(samples);
            assert_eq!(read(&stream).expect(name)[0].data(), expected, "{name}");
        }
    }

    #[test]
    fn two_rows_of_422_become_one() {
        let mut stream = b"YUV4MPEG2 W2 H2 F1:1 C422\nFRAME\n".to_vec();
        stream.extend([1, 2, 3, 4, 10, 20, 30, 41]);
        assert_eq!(
            read(&stream).expect("valid")[0].data(),
            [1, 2, 3, 4, 15, 36]
        );
    }

    #[test]
    fn full_range_becomes_that_of_video() {
        let mut stream = b"YUV4MPEG2 W3 H1 F1:1 C420jpeg XCOLORRANGE=FULL\nFRAME\n".to_vec();
        stream.extend([0, 128, 255, 0, 128, 255, 1]);
        let expected = [16, 126, 235, 16, 128, 240, 16];
        assert_eq!(read(&stream).expect("valid")[0].data(), expected);
    }

    #[test]
    fn errors_name_the_field_and_its_value() {
        let begins = "y4m begins with YUV4MPEG2; give a file of another kind its own ending, and ffmpeg reads it";
        let frames = "each picture begins with FRAME; where files were joined or damaged, let ffmpeg make one of them";
        for (stream, expected) in [
            ("", &format!("signature is missing: {begins}")[..]),
            ("RIFF\n", &format!("signature is RIFF: {begins}")),
            ("\0\0\0 ftyp", &format!("signature is no text: {begins}")),
            ("YUV4MPEG\n", &format!("signature is YUV4MPEG: {begins}")),
            ("YUV4MPEG2 W0 H2 F1:1\n", "width is 0"),
            ("YUV4MPEG2 W2 H99999 F1:1\n", "height is 99999"),
            ("YUV4MPEG2 W2 H2 F25:0\n", "frame rate is 25:0"),
            ("YUV4MPEG2 W2 H2\n", "frame rate is missing"),
            ("YUV4MPEG2 W2 H2 F1:1 C420p10\n", "colour space is 420p10"),
            (
                "YUV4MPEG2 W2 H2 F1:1\nFRAMES\n",
                &format!("frame header is FRAMES: {frames}"),
            ),
        ] {
            assert_eq!(
                message(stream.as_bytes()),
                format!("video stream: {expected}")
            );
        }
    }

    #[test]
    fn a_stream_cut_in_a_picture_is_broken() {
        let stream = b"YUV4MPEG2 W2 H2 F25:1\nFRAME\n12345";
        assert!(message(stream).contains("end of file"));
        assert!(read(&[b'x'; 4096]).is_err());
    }

    proptest! {
        #[test]
        fn no_stream_panics(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = b"YUV4MPEG2 W3 H3 F25:1\n".to_vec();
            bytes.extend(&stream);
            let _ = read(&bytes);
            let _ = read(&stream);
        }
    }
}
