//! Opens the sources of pictures that the command line names.

mod by_ffmpeg;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use evenkeel_codec::Codec;
#[cfg(all(feature = "v4l2", target_os = "linux"))]
use evenkeel_codec::source::Camera;
use evenkeel_codec::source::{
    DvFile, FfmpegInput, Format, FrameRate, Presenter, Scene, Source, SourceError,
};
use evenkeel_net::Clock;

use self::by_ffmpeg::{ffmpeg, file, first_of};
use crate::choices::{Choice, Choices};
use crate::cli::{PictureArgs, RunArgs};
use crate::devices::{self, Device};
use crate::failure::Failure;
use crate::outputs::NamedFile;
use crate::possible_size::possible_size;
use crate::shell::quoted;
use crate::stop::Stop;

/// Makes the second built-in source of a two-way demo differ from the first.
const SECOND_SCENE_SEED: u64 = 0x5ec0_4d00;

/// The size of a built-in source's pictures where none is asked for.
pub(crate) const DEFAULT_SIZE: (usize, usize) = (640, 480);

/// The frame rate of a built-in source, and of a stream whose description has none.
pub(crate) const DEFAULT_FRAME_RATE: FrameRate = match FrameRate::new(25, 1) {
    Some(rate) => rate,
    None => unreachable!(),
};

/// A source of pictures.
pub(crate) type Pictures = Box<dyn Source + Send>;

/// Pictures to send.
pub(crate) struct Feed {
    /// The name of the source in `--source`.
    pub(crate) name: String,
    pub(crate) source: Pictures,
    /// The codec, policy and filler of the next picture.
    pub(crate) choices: Arc<Choices>,
}

/// The time between two checks for Ctrl-C and the end of the run, while a source opens.
const OPEN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time within which the thread that opens a source must end, once nothing waits for it.
const OPENER_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the source of `--source`, if `--codec` can carry its pictures. A pipe may have no writer and a camera may
/// hang, so Ctrl-C and the end of the run also end the wait.
pub(crate) fn source(
    picture: &PictureArgs,
    run: &RunArgs,
    stop: &Stop,
) -> Result<Pictures, Failure> {
    let given_up = Stop::default();
    let (opened, awaited) = mpsc::channel();
    let (wanted, unwanted) = (picture.clone(), given_up.clone());
    // A thread that hangs is abandoned, and ends with the program.
    thread::spawn(move || opened.send(open(&wanted, &unwanted)));
    let clock = Clock::start();
    // A built-in source is painted first, which takes its time and always ends.
    let limit = run
        .seconds
        .filter(|_| !named(&picture.source).is_built_in());
    let end = limit.map(|limit| clock.now() + limit);
    let source = loop {
        match awaited.recv_timeout(OPEN_POLL_INTERVAL) {
            // Ctrl-C at a terminal also reaches the program that a source runs.
            Ok(Err(_)) if stop.is_asked() => {}
            Ok(source) => break source?,
            Err(RecvTimeoutError::Disconnected) if !stop.is_asked() => {
                return Err(Failure::runtime("what opens the source panicked"));
            }
            Err(_) => {}
        }
        let name = quoted(&picture.source);
        let failure = if stop.is_asked() {
            Failure::interrupted(format!("--source {name}: stopped before its first picture"))
        } else if end.is_some_and(|end| clock.now() >= end) {
            Failure::usage(format!(
                "--source {name}: no picture came within --seconds; does anything write to it?"
            ))
        } else {
            continue;
        };
        given_up.ask();
        // The program that the source runs does not outlive this one.
        let _ = awaited.recv_timeout(OPENER_TIMEOUT);
        return Err(failure);
    };
    let format = source.format();
    let size = (format.width, format.height);
    let codec = picture.codec();
    let (width, height) = possible_size(codec, size);
    if (width, height) == size {
        return Ok(source);
    }
    let (own_width, own_height) = size;
    let possible = codec.possible_sizes();
    Err(Failure::usage(if picture.size.is_some() {
        format!(
            "--size {own_width}x{own_height} cannot be sent by --codec {codec}: {possible}; choose --size {width}x{height}"
        )
    } else {
        format!(
            "--source {}: pictures of {own_width}x{own_height} cannot be sent by --codec {codec}: {possible}; add --size {width}x{height}",
            quoted(&picture.source)
        )
    }))
}

