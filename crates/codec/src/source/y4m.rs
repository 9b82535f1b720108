//! Reads YUV4MPEG2 streams from a file or from `ffmpeg`'s pipe: raw pictures after a line of text.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::contract::{Source, SourceError};
use super::format::{Format, FrameRate};
use crate::picture::{BLACK, CHROMA, GREY, Picture, WHITE};

/// The longest header line that is read; real ones have some 60 bytes.
const LONGEST_LINE: u64 = 1024;

/// The first bytes of every stream.
const SIGNATURE: &[u8] = b"YUV4MPEG2";

/// The largest side that is read: 8K. A picture then has at most 200 MB, and memory grows only as its bytes
/// arrive.
pub const MAX_SIDE: usize = 8192;

/// Reads pictures of 8 bits in 4:2:0, 4:2:2, 4:4:4 or luma alone, and returns them as 4:2:0.
#[derive(Debug)]
pub struct Y4m<R = BufReader<File>> {
    input: R,
    name: String,
    header: Header,
}

/// The first line of a stream.
#[derive(Clone, Copy, Debug)]
struct Header {
    format: Format,
    chroma: Chroma,
    /// True if the samples range from 0 to 255.
    is_full_range: bool,
    has_square_pixels: bool,
}

/// The chroma sampling of the stream.
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
    /// Reads the header of a stream; errors call the stream `name`.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read, or has another format.
    pub fn new(mut input: R, name: String) -> Result<Self, SourceError> {
        let line = match first_bytes(&mut input) {
            Ok(start) if has_signature(start) => read_line(&mut input),
            // A stream of another format need not have lines.
            Ok(start) => return Err(no_signature(start)),
            Err(error) => Err(error),
        };
        let line = match line {
            Ok(line) => line,
            Err(error) => return Err(SourceError::Io { input: name, error }),
        };
        let header = parse_header(&line)?;
        Ok(Self {
            input,
            name,
            header,
        })
    }

    /// Returns false if the pictures have to be widened, because the stream's pixels are not square.
    pub fn has_square_pixels(&self) -> bool {
        self.header.has_square_pixels
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
        let Header { format, chroma, .. } = self.header;
        let size = chroma.samples(format);
        let mut data = Vec::new();
        let mut limited = (&mut self.input).take(size as u64);
        let read = limited.read_to_end(&mut data);
        match read {
            Ok(read) if read == size => {
                let mut picture = chroma.to_420(format, data);
                if self.header.is_full_range {
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
        self.header.format
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        self.read_picture()
    }
}

/// Reads a line without its end; the result is empty at the end of the stream.
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

fn parse_header(line: &[u8]) -> Result<Header, SourceError> {
    let missing = |field| invalid(field, b"missing");
    let mut words = line.split(|&byte| byte == b' ');
    if words.next() != Some(SIGNATURE) {
        return Err(no_signature(line));
    }
    let (mut width, mut height, mut frame_rate) = (None, None, None);
    let (mut chroma, mut is_full_range) = (Chroma::Yuv420, false);
    let mut has_square_pixels = true;
    for word in words {
        let Some((&tag, value)) = word.split_first() else {
            continue;
        };
        match tag {
            b'W' => width = Some(side("width", value)?),
            b'H' => height = Some(side("height", value)?),
            b'F' => frame_rate = Some(rate(value)?),
            b'C' => chroma = Chroma::named(value)?,
            // FFmpeg uses this word for samples with the range of JPEG.
            b'X' if value == b"COLORRANGE=FULL" => is_full_range = true,
            b'A' => has_square_pixels = is_square(value),
            // Interlacing and comments are ignored.
            _ => {}
        }
    }
    let format = Format {
        width: width.ok_or_else(|| missing("width"))?,
        height: height.ok_or_else(|| missing("height"))?,
        frame_rate: frame_rate.ok_or_else(|| missing("frame rate"))?,
    };
    Ok(Header {
        format,
        chroma,
        is_full_range,
        has_square_pixels,
    })
}

/// Returns true if a pixel is as wide as high; 0:0 means that nobody knows.
fn is_square(aspect: &[u8]) -> bool {
    let mut sides = aspect.splitn(2, |&byte| byte == b':');
    sides.next() == sides.next()
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

/// Returns the first bytes, without consuming them. A pipe may have delivered only part of the signature so far,
/// and a signal only delays the read.
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

/// Returns the same error with a remedy.
fn invalid_and(field: &'static str, value: &[u8], remedy: &str) -> SourceError {
    let value = format!("{}: {remedy}", shown(value));
    SourceError::Invalid { field, value }
}

/// Returns enough of a value to recognise it, because a stream that is no text should not fill an error.
fn shown(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(64)])
        .escape_debug()
        .collect()
}

impl Chroma {
    fn named(value: &[u8]) -> Result<Self, SourceError> {
        match value {
            // The siting of the samples differs by half a sample, which a test picture may ignore.
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

    /// Converts `data`, which has exactly [`Chroma::samples`], to a picture.
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

/// Converts samples of 0 to 255 to the range of [`Picture`].
fn limit(picture: &mut Picture) {
    let [black, grey] = [BLACK, GREY].map(u16::from);
    let [luma, chroma] = [WHITE - BLACK, CHROMA.1 - CHROMA.0].map(u16::from);
    let [y, cb, cr] = picture.planes_mut();
    for sample in y {
        *sample = ((u16::from(*sample) * luma + 127) / 255 + black) as u8;
    }
    for sample in [cb, cr].into_iter().flatten() {
        // Greys are equal in both ranges.
        *sample = ((u16::from(*sample) * chroma + grey * (255 - chroma) + 127) / 255) as u8;
    }
}

/// Averages two rows, and two columns if `from` has more of them than `to`.
fn shrink(from: &[u8], from_columns: usize, to: &mut [u8], columns: usize) {
    let step = if from_columns > columns { 2 } else { 1 };
    for (pair, row) in from.chunks(2 * from_columns).zip(to.chunks_mut(columns)) {
        let above = &pair[..from_columns];
        // The last row of an odd height has no row below it.
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
