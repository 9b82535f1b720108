//! A recording as .mp4, .mkv or .ts, which `ffmpeg` writes: coded pictures go to it as they came, with their times.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use evenkeel_codec::mjpeg::{Scale, encode, jfif};
use evenkeel_codec::picture::{AccessUnit, CodedPicture, H264Picture, Picture};
use evenkeel_codec::sink::Sink;

use super::first_size::FirstSize;
use super::rate::TICKS;
use crate::failure;

/// A kind of file that `ffmpeg` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Mp4,
    Matroska,
    TransportStream,
}

impl Container {
    /// Returns the container of files with this name.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "mp4" => Some(Self::Mp4),
            "mkv" => Some(Self::Matroska),
            "ts" => Some(Self::TransportStream),
            _ => None,
        }
    }

    /// Returns the format's name in `ffmpeg`.
    const fn name(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Matroska => "matroska",
            Self::TransportStream => "mpegts",
        }
    }

    /// Returns the arguments of `ffmpeg` that write pictures of this kind to a file.
    fn arguments(self, kind: Kind, path: &Path) -> Vec<String> {
        // MPEG-TS has no type for M-JPEG (ITU-T H.222.0 table 2-34).
        let coder = match (self, kind) {
            (Self::TransportStream, Kind::Jpeg) => "h264",
            _ => "copy",
        };
        let words = [
            "-nostdin", "-v", "error", "-f", "ivf", "-i", "pipe:0", "-c:v", coder,
        ];
        let words = words.into_iter().chain(["-f", self.name(), "-y"]);
        let file = format!("file:{}", path.display());
        words.map(str::to_owned).chain([file]).collect()
    }
}

/// The kind of coded pictures in a recording, which the first picture sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    H264,
    /// Images as they came, if they are whole, and pictures of other codecs, coded anew.
    Jpeg,
}

impl Kind {
    fn of(coded: &CodedPicture) -> Self {
        match coded {
            CodedPicture::H264(_) => Self::H264,
            CodedPicture::Jpeg(_) | CodedPicture::Raw(_) | CodedPicture::Dv(_) => Self::Jpeg,
        }
    }

    const fn four_letters(self) -> [u8; 4] {
        match self {
            Self::H264 => *b"H264",
            Self::Jpeg => *b"MJPG",
        }
    }
}

/// The quality of pictures that are coded anew, so high that visible faults come from the call.
const QUALITY: f64 = 90.0;

/// A file that `ffmpeg` writes.
pub(crate) struct ContainerRecording {
    container: Container,
    path: std::path::PathBuf,
    running: Option<Running>,
}

/// An `ffmpeg` that has begun with the first picture.
struct Running {
    program: Child,
    pipe: Option<ChildStdin>,
    /// The thread that reads standard error, because a full pipe would stop ffmpeg.
    said: Option<JoinHandle<String>>,
    kind: Kind,
    size: FirstSize,
    times: Timeline,
    /// True once pictures of another kind were left out and reported.
    has_left_out: bool,
}

impl ContainerRecording {
    /// Prepares a recording; fails if there is no `ffmpeg`, or it cannot write to the file.
    pub(crate) fn new(container: Container, path: &Path) -> io::Result<Self> {
        let mut version = Command::new("ffmpeg");
        version
            .arg("-version")
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        version.status().map_err(|error| {
            let why = format!(
                "ffmpeg, which is to write it, cannot be run: {error}; install ffmpeg, or name a .y4m file"
            );
            io::Error::new(error.kind(), why)
        })?;
        // A wrong path is known at once.
        std::fs::File::create(path)?;
        Ok(Self {
            container,
            path: path.to_owned(),
            running: None,
        })
    }

    fn start(&self, picture: &Picture, kind: Kind) -> io::Result<Running> {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(self.container.arguments(kind, &self.path));
        let pipes = ffmpeg.stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C at a terminal ends this program, which then ends the file.
        std::os::unix::process::CommandExt::process_group(pipes, 0);
        let mut program = pipes.stderr(Stdio::piped()).spawn()?;
        let mut running = Running {
            pipe: program.stdin.take(),
            said: (program.stderr.take()).map(|stderr| thread::spawn(|| first_line(stderr))),
            program,
            kind,
            size: FirstSize::of(picture),
            times: Timeline::default(),
            has_left_out: false,
        };
        running.send(&stream_header(kind, picture))?;
        Ok(running)
    }

