//! Where pictures come from: the built-in scene, files, cameras.

mod dv;
mod ffmpeg;
mod program;
mod scene;
#[cfg(all(feature = "v4l2", target_os = "linux"))]
mod v4l2;
mod y4m;

use core::fmt;
use core::time::Duration;
use std::io;

use crate::frame::Picture;
pub use dv::DvFile;
pub use ffmpeg::{Ffmpeg, FfmpegOptions};
pub use program::Program;
pub use scene::Scene;
#[cfg(all(feature = "v4l2", target_os = "linux"))]
pub use v4l2::Camera;
pub use y4m::{MAX_SIDE, Y4m};

/// A stream of pictures.
///
/// It has no clock: [`Source::next`] gives the next picture as soon as it has it, and the caller
/// asks at the frame rate. Files and pipes may block meanwhile; a camera blocks until it has one.
pub trait Source {
    /// What the pictures look like; it does not change.
    fn format(&self) -> Format;

    /// The next picture; `None` at the end.
    ///
    /// # Errors
    /// If the stream breaks. It is over then.
    fn next(&mut self) -> Result<Option<Picture>, SourceError>;

    /// The program that the pictures come from, if one does.
    fn program(&self) -> Option<Program> {
        None
    }
}

/// Size and rate of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Columns of luma.
    pub width: usize,
    /// Rows of luma.
    pub height: usize,
    /// Pictures a second.
    pub frame_rate: FrameRate,
}

/// Pictures a second, as a fraction: 30000/1001 is no decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    numerator: u32,
    denominator: u32,
}

impl FrameRate {
    /// `numerator`/`denominator` pictures a second; `None` unless that is above 0 and at most 1000.
    pub const fn new(numerator: u32, denominator: u32) -> Option<Self> {
        let possible = numerator > 0 && denominator > 0 && numerator / denominator <= 1000;
        if possible {
            Some(Self {
                numerator,
                denominator,
            })
        } else {
            None
        }
    }

    /// The fraction's upper part.
    pub const fn numerator(self) -> u32 {
        self.numerator
    }

    /// The fraction's lower part.
    pub const fn denominator(self) -> u32 {
        self.denominator
    }

    /// Pictures a second.
    pub fn per_second(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// When picture `index` is due after the first. Every due time is exact to the nanosecond, so a
    /// clock that adds none of them up does not drift.
    pub fn due(self, index: u64) -> Duration {
        let nanos = u128::from(index) * u128::from(self.denominator) * 1_000_000_000
            / u128::from(self.numerator);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// From one picture to the next.
    pub fn interval(self) -> Duration {
        self.due(1)
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

/// Why there are no more pictures.
#[derive(Debug)]
pub enum SourceError {
    /// The file or device cannot be opened or read.
    Io {
        /// What was read.
        input: String,
        /// Why it failed.
        error: io::Error,
    },
    /// A field of the stream has a value that cannot be taken.
    Invalid {
        /// Which.
        field: &'static str,
        /// What it says.
        value: String,
    },
    /// The program `ffmpeg` is not there, or cannot be run.
    NoFfmpeg(io::Error),
    /// `ffmpeg` cannot read the input.
    Ffmpeg {
        /// What it was to read.
        input: String,
        /// The last line it said.
        message: String,
    },
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { input, error } => write!(f, "{input}: {error}"),
            Self::Invalid { field, value } => write!(f, "video stream: {field} is {value}"),
            Self::NoFfmpeg(error) => write!(f, "cannot run ffmpeg: {error}"),
            Self::Ffmpeg { input, message } => write!(f, "ffmpeg cannot read {input}: {message}"),
        }
    }
}

impl core::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } | Self::NoFfmpeg(error) => Some(error),
            Self::Invalid { .. } | Self::Ffmpeg { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_do_not_drift() {
        let ntsc = FrameRate::new(30_000, 1001).expect("valid");
        assert_eq!(ntsc.interval(), Duration::from_nanos(33_366_666));
        assert_eq!(ntsc.due(30_000), Duration::from_secs(1001));
        assert_eq!(ntsc.due(u64::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn absurd_rates_are_refused() {
        for (numerator, denominator) in [(0, 1), (25, 0), (1001, 1), (u32::MAX, 1)] {
            assert_eq!(FrameRate::new(numerator, denominator), None);
        }
    }
}
