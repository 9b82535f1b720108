//! Reads a camera by Video4Linux2, without `ffmpeg`.
//!
//! The crate `linuxvideo` is Rust alone; the crate `v4l` would run bindgen, which needs libclang.

use std::io;
use std::path::Path;

use linuxvideo::format::{PixFormat, PixelFormat};
use linuxvideo::stream::ReadStream;
use linuxvideo::{BufType, Device, Fract};

use super::contract::{Source, SourceError};
use super::format::{Format, FrameRate};
use crate::mjpeg::{Decoder, jfif};
use crate::picture::Picture;

/// The most pixels for which a USB 2 camera has the bandwidth of raw pictures at 25 a second.
const LARGEST_RAW: usize = 640 * 480;

/// The number of successive damaged pictures after which the camera is given up. A single one is usual, above all
/// the first, and the next picture replaces it.
const MAX_SPOILT_IN_TURN: u32 = 50;

/// An open camera, whose [`Source::next`] waits for its next picture.
pub struct Camera {
    stream: ReadStream,
    name: String,
    format: Format,
    coding: Coding,
}

/// The coding of the camera's pictures.
enum Coding {
    /// Packed 4:2:2, with this many bytes from row to row.
    Yuyv(usize),
    /// JPEG files.
    Mjpg(Box<Decoder>),
}

impl Camera {
    /// Opens `/dev/videoN` and asks for `wanted`; the driver may choose another format, which [`Source::format`]
    /// returns.
    ///
    /// # Errors
    /// Returns an error if the device is missing or busy, or offers neither YUYV nor MJPG.
    pub fn open(path: &Path, wanted: Format) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let (device, offered) = offers(path).map_err(|error| SourceError::Io {
            input: name.clone(),
            error,
        })?;
        let raw_first = wanted.width * wanted.height <= LARGEST_RAW;
        let mut order = [PixelFormat::YUYV, PixelFormat::MJPG];
        if !raw_first {
            order.reverse();
        }
        let pixels = order.into_iter().find(|pixels| offered.contains(pixels));
        let pixels = pixels.ok_or_else(|| SourceError::Invalid {
            field: "camera's pixel format",
            value: format!("{offered:?}: YUYV or MJPG is needed"),
        })?;
        Self::start(device, &name, pixels, wanted)
            .map_err(|error| SourceError::Io { input: name, error })
    }

    fn start(device: Device, name: &str, pixels: PixelFormat, wanted: Format) -> io::Result<Self> {
        let size =
            [wanted.width, wanted.height].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        let capture = device.video_capture(PixFormat::new(size[0], size[1], pixels))?;
        let rate = wanted.frame_rate;
        let interval = Fract::new(rate.denominator(), rate.numerator());
        // A camera with one rate refuses the request, and its rate may or may not be the wanted one.
        let interval = capture.set_frame_interval(interval).unwrap_or(interval);
        let given = capture.format();
        let coding = match given.pixel_format() {
            PixelFormat::YUYV => Coding::Yuyv(given.bytes_per_line() as usize),
            PixelFormat::MJPG => Coding::Mjpg(Box::default()),
            other => return Err(io::Error::other(format!("the driver insists on {other}"))),
        };
        let format = Format {
            width: given.width() as usize,
            height: given.height() as usize,
            frame_rate: FrameRate::new(interval.denominator(), interval.numerator())
                .unwrap_or(wanted.frame_rate),
        };
        Ok(Self {
            stream: capture.into_stream()?,
            name: name.to_owned(),
            format,
            coding,
        })
    }
}

