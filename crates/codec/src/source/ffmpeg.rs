//! Reads any file or device that the program `ffmpeg` reads, through a pipe of raw pictures.

mod arguments;

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::contract::{Source, SourceError};
use super::format::{Format, FrameRate};
use super::program::Program;
use super::y4m::Y4m;
use crate::picture::Picture;
pub use arguments::FfmpegInput;
use arguments::{Facts, arguments, questions};

/// The options with which `ffmpeg` reads its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FfmpegOptions {
    /// The frame rate to which pictures are resampled, or else the input's own, up to [`FrameRate::DEFAULT_MAX`].
    pub frame_rate: Option<FrameRate>,
    /// The width and height to which pictures are scaled.
    pub size: Option<(usize, usize)>,
    /// True to restart the input whenever it ends.
    pub repeat: bool,
}

/// The time that `ffmpeg` may take for its first picture: it repeats a file without pictures for ever, and a pipe,
/// a camera or a server may never send any.
const FIRST_PICTURE_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which a source that waits for its first picture checks whether it is unwanted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running `ffmpeg`, which is killed when this is dropped.
#[derive(Debug)]
pub struct Ffmpeg {
    pictures: Y4m<BufReader<ChildStdout>>,
    child: Running,
    input: String,
    faster: Option<FrameRate>,
}

impl Ffmpeg {
    /// Starts `ffmpeg` on an input, and waits for its first bytes.
    ///
    /// # Errors
    /// If `ffmpeg` is not installed, the file is not there, or `ffmpeg` cannot read it, or has no picture of it
    /// after ten seconds.
    pub fn open(
        input: impl Into<FfmpegInput>,
        options: &FfmpegOptions,
    ) -> Result<Self, SourceError> {
        Self::open_unless(&input.into(), options, || false)
    }

    /// Opens a source unless `is_unwanted`, which is called every few milliseconds, returns true before the first picture.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the source becomes unwanted.
    pub fn open_unless(
        input: &FfmpegInput,
        options: &FfmpegOptions,
        is_unwanted: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, SourceError> {
        let mut facts = Facts::default();
        if let FfmpegInput::File(path) = input {
            // ffmpeg reports a missing file too, after a line of its own.
            let place = Path::new(path).metadata();
            let place = place.map_err(|error| SourceError::Io {
                input: path.clone(),
                error,
            })?;
            // Two programs cannot read one pipe.
            if place.is_file() {
                facts = probe(input);
            }
        }
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(arguments(input, options, facts));
        if *input == FfmpegInput::StandardInput {
            ffmpeg.stdin(Stdio::inherit());
        } else {
            ffmpeg.stdin(Stdio::null());
        }
        let mut opened = Self::begin(ffmpeg, &input.to_string(), is_unwanted)?;
        let is_capped = |rate: &FrameRate| rate.is_above(FrameRate::DEFAULT_MAX);
        opened.faster = facts
            .mean_rate
            .filter(|rate| options.frame_rate.is_none() && is_capped(rate));
        Ok(opened)
    }

    /// Returns the own rate of the input, if it is above [`FrameRate::DEFAULT_MAX`] and pictures are left out for that.
    pub fn faster_rate(&self) -> Option<FrameRate> {
        self.faster
    }

    fn begin(
        program: Command,
        input: &str,
        is_unwanted: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, SourceError> {
        let (mut child, stdout) = Running::start(program)?;
        let (opened, awaited) = mpsc::channel::<()>();
        let program = child.program.clone();
        let watch = thread::spawn(move || {
            let mut waited = Duration::ZERO;
            while awaited.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                waited += POLL_INTERVAL;
                let is_overdue = waited >= FIRST_PICTURE_TIMEOUT;
                if is_overdue || is_unwanted() {
                    program.kill();
                    return Some(if is_overdue {
                        format!(
                            "no picture came within {} s",
                            FIRST_PICTURE_TIMEOUT.as_secs()
                        )
                    } else {
                        "it was stopped before its first picture".into()
                    });
                }
            }
            None
        });
        let pictures = Y4m::new(BufReader::new(stdout), input.into());
        drop(opened);
        // Its first bytes may have arrived just as it was killed.
        if let Some(message) = watch.join().unwrap_or_default() {
            return Err(SourceError::Ffmpeg {
                input: input.into(),
                message,
            });
        }
        match pictures {
            Ok(pictures) => Ok(Self {
                pictures,
                child,
                input: input.into(),
                faster: None,
            }),
            Err(error) => Err(child.complaint(input).unwrap_or(error)),
        }
    }
}

impl Source for Ffmpeg {
    fn format(&self) -> Format {
        self.pictures.format()
    }

    fn next(&mut self) -> Result<Option<Picture>, SourceError> {
        match self.pictures.next() {
            Ok(Some(picture)) => Ok(Some(picture)),
            // The pipe ends equally when the input does and when ffmpeg fails; the exit status shows which.
            Ok(None) => self.child.complaint(&self.input).map_or(Ok(None), Err),
            Err(error) => Err(self.child.complaint(&self.input).unwrap_or(error)),
        }
    }

