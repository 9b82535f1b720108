//! Video as sizes of frames: traces, their files, a generator of them, and what a server makes of one.

mod csv;
mod movie;
mod sender;
mod stream;

pub use csv::FrameTraceFileError;
pub use movie::{FRAME_RATE, GOP, Movie};
pub use sender::{VideoSender, VideoTransport};
pub use stream::{DATAGRAM, Pace, TsStream};

use core::fmt;
use std::sync::Arc;
use tfrc::time::Duration;
use tfrc::units::{Bytes, Rate};

/// How a frame was predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// From itself alone.
    Intra,
    /// From one before it.
    Predicted,
    /// From one before and one after it.
    Bidirectional,
}

/// A frame of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// When it is due, from the beginning of the trace.
    pub at: Duration,
    /// How it was predicted.
    pub kind: FrameKind,
    /// Its size without any headers.
    pub size: Bytes,
}

/// The frames of a video, without end: after the last it begins again. Clones share the frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTrace {
    frames: Arc<[Frame]>,
    period: Duration,
}

/// What frames cannot be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameTraceError {
    /// There are fewer than two, which do not tell how long a frame lasts; or, of a [`Movie`], fewer than
    /// its largest frame has means.
    TooFew {
        /// How many there must be.
        wanted: usize,
    },
    /// There are more than [`FrameTrace::MAX_FRAMES`].
    TooMany,
    /// The first is not due at zero.
    LateStart,
    /// A frame is not due after the one before it, or a day after the first.
    Time {
        /// Which frame, from 0.
        frame: usize,
    },
    /// A frame is larger than [`FrameTrace::MAX_SIZE`].
    Size {
        /// Which frame, from 0.
        frame: usize,
    },
    /// All frames are empty.
    Nothing,
}

impl FrameTraceError {
    /// The frame that is wrong, from 0, if one is.
    fn frame(self) -> Option<usize> {
        match self {
            Self::Time { frame } | Self::Size { frame } => Some(frame),
            Self::LateStart => Some(0),
            Self::TooFew { .. } | Self::TooMany | Self::Nothing => None,
        }
    }

    /// What is wrong, wherever it is.
    fn write_what(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { wanted } => write!(f, "fewer than {wanted} frames"),
            Self::TooMany => write!(f, "more than {} frames", FrameTrace::MAX_FRAMES),
            Self::LateStart => f.write_str("time must be 0, as of the first frame"),
            Self::Time { .. } => {
                f.write_str("time must be after that of the frame before it, within a day")
            }
            Self::Size { .. } => write!(f, "size must be at most {}", FrameTrace::MAX_SIZE),
            Self::Nothing => f.write_str("all frames are empty"),
        }
    }
}

impl fmt::Display for FrameTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frame) = self.frame() {
            write!(f, "frame {frame}: ")?;
        }
        self.write_what(f)
    }
}

impl std::error::Error for FrameTraceError {}

impl FrameTrace {
    /// Eleven hours at 25 frames a second; 32 MiB.
    pub const MAX_FRAMES: usize = 1 << 20;
    /// An uncompressed picture of four times HDTV's size is smaller.
    pub const MAX_SIZE: Bytes = Bytes::new(1 << 25);
    /// Frames are due within it.
    const DAY: Duration = Duration::from_secs(24 * 3_600);

    /// A trace of these frames, in the order in which they are sent. The last lasts as long as the one
    /// before it.
    ///
    /// # Errors
    /// If the frames are none that a source could send again and again.
    pub fn new(frames: Vec<Frame>) -> Result<Self, FrameTraceError> {
        if frames.len() < 2 {
            return Err(FrameTraceError::TooFew { wanted: 2 });
        }
        if frames.len() > Self::MAX_FRAMES {
            return Err(FrameTraceError::TooMany);
        }
        if !frames[0].at.is_zero() {
            return Err(FrameTraceError::LateStart);
        }
        let out_of_time = |pair: &[Frame]| pair[1].at <= pair[0].at || pair[1].at > Self::DAY;
        if let Some(before) = frames.windows(2).position(out_of_time) {
            return Err(FrameTraceError::Time { frame: before + 1 });
        }
        if let Some(frame) = frames.iter().position(|frame| frame.size > Self::MAX_SIZE) {
            return Err(FrameTraceError::Size { frame });
        }
        if frames.iter().all(|frame| frame.size == Bytes::ZERO) {
            return Err(FrameTraceError::Nothing);
        }
        let last = frames.len() - 1;
        let period = 2 * frames[last].at - frames[last - 1].at;
        Ok(Self {
            frames: frames.into(),
            period,
        })
    }