impl Source for Camera {
    fn format(&self) -> Format {
        self.format
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        let Format { width, height, .. } = self.format;
        for _ in 0..MAX_SPOILT_IN_TURN {
            let coding = &mut self.coding;
            let picture = self.stream.dequeue(|buffer| {
                Ok(match coding {
                    _ if buffer.is_error() => None,
                    Coding::Yuyv(stride) => from_yuyv(&buffer, (width, height), *stride),
                    Coding::Mjpg(decoder) => from_jpeg(&buffer, (width, height), decoder),
                })
            });
            match picture {
                Ok(Some(picture)) => return Ok(Some(picture)),
                Ok(None) => {}
                Err(error) => {
                    return Err(SourceError::Io {
                        input: self.name.clone(),
                        error,
                    });
                }
            }
        }
        Err(SourceError::Invalid {
            field: "camera's picture",
            value: format!("unreadable {MAX_SPOILT_IN_TURN} times in turn"),
        })
    }
}

fn offers(path: &Path) -> io::Result<(Device, Vec<PixelFormat>)> {
    let device = Device::open(path)?;
    let formats = device
        .formats(BufType::VIDEO_CAPTURE)
        .map(|format| format.map(|format| format.pixel_format()))
        .collect::<io::Result<_>>()?;
    Ok((device, formats))
}

fn from_jpeg(file: &[u8], size: (usize, usize), decoder: &mut Decoder) -> Option<Picture> {
    let image = jfif::parse(file).ok()?;
    let picture = decoder.decode(&image).ok()?.picture;
    (size == (picture.width(), picture.height())).then_some(picture)
}

/// Converts a picture; `None` if bytes are missing.
fn from_yuyv(packed: &[u8], (width, height): (usize, usize), stride: usize) -> Option<Picture> {
    let columns = width.div_ceil(2);
    let row = |y: usize| -> Option<&[[u8; 4]]> {
        let start = y.checked_mul(stride)?;
        Some(
            packed
                .get(start..start.checked_add(4 * columns)?)?
                .as_chunks()
                .0,
        )
    };
    let mut picture = Picture::new(width, height);
    let [luma, cb, cr] = picture.planes_mut();
    for (y, to) in luma.chunks_mut(width).enumerate() {
        for (pair, [y0, _, y1, _]) in to.chunks_mut(2).zip(row(y)?) {
            let samples = [*y0, *y1];
            pair.copy_from_slice(&samples[..pair.len()]);
        }
    }
    let mean = |a: u8, b: u8| u16::from(a).midpoint(u16::from(b) + 1) as u8;
    for (y, (cb, cr)) in cb
        .chunks_mut(columns)
        .zip(cr.chunks_mut(columns))
        .enumerate()
    {
        let (above, below) = (row(2 * y)?, row((2 * y + 1).min(height - 1))?);
        for (x, (above, below)) in above.iter().zip(below).enumerate() {
            cb[x] = mean(above[1], below[1]);
            cr[x] = mean(above[3], below[3]);
        }
    }
    Some(picture)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_samples_are_sorted_into_planes() {
        // The buffer has two rows of two pixels, and two bytes of padding after each.
        let packed = [1, 10, 2, 20, 0, 0, 3, 13, 4, 21, 0, 0];
        let picture = from_yuyv(&packed, (2, 2), 6).expect("whole");
        assert_eq!(picture.data(), [1, 2, 3, 4, 12, 21]);
    }

    #[test]
    fn odd_sides_lose_half_a_pair() {
        let picture = from_yuyv(&[1, 10, 2, 20], (1, 1), 4).expect("whole");
        assert_eq!(picture.data(), [1, 10, 20]);
    }

    #[test]
    fn a_short_buffer_is_no_picture() {
        assert_eq!(from_yuyv(&[0; 11], (2, 2), 8), None);
        assert_eq!(from_yuyv(&[0; 16], (2, 2), usize::MAX), None);
    }

    #[test]
    fn a_camera_that_is_not_there_is_named() {
        let format = Format {
            width: 640,
            height: 480,
            frame_rate: FrameRate::new(25, 1).expect("valid"),
        };
        let error = Camera::open(Path::new("/dev/no-such-camera"), format).err();
        let message = error.expect("missing").to_string();
        assert!(message.starts_with("/dev/no-such-camera: "), "{message}");
    }
}