    /// Names the file in an error, and gives the reason of `ffmpeg` if it has ended.
    fn named(&mut self, error: io::Error) -> io::Error {
        let said = self.running.take().map(Running::end);
        let why = said.and_then(Result::err).unwrap_or(error);
        let line = format!("cannot write --record {}: {why}", self.path.display());
        io::Error::new(why.kind(), line)
    }
}

impl Sink for ContainerRecording {
    fn show(&mut self, _picture: &Picture) -> io::Result<()> {
        Err(io::Error::other("a recording needs the times of pictures"))
    }

    fn show_coded(
        &mut self,
        picture: &Picture,
        coded: &CodedPicture,
        timestamp: u32,
    ) -> io::Result<()> {
        let running = match self.running.take() {
            Some(running) => Ok(running),
            None => self.start(picture, Kind::of(coded)),
        };
        let written = running.and_then(|running| {
            let running = self.running.insert(running);
            running.write(picture, coded, timestamp)
        });
        written.map_err(|error| self.named(error))
    }

    fn finish(&mut self) -> io::Result<()> {
        let ended = self.running.take().map_or(Ok(()), Running::end);
        ended.map_err(|error| self.named(error))
    }
}

impl Running {
    fn write(&mut self, picture: &Picture, coded: &CodedPicture, timestamp: u32) -> io::Result<()> {
        if Kind::of(coded) != self.kind {
            if !self.has_left_out {
                let codec = coded.codec();
                failure::warn(format_args!(
                    "--record began with another codec; pictures of {codec} are left out, as a recording has one; start again to record them"
                ));
                self.has_left_out = true;
            }
            return Ok(());
        }
        let units = match coded {
            CodedPicture::H264(coded) if self.size.admits(picture) => byte_streams(coded),
            CodedPicture::H264(_) => return Ok(()),
            CodedPicture::Jpeg(image) if coded.is_whole() && self.size.is_of(picture) => {
                vec![jfif::write(image)]
            }
            _ => {
                let Some(picture) = self.size.fit(picture) else {
                    return Ok(());
                };
                let image = encode(&picture, Scale::from_quality(QUALITY));
                vec![jfif::write(&image.map_err(io::Error::other)?)]
            }
        };
        for (time, unit) in self.times.of(timestamp, units.len()).into_iter().zip(units) {
            self.send(&frame_header(unit.len(), time))?;
            self.send(&unit)?;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let pipe = self.pipe.as_mut();
        pipe.map_or(Err(io::ErrorKind::BrokenPipe.into()), |pipe| {
            pipe.write_all(bytes)
        })
    }

    /// Closes the pipe, upon which `ffmpeg` ends the file; its first line is the error if it fails.
    fn end(mut self) -> io::Result<()> {
        self.pipe = None;
        let said = self.said.take().and_then(|said| said.join().ok());
        let status = self.program.wait()?;
        if status.success() {
            return Ok(());
        }
        let line = said.filter(|line| !line.is_empty());
        Err(io::Error::other(
            line.unwrap_or_else(|| format!("ffmpeg ended with {status}")),
        ))
    }
}

/// The most bytes of `ffmpeg`'s messages that are kept.
const MAX_MESSAGE_BYTES: u64 = 512;

/// Reads to the end in bounded memory, and returns the first line.
fn first_line(mut said: impl io::Read) -> String {
    let mut first = Vec::new();
    // The pipe of a process that has ended has an end.
    let _ = said
        .by_ref()
        .take(MAX_MESSAGE_BYTES)
        .read_to_end(&mut first);
    let _ = io::copy(&mut said, &mut io::sink());
    let text = String::from_utf8_lossy(&first).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The units of a picture as byte streams (H.264 Annex B). What comes before a keyframe is of no use to what follows.
fn byte_streams(picture: &H264Picture) -> Vec<Vec<u8>> {
    let units = &picture.access_units;
    let first = units.iter().rposition(AccessUnit::is_keyframe).unwrap_or(0);
    let stream = |access: &AccessUnit| {
        let units = access.units.iter().flatten();
        units
            .flat_map(|unit| [&[0, 0, 0, 1], &unit[..]].concat())
            .collect()
    };
    units[first..].iter().map(stream).collect()
}

/// The header of IVF, the simplest stream with times that `ffmpeg` reads: sizes and times, in front of the bytes.
fn stream_header(kind: Kind, picture: &Picture) -> Vec<u8> {
    let side = |side: usize| u16::try_from(side).unwrap_or(u16::MAX).to_le_bytes();
    let mut header = b"DKIF\0\0\x20\0".to_vec();
    header.extend(kind.four_letters());
    header.extend(side(picture.width()));
    header.extend(side(picture.height()));
    header.extend(TICKS.to_le_bytes());
    header.extend(1_u32.to_le_bytes());
    // The number of frames is unknown, and the last field unused.
    header.extend([0; 8]);
    header
}

fn frame_header(length: usize, time: u64) -> [u8; 12] {
    let mut header = [0; 12];
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..].copy_from_slice(&time.to_le_bytes());
    header
}

/// The times of pictures in the file, in ticks. Timestamps wrap, and the timestamps of a restarted sender begin anywhere.
#[derive(Debug, Default)]
struct Timeline {
    last: Option<u32>,
    position: u64,
    /// The time of the last unit.
    written: u64,
}

/// The longest pause that is kept; a longer step belongs to another stream.
const LONGEST_STEP: u32 = 60 * TICKS;

/// The step to the first picture of another stream.
const STEP_BETWEEN: u32 = TICKS / 25;

impl Timeline {
    /// Returns the times of a picture's units: the last is shown, and the others are needed to decode it.
    fn of(&mut self, timestamp: u32, units: usize) -> Vec<u64> {
        let step = match self.last.replace(timestamp) {
            None => STEP_BETWEEN,
            Some(last) => match timestamp.wrapping_sub(last) {
                step @ 1..=LONGEST_STEP => step,
                _ => STEP_BETWEEN,
            },
        };
        self.position += u64::from(step);
        let times = (0..units as u64).rev().map(|before| {
            let time = self.position.saturating_sub(before).max(self.written + 1);
            self.written = time;
            time
        });
        times.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn container_follows_the_name() {
        for (name, expected) in [
            ("a.mp4", Some(Container::Mp4)),
            ("a.b.MKV", Some(Container::Matroska)),
            ("-x.ts", Some(Container::TransportStream)),
            ("a.y4m", None),
            ("mp4", None),
        ] {
            assert_eq!(Container::of(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn coded_pictures_are_copied_where_the_container_takes_them() {
        let copies = |container: Container, kind| {
            let words = container.arguments(kind, Path::new("-x"));
            assert_eq!(words.last().map(String::as_str), Some("file:-x"));
            words.contains(&"copy".to_owned())
        };
        for container in [
            Container::Mp4,
            Container::Matroska,
            Container::TransportStream,
        ] {
            assert!(copies(container, Kind::H264));
            let takes_jpeg = container != Container::TransportStream;
            assert_eq!(copies(container, Kind::Jpeg), takes_jpeg);
        }
    }

    #[test]
    fn times_rise_over_wraps_restarts_and_late_units() {
        let mut times = Timeline::default();
        assert_eq!(times.of(u32::MAX - 99, 1), [3_600]);
        assert_eq!(times.of(2_900, 2), [6_599, 6_600]);
        // Another sender, before and after the last one's time.
        assert_eq!(times.of(7, 1), [10_200]);
        assert_eq!(times.of(u32::MAX, 1), [13_800]);
        assert_eq!(times.of(0, 3), [13_801, 13_802, 13_803]);
        assert_eq!(times.of(10, 1), [13_811]);
    }

    #[test]
    fn units_before_a_keyframe_are_left_out() {
        let access = |kind: u8| AccessUnit {
            units: vec![Some(vec![kind])],
        };
        let picture = |kinds: &[u8]| H264Picture {
            access_units: kinds.iter().map(|kind| access(*kind)).collect(),
        };
        let stream = |kind: u8| vec![0, 0, 0, 1, kind];
        assert_eq!(byte_streams(&picture(&[1, 5, 1])), [stream(5), stream(1)]);
        assert_eq!(byte_streams(&picture(&[1, 1])), [stream(1), stream(1)]);
    }
}
