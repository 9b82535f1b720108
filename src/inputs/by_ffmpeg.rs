//! Opens the sources that ffmpeg reads, and the files that need no ffmpeg.

use std::path::Path;

use evenkeel_codec::source::{Ffmpeg, FfmpegInput, FfmpegOptions, FrameRate, Source as _, Y4m};

use super::{Pictures, unreadable};
use crate::cli::PictureArgs;
use crate::failure::{self, Failure};
use crate::shell::quoted;
use crate::stop::Stop;

/// Opens a file or a pipe, without ffmpeg where its pictures are to be as they are.
pub(super) fn file(
    path: &Path,
    picture: &PictureArgs,
    unwanted: &Stop,
) -> Result<Pictures, Failure> {
    let name = picture.source.as_str();
    let is_file = path.is_file();
    let as_it_is = picture.size.is_none() && picture.fps.is_none();
    if as_it_is && path.extension().is_some_and(|extension| extension == "y4m") {
        let y4m = Y4m::open(path).map_err(|error| Failure::usage(unreadable(name, &error)))?;
        let rate = y4m.format().frame_rate;
        // A pipe has been read by now.
        if !is_file || y4m.has_square_pixels() && !rate.is_above(FrameRate::DEFAULT_MAX) {
            return Ok(Box::new(y4m));
        }
    }
    ffmpeg(&name.into(), is_file, picture, unwanted)
}

/// Opens the first of these inputs that ffmpeg can open.
pub(super) fn first_of(
    inputs: &[FfmpegInput],
    picture: &PictureArgs,
    unwanted: &Stop,
) -> Result<Pictures, Failure> {
    let mut opened = Err(Failure::usage("no input"));
    for input in inputs {
        opened = ffmpeg(input, false, picture, unwanted);
        if opened.is_ok() || unwanted.is_asked() {
            break;
        }
    }
    opened
}

/// Opens what ffmpeg reads; `repeat` means from its start whenever it ends.
pub(super) fn ffmpeg(
    input: &FfmpegInput,
    repeat: bool,
    picture: &PictureArgs,
    unwanted: &Stop,
) -> Result<Pictures, Failure> {
    let options = FfmpegOptions {
        frame_rate: picture.fps,
        size: picture.size,
        repeat,
    };
    let unwanted = unwanted.clone();
    let name = quoted(&picture.source);
    let opened = Ffmpeg::open_unless(input, &options, move || unwanted.is_asked());
    let opened = opened.map_err(|error| Failure::usage(unreadable(&picture.source, &error)))?;
    if let Some(rate) = opened.faster_rate() {
        let (most, rate) = (FrameRate::DEFAULT_MAX, rate.per_second());
        failure::warn(format!(
            "--source {name} has {rate:.0} pictures a second, of which {most} are sent; --fps {rate:.0} sends more of them"
        ));
    }
    Ok(Box::new(opened))
}