    fn program(&self) -> Option<Program> {
        Some(self.child.program.clone())
    }
}

/// Asks `ffprobe` about a file; without the answer `ffmpeg` assumes what it can.
fn probe(file: &FfmpegInput) -> Facts {
    let mut ffprobe = Command::new("ffprobe");
    ffprobe.args(questions(file)).stdin(Stdio::null());
    let Ok(answer) = ffprobe.stderr(Stdio::null()).output() else {
        return Facts::default();
    };
    Facts::parse(&String::from_utf8_lossy(&answer.stdout))
}

/// The child process, and the thread that reads its standard error.
#[derive(Debug)]
struct Running {
    program: Program,
    /// The thread that reads standard error, because a full pipe would stop ffmpeg.
    last_line: Option<JoinHandle<String>>,
}

impl Running {
    fn start(mut program: Command) -> Result<(Self, ChildStdout), SourceError> {
        let mut child = program
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SourceError::NoFfmpeg)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let running = Self {
            program: Program::new(child),
            last_line: stderr.map(|stderr| thread::spawn(move || last_line(stderr))),
        };
        let no_pipe = || SourceError::NoFfmpeg(io::ErrorKind::BrokenPipe.into());
        Ok((running, stdout.ok_or_else(no_pipe)?))
    }

    /// Returns the last line of ffmpeg if it failed. Its output has ended, so the process ends too.
    fn complaint(&mut self, input: &str) -> Option<SourceError> {
        // The wait is for the end of standard error. A wait for the process would keep others from killing a
        // process that hangs.
        let said = self.last_line.take()?.join().unwrap_or_default();
        let ended = self.program.child().wait();
        if ended.as_ref().is_ok_and(ExitStatus::success) {
            return None;
        }
        let message = match ended {
            _ if !said.is_empty() => said,
            Ok(status) => format!("it ended with {status}"),
            Err(error) => error.to_string(),
        };
        Some(SourceError::Ffmpeg {
            input: input.into(),
            message,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.program.kill();
        let _ = self.program.child().wait();
    }
}

/// The longest line of ffmpeg that is kept.
const LONGEST_LINE: usize = 512;

/// The words of ffmpeg about an input that would make it open another, after which it says less.
const CONFINED: &[u8] = b" not on whitelist";

/// The same in a layman's words.
const STANDS_NOT_ALONE: &str = "it is no video that stands alone, but names other files or addresses, as a playlist does; \
    name one of them, or let ffmpeg make an .mp4 of all";

/// Reads to the end in bounded memory, and returns the last line that is not empty.
fn last_line(input: impl Read) -> String {
    let (mut last, mut line, mut is_confined) = (Vec::new(), Vec::new(), false);
    for byte in BufReader::new(input).bytes().map_while(Result::ok) {
        if byte != b'\n' {
            if line.len() < LONGEST_LINE {
                line.push(byte);
            }
        } else if !line.is_empty() {
            is_confined |= line.windows(CONFINED.len()).any(|words| words == CONFINED);
            last = core::mem::take(&mut line);
        }
    }
    if is_confined {
        return STANDS_NOT_ALONE.into();
    }
    let last = if line.is_empty() { last } else { line };
    String::from_utf8_lossy(&last).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn process_without_output_can_be_killed() {
        let (mut running, _) = Running::start(shell("exec >&-; exec sleep 20")).expect("a shell");
        let program = running.program.clone();
        let (ended, waited) = mpsc::channel();
        thread::spawn(move || ended.send(running.complaint("clip.mp4")));
        let early = waited.recv_timeout(10 * POLL_INTERVAL);
        assert!(early.is_err(), "{early:?}");
        program.kill();
        let complaint = waited.recv_timeout(FIRST_PICTURE_TIMEOUT).expect("its end");
        assert!(complaint.is_some_and(|error| error.to_string().contains("signal")));
    }

    #[test]
    fn process_killed_at_first_bytes_is_no_source() {
        let file = |name: &str| {
            let name = format!("evenkeel-{name}-{}", std::process::id());
            std::env::temp_dir().join(name)
        };
        let (asked, written) = (file("asked"), file("written"));
        let script = format!(
            "until [ -e {} ]; do :; done; echo YUV4MPEG2 W16 H16 F25:1; : > {}; exec sleep 20",
            asked.display(),
            written.display()
        );
        let files = [asked.clone(), written.clone()];
        let is_unwanted = move || {
            std::fs::write(&asked, "").expect("a file");
            while !written.exists() {
                thread::yield_now();
            }
            true
        };
        let opened = Ffmpeg::begin(shell(&script), "clip.mp4", is_unwanted);
        for file in files {
            std::fs::remove_file(file).expect("a file of this test");
        }
        let message = opened.expect_err("it was killed").to_string();
        assert!(message.contains("stopped"), "{message}");
    }

    #[test]
    fn the_last_line_said_is_kept() {
        assert_eq!(last_line(&b"first\nsecond\n\n"[..]), "second");
        assert_eq!(last_line(&b"first\nunfinished"[..]), "unfinished");
        assert_eq!(last_line(&b""[..]), "");
        assert_eq!(last_line(&[b'x'; 5000][..]).len(), LONGEST_LINE);
        let playlist = b"[hls @ 0x1] Format not on whitelist 'mov'\nlist.m3u8: Invalid argument\n";
        assert_eq!(last_line(&playlist[..]), STANDS_NOT_ALONE);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Ffmpeg::open("no such file.mp4", &FfmpegOptions::default());
        let message = error.expect_err("missing").to_string();
        assert!(message.starts_with("no such file.mp4: "), "{message}");
    }
}