/// The kind of source that a name after `--source` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named<'a> {
    Scene,
    Presenter,
    StandardInput,
    /// A camera that is read without ffmpeg.
    Camera(&'a str),
    /// A screen or a camera of this machine.
    Device(Device),
    /// A stream of the network.
    Address(&'a str),
    /// A file or a device.
    Path(&'a Path),
}

impl Named<'_> {
    fn is_built_in(self) -> bool {
        matches!(self, Self::Scene | Self::Presenter)
    }
}

fn named(source: &str) -> Named<'_> {
    match source {
        "scene" => Named::Scene,
        "presenter" => Named::Presenter,
        "-" => Named::StandardInput,
        name => {
            if let Some(device) = devices::named(name) {
                Named::Device(device)
            } else if let Some(device) = name.strip_prefix("v4l2:") {
                Named::Camera(device)
            } else if name.contains("://") && !Path::new(name).exists() {
                // A file may have any name.
                Named::Address(name)
            } else {
                Named::Path(Path::new(name))
            }
        }
    }
}

fn open(picture: &PictureArgs, unwanted: &Stop) -> Result<Pictures, Failure> {
    let name = picture.source.as_str();
    if picture.codec() == Codec::Dv {
        return raw_dv(picture);
    }
    match named(name) {
        built_in @ (Named::Scene | Named::Presenter) => {
            let format = wanted(picture);
            let seed = picture.seed();
            let opened = if built_in == Named::Scene {
                Scene::new(format, seed).map(|scene| Box::new(scene) as Pictures)
            } else {
                Presenter::new(format, seed).map(|presenter| Box::new(presenter) as _)
            };
            opened.map_err(|error| {
                let Format { width, height, .. } = format;
                Failure::usage(format!(
                    "--size {width}x{height}: {error}; pictures of a file or a camera may be larger"
                ))
            })
        }
        Named::Camera(device) => camera(device, picture),
        Named::Device(device) => {
            let inputs = devices::inputs(device, wanted(picture));
            let inputs = inputs.map_err(|why| Failure::usage(format!("--source {name}: {why}")))?;
            first_of(&inputs, picture, unwanted)
        }
        Named::StandardInput => ffmpeg(&FfmpegInput::StandardInput, false, picture, unwanted),
        Named::Address(address) => {
            let address = FfmpegInput::Address(address.into());
            ffmpeg(&address, false, picture, unwanted)
        }
        Named::Path(_) if name.starts_with("/dev/video") => {
            let inputs = devices::camera_file(name, wanted(picture));
            first_of(&inputs, picture, unwanted)
        }
        Named::Path(path) => file(path, picture, unwanted),
    }
}

/// Returns the line about an unreadable source: its name, the fault and the remedy.
fn unreadable(name: &str, error: &SourceError) -> String {
    let name = quoted(name);
    match error {
        SourceError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => format!(
            "--source {name}: there is no such file; name a video file, camera, screen, or what is built in: scene or presenter"
        ),
        SourceError::Io { error, .. } => format!("--source {name}: {error}"),
        SourceError::NoFfmpeg(error) => format!(
            "--source {name}: ffmpeg, which is to read it, cannot be run: {error}; install ffmpeg, or name a .y4m file"
        ),
        SourceError::Ffmpeg { message, .. } => {
            format!("--source {name}: ffmpeg cannot read it: {message}")
        }
        SourceError::Invalid { .. } => format!("--source {name}: {error}"),
    }
}

/// Opens a source of raw DV, because the program codes no other pictures as DV.
fn raw_dv(picture: &PictureArgs) -> Result<Pictures, Failure> {
    let name = picture.source.as_str();
    if picture.size.is_some() || picture.fps.is_some() {
        let why = "DV is sent as it is; leave out --size and --fps";
        return Err(Failure::usage(format!("--codec dv: {why}")));
    }
    let opened = match named(name) {
        Named::Scene
        | Named::Presenter
        | Named::Camera(_)
        | Named::Device(_)
        | Named::Address(_) => {
            let why =
                "only raw DV can be sent; name a file of it by --source, or - for standard input";
            return Err(Failure::usage(format!("--codec dv: {why}")));
        }
        Named::StandardInput => {
            let pipe = DvFile::new(std::io::stdin(), "standard input".into());
            pipe.map(|pipe| Box::new(pipe) as Pictures)
        }
        Named::Path(path) => DvFile::open(path).map(|file| Box::new(file) as _),
    };
    opened.map_err(|error| {
        Failure::usage(format!(
            "{}; `ffmpeg -i INPUT -target pal-dv OUTPUT.dv` makes raw DV",
            unreadable(name, &error)
        ))
    })
}

