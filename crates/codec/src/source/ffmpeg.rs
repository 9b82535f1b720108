//! Reads any file or device that the program `ffmpeg` reads, through a pipe of raw pictures.

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

/// The options with which `ffmpeg` reads its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FfmpegOptions {
    /// The input's format, where its name does not show it: `v4l2` for a camera, `lavfi` for a filter.
    pub input_format: Option<String>,
    /// The frame rate to which pictures are resampled.
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
}

impl Ffmpeg {
    /// Starts `ffmpeg` on a file, device or URL, and waits for its first bytes.
    ///
    /// # Errors
    /// If `ffmpeg` is not installed, the file is not there, or `ffmpeg` cannot read it, or has no picture of it
    /// after ten seconds.
    pub fn open(input: &str, options: &FfmpegOptions) -> Result<Self, SourceError> {
        Self::open_unless(input, options, || false)
    }

    /// Opens a source unless `is_unwanted`, which is called every few milliseconds, returns true before the first picture.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if the source becomes unwanted.
    pub fn open_unless(
        input: &str,
        options: &FfmpegOptions,
        is_unwanted: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self, SourceError> {
        // ffmpeg reports this too, after a line of its own; a filter or a URL is no file.
        if options.input_format.is_none() && !input.contains(':') {
            Path::new(input)
                .metadata()
                .map_err(|error| SourceError::Io {
                    input: input.into(),
                    error,
                })?;
        }
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(arguments(input, options));
        Self::begin(ffmpeg, input, is_unwanted)
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

fn arguments(input: &str, options: &FfmpegOptions) -> Vec<String> {
    let mut arguments = vec!["-nostdin".into(), "-v".into(), "error".into()];
    let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
    if options.repeat {
        add("-stream_loop", "-1".into());
    }
    if let Some(format) = &options.input_format {
        add("-f", format.clone());
    }
    add("-i", input.into());
    let rate = options.frame_rate.map(|rate| format!("fps={rate}"));
    let size = options
        .size
        .map(|(width, height)| format!("scale={width}:{height}"));
    let filters: Vec<String> = rate.into_iter().chain(size).collect();
    if !filters.is_empty() {
        add("-vf", filters.join(","));
    }
    add("-pix_fmt", "yuv420p".into());
    add("-f", "yuv4mpegpipe".into());
    arguments.push("-".into());
    arguments
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
            .stdin(Stdio::null())
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

/// Reads to the end in bounded memory, and returns the last line that is not empty.
fn last_line(input: impl Read) -> String {
    let (mut last, mut line) = (Vec::new(), Vec::new());
    for byte in BufReader::new(input).bytes().map_while(Result::ok) {
        if byte != b'\n' {
            if line.len() < LONGEST_LINE {
                line.push(byte);
            }
        } else if !line.is_empty() {
            last = core::mem::take(&mut line);
        }
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
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Ffmpeg::open("no such file.mp4", &FfmpegOptions::default());
        let message = error.expect_err("missing").to_string();
        assert!(message.starts_with("no such file.mp4: "), "{message}");
    }

    #[test]
    fn options_become_arguments_in_ffmpegs_order() {
        let options = FfmpegOptions {
            input_format: Some("v4l2".into()),
            frame_rate: FrameRate::new(30_000, 1001),
            size: Some((320, 240)),
            repeat: true,
        };
        assert_eq!(
            arguments("/dev/video0", &options).join(" "),
            "-nostdin -v error -stream_loop -1 -f v4l2 -i /dev/video0 \
             -vf fps=30000/1001,scale=320:240 -pix_fmt yuv420p -f yuv4mpegpipe -"
        );
    }
}
