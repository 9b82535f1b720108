//! The sources of pictures: the built-in scene and presenter, files, cameras.

mod built_in;
mod contract;
mod counter;
mod dv;
mod ffmpeg;
mod format;
mod presenter;
mod program;
mod random;
mod scene;
#[cfg(all(feature = "v4l2", target_os = "linux"))]
mod v4l2;
mod y4m;

pub use contract::{Source, SourceError};
pub use dv::DvFile;
pub use ffmpeg::{Ffmpeg, FfmpegInput, FfmpegOptions};
pub use format::{Format, FrameRate};
pub use presenter::{Presenter, Speech};
pub use program::Program;
pub use scene::Scene;
#[cfg(all(feature = "v4l2", target_os = "linux"))]
pub use v4l2::Camera;
pub use y4m::{MAX_SIDE, Y4m};