#[cfg(all(feature = "v4l2", target_os = "linux"))]
fn camera(device: &str, picture: &PictureArgs) -> Result<Pictures, Failure> {
    let wrong = |error| Failure::usage(unreadable(&picture.source, &error));
    let camera = Camera::open(Path::new(device), wanted(picture)).map_err(wrong)?;
    Ok(Box::new(camera))
}

#[cfg(not(all(feature = "v4l2", target_os = "linux")))]
fn camera(device: &str, _picture: &PictureArgs) -> Result<Pictures, Failure> {
    Err(Failure::usage(format!(
        "--source v4l2:{device}: this program was built without the feature v4l2; build with --features v4l2, or read the camera through ffmpeg with --source {device}"
    )))
}

/// Returns the format for a source that can choose one.
pub(crate) fn wanted(picture: &PictureArgs) -> Format {
    let (width, height) = picture.size.unwrap_or(DEFAULT_SIZE);
    Format {
        width,
        height,
        frame_rate: picture.fps.unwrap_or(DEFAULT_FRAME_RATE),
    }
}

/// Opens the source of the second end of a two-way demo: another scene or presenter, or the same file once more.
pub(crate) fn second_source(
    picture: &PictureArgs,
    run: &RunArgs,
    stop: &Stop,
) -> Result<Pictures, Failure> {
    let other = PictureArgs {
        seed: Some(picture.seed() ^ SECOND_SCENE_SEED),
        ..picture.clone()
    };
    source(&other, run, stop)
}

/// Refuses a source for both ends that only one can read: each would get a part of a pipe's bytes.
pub(crate) fn for_two(picture: &PictureArgs) -> Result<(), Failure> {
    let has_one_reader = match named(&picture.source) {
        Named::Scene | Named::Presenter => false,
        Named::StandardInput | Named::Camera(_) | Named::Device(_) | Named::Address(_) => true,
        Named::Path(path) => path.metadata().is_ok_and(|place| !place.is_file()),
    };
    if has_one_reader {
        return Err(Failure::usage(format!(
            "--both --source {}: a pipe or a camera has one reader, and this is no file; name one, or leave out --both",
            quoted(&picture.source)
        )));
    }
    Ok(())
}

/// Returns the file that `--source` names, if it names one.
pub(crate) fn source_file(picture: &PictureArgs) -> NamedFile<'_> {
    let path = match named(&picture.source) {
        Named::Path(path) => Some(path),
        Named::Scene
        | Named::Presenter
        | Named::StandardInput
        | Named::Camera(_)
        | Named::Device(_)
        | Named::Address(_) => None,
    };
    ("--source", path)
}

/// Returns the codec, policy and filler of the command line.
pub(crate) fn choice(picture: &PictureArgs) -> Choice {
    Choice {
        codec: picture.codec(),
        rules: picture.policy,
        filler: picture.filler,
    }
}

/// Returns the pictures of an end with a constant codec, policy and filler.
pub(crate) fn fixed_feed(picture: &PictureArgs, source: Pictures) -> Feed {
    feed(picture, source, Arc::new(Choices::fixed(choice(picture))))
}

/// Returns the pictures of an end whose codec, policy and filler may change.
pub(crate) fn feed(picture: &PictureArgs, source: Pictures, choices: Arc<Choices>) -> Feed {
    Feed {
        name: quoted(&picture.source),
        source,
        choices,
    }
}

/// Returns the frame rate of a description, which has thousandths.
pub(crate) fn frame_rate(per_second: f64) -> Option<FrameRate> {
    FrameRate::new((per_second * 1e3).round() as u32, 1_000)
}