    /// Its frames, in the order in which they are sent.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// After this time it begins again.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// For how long a frame is the newest, by its number.
    fn lasts(&self, frame: usize) -> Duration {
        let next = self
            .frames
            .get(frame + 1)
            .map_or(self.period, |next| next.at);
        next - self.frames[frame].at
    }

    /// The mean rate of the frames, without headers.
    pub fn mean_rate(&self) -> Rate {
        self.total() / self.period
    }

    /// The largest frame over the mean frame.
    pub fn peak_over_mean(&self) -> f64 {
        let largest = self.frames.iter().map(|frame| frame.size.get()).max();
        let frames = self.frames.len() as f64;
        largest.unwrap_or(0) as f64 * frames / self.total().as_f64()
    }

    /// Without headers.
    fn total(&self) -> Bytes {
        self.frames.iter().map(|frame| frame.size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of these sizes, 40 ms apart.
    pub(super) fn trace(sizes: &[u64]) -> Result<FrameTrace, FrameTraceError> {
        let frames = sizes.iter().zip(0..).map(|(size, number)| Frame {
            at: number * Duration::from_millis(40),
            kind: FrameKind::Intra,
            size: Bytes::new(*size),
        });
        FrameTrace::new(frames.collect())
    }

    #[test]
    fn a_trace_has_its_mean_and_its_peak() {
        let trace = trace(&[3_000, 500, 500]).unwrap();
        assert_eq!(trace.period(), Duration::from_millis(120));
        let mean = trace.mean_rate().bytes_per_sec();
        assert!((mean - 4_000.0 / 0.12).abs() < 1e-6, "{mean}");
        assert_eq!(trace.peak_over_mean(), 2.25);
    }

    #[test]
    fn the_last_frame_lasts_as_long_as_the_one_before() {
        let mut frames = trace(&[1, 2, 3]).unwrap().frames().to_vec();
        frames[2].at = Duration::from_millis(50);
        let trace = FrameTrace::new(frames).unwrap();
        let lasts: Vec<u128> = (0..3).map(|n| trace.lasts(n).as_millis()).collect();
        assert_eq!(lasts, [40, 10, 10]);
        assert_eq!(trace.period(), Duration::from_millis(60));
    }

    #[test]
    fn what_no_source_could_send_is_refused() {
        assert_eq!(trace(&[5]), Err(FrameTraceError::TooFew { wanted: 2 }));
        assert_eq!(trace(&[0, 0]), Err(FrameTraceError::Nothing));
        let large = FrameTrace::MAX_SIZE.get() + 1;
        assert_eq!(trace(&[1, large]), Err(FrameTraceError::Size { frame: 1 }));
        let many = vec![1; FrameTrace::MAX_FRAMES + 1];
        assert_eq!(trace(&many), Err(FrameTraceError::TooMany));
        let moved = |frame: usize, at| {
            let mut frames = trace(&[1, 2, 3]).unwrap().frames().to_vec();
            frames[frame].at = at;
            FrameTrace::new(frames)
        };
        let early = moved(2, Duration::from_millis(40));
        assert_eq!(early, Err(FrameTraceError::Time { frame: 2 }));
        let late = moved(2, 2 * FrameTrace::DAY);
        assert_eq!(late, Err(FrameTraceError::Time { frame: 2 }));
        let start = moved(0, Duration::from_millis(1));
        assert_eq!(start, Err(FrameTraceError::LateStart));
    }
}
