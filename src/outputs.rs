//! Writes results: displays, recordings, the files of a run, the page and the lines on standard output.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use evenkeel_codec::Codec;
use evenkeel_codec::sink::{self, Null, Sink};
use evenkeel_codec::source::{Format, FrameRate};
use evenkeel_media::policy::PolicyConfig;
use serde_json::Value;
use tfrc::units::Rate;

use crate::cli::{PictureArgs, RunArgs};
use crate::failure::{self, Failure};
use crate::output_file::OutputFile;
use crate::page::{Controls, Mode, Page, PageInfo};
use crate::recording::{Container, ContainerRecording, Recording, Y4mRecording};
use crate::redaction::{redacted, redacted_words};
use crate::trace::{TraceEvent, TraceFile};
use crate::units;

/// The files that a run writes, opened before it starts so that a wrong path is known at once.
pub(crate) struct Outputs {
    json: Option<Json>,
    /// The trace, or the error that ended it.
    trace: Option<Result<TraceFile, Failure>>,
    /// True if the recording goes to standard output.
    record_is_said: bool,
}

/// The place of the summary.
enum Json {
    StandardOutput,
    File(OutputFile),
}

impl Outputs {
    /// Opens the files of a run.
    pub(crate) fn open(run: &RunArgs, record: Option<&Path>) -> Result<Self, Failure> {
        let record_is_said = record.is_some_and(is_standard_output);
        if record_is_said && run.json.as_deref().is_some_and(is_standard_output) {
            return Err(Failure::usage(
                "--record - and --json -: standard output has room for one of them; name a file for the other",
            ));
        }
        // A refused summary leaves an earlier trace as it is.
        let json = run.json.as_deref().map(|path| match path {
            path if is_standard_output(path) => Ok(Json::StandardOutput),
            path => create("--json", path).map(Json::File),
        });
        let json = json.transpose()?;
        let trace = run.trace.as_deref().map(|path| create("--trace", path));
        Ok(Self {
            json,
            trace: trace.transpose()?.map(|file| Ok(TraceFile::new(file))),
            record_is_said,
        })
    }

    /// Returns true if the summary or the recording goes to standard output, which then has no line of progress.
    pub(crate) fn json_is_said(&self) -> bool {
        self.record_is_said || matches!(self.json, Some(Json::StandardOutput))
    }

    /// Writes an event of this part of the run, if there is a trace. A trace that cannot be written ends, and not the run.
    pub(crate) fn trace(&mut self, part: &str, event: impl FnOnce() -> TraceEvent) {
        let Some(Ok(file)) = &mut self.trace else {
            return;
        };
        if let Err(error) = file.write(part, &event()) {
            failure::warn(format_args!(
                "{error}; the trace ends here, and the run goes on"
            ));
            self.trace = Some(Err(Failure::runtime(error)));
        }
    }

    /// Ends the trace and writes the summary.
    pub(crate) fn finish(self, summary: &Value) -> Result<(), Failure> {
        let traced = self
            .trace
            .map_or(Ok(()), |trace| trace?.finish().map_err(Failure::runtime));
        let written = match self.json {
            None => Ok(()),
            Some(Json::StandardOutput) => say(summary),
            Some(Json::File(mut file)) => writeln!(file, "{summary:#}").map_err(Failure::runtime),
        };
        traced.and(written)
    }
}

/// Refuses a run whose summary would cover no time.
pub(crate) fn summarised(run: &RunArgs) -> Result<(), Failure> {
    match run.seconds {
        Some(seconds) if seconds <= run.warmup() => Err(Failure::usage(format!(
            "--warmup {} leaves nothing of --seconds {} to sum up; give more --seconds, or a shorter --warmup",
            run.warmup().as_secs_f64(),
            seconds.as_secs_f64()
        ))),
        _ => Ok(()),
    }
}

/// An option, and the file that it names.
pub(crate) type NamedFile<'a> = (&'static str, Option<&'a Path>);

/// Returns the files that every run may write.
pub(crate) fn run_files(run: &RunArgs) -> [NamedFile<'_>; 2] {
    [
        ("--json", run.json.as_deref()),
        ("--trace", run.trace.as_deref()),
    ]
}

/// Refuses to write over a file that is read, because the file would be emptied first.
pub(crate) fn spare<'a>(
    read: &[NamedFile<'_>],
    written: impl IntoIterator<Item = NamedFile<'a>>,
) -> Result<(), Failure> {
    let place = |path: &Path| path.canonicalize().ok();
    for (option, path) in written {
        let Some((path, written)) = path.and_then(|path| Some((path, place(path)?))) else {
            continue;
        };
        let mut read = read.iter();
        let reader = read.find(|(_, path)| path.and_then(place).as_ref() == Some(&written));
        if let Some((reader, _)) = reader {
            return Err(Failure::usage(format!(
                "{option} {}: {reader} reads it; name another file to write",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Returns the sink of received pictures in addition to the page. A frame rate that is unknown is measured.
pub(crate) fn sink(
    record: Option<&Path>,
    codec: Codec,
    frame_rate: Option<FrameRate>,
) -> Result<Box<dyn Sink + Send>, Failure> {
    let Some(path) = record else {
        return Ok(no_sink());
    };
    let extension = path.extension().and_then(|extension| extension.to_str());
    let refused = |why: &str| {
        Err(Failure::usage(format!(
            "--record {}: {why}",
            path.display()
        )))
    };
    let recording = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("dv") if codec != Codec::Dv => {
            return refused(&format!(
                "pictures of {codec} are no DV; name it .y4m, .mp4, .mkv or .ts"
            ));
        }
        Some("dv") => Recording::new(sink::DvFile::new(create("--record", path)?)),
        Some("avi" | "flv" | "m4v" | "mov" | "mpg" | "ogg" | "webm") => {
            return refused("there is no recording of this kind; name it .y4m, .mp4, .mkv or .ts");
        }
        _ if is_standard_output(path) => Recording::new(Y4mRecording::new(
            OutputFile::standard_output("--record"),
            frame_rate,
        )),
        _ => match Container::of(path) {
            Some(_) if codec == Codec::Dv => {
                return refused(&format!(
                    "pictures of {codec} fit none; name it .dv or .y4m"
                ));
            }
            Some(container) => {
                let recording = ContainerRecording::new(container, path);
                Recording::new(recording.map_err(|error| cannot("write", path, &error))?)
            }
            None => Recording::new(Y4mRecording::new(create("--record", path)?, frame_rate)),
        },
    };
    Ok(Box::new(recording))
}

/// Creates the file of an option, or empties it, so that a wrong path is known at once.
fn create(option: &str, path: &Path) -> Result<OutputFile, Failure> {
    OutputFile::create(option, path).map_err(|error| cannot("write", path, &error))
}

/// Returns a sink that drops pictures.
pub(crate) fn no_sink() -> Box<dyn Sink + Send> {
    Box::new(Null)
}

/// Returns the description of the run for the page.
pub(crate) fn page_info(
    mode: Mode,
    picture: Option<&PictureArgs>,
    format: Option<&Format>,
) -> PageInfo {
    let deadline = picture.map_or(PolicyConfig::DEADLINE, |picture| picture.deadline);
    PageInfo {
        source: match picture.map(|picture| picture.source.as_str()) {
            None => "network".into(),
            Some("scene") => "built-in scene".into(),
            Some("presenter") => "built-in presenter".into(),
            Some(name) => redacted(name),
        },
        width: format.map(|format| format.width as u32),
        height: format.map(|format| format.height as u32),
        fps: format.map(|format| format.frame_rate.per_second()),
        seed: picture.map(PictureArgs::seed),
        words: words(picture),
        mode,
        choices: BTreeMap::new(),
        deadline_ms: units::millis(deadline),
        max_rate_bps: picture
            .and_then(|picture| picture.max_rate)
            .map(Rate::bits_per_sec),
    }
}

/// Returns the words of the command that would show the same pictures again, without its secrets.
fn words(picture: Option<&PictureArgs>) -> Vec<String> {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|word| word.to_string_lossy().into_owned());
    let mut words = redacted_words(["evenkeel".into()].into_iter().chain(typed));
    if let Some(picture) = picture.filter(|picture| picture.seed.is_none()) {
        words.extend(["--seed".into(), picture.seed().to_string()]);
    }
    words
}

/// Prints a line; returns an error if standard output is closed.
pub(crate) fn say(line: impl Display) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| Failure::runtime(format!("cannot write to standard output: {error}")))
}

/// Prints a line of progress, on standard error while standard output is for JSON or pictures.
#[expect(clippy::print_stderr, reason = "progress, and no warning")]
pub(crate) fn tell(output_is_taken: bool, line: impl Display) -> Result<(), Failure> {
    if output_is_taken {
        eprintln!("{line}");
        return Ok(());
    }
    say(line)
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Starts the page unless the run is headless, and prints its address.
pub(crate) fn page(
    run: &RunArgs,
    info: &PageInfo,
    controls: Option<Controls>,
    output_is_taken: bool,
) -> Result<Option<Arc<Page>>, Failure> {
    if run.headless {
        return Ok(None);
    }
    let page = Page::start(run.page, info, controls).map_err(Failure::usage)?;
    let address = page.address();
    let note = match run.page.port() {
        port if port == 0 || port == address.port() => String::new(),
        port => format!(" (port {port} is taken)"),
    };
    tell(output_is_taken, format_args!("page: {}{note}", page.url()))?;
    if page.is_open() {
        failure::warn(format_args!(
            "the page can be opened from other machines: anyone with this address sees the pictures and can move the sliders; \
             --page 127.0.0.1:{} restricts it to this machine",
            address.port()
        ));
    }
    Ok(Some(Arc::new(page)))
}

/// Returns the failure "cannot write FILE: reason".
pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if what == "write" && !folder.is_dir() => Failure::usage(format!(
            "cannot {what} {}: there is no folder {}; make it, or name another",
            path.display(),
            folder.display()
        )),
        _ => Failure::usage(format!("cannot {what} {}: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::cli::Cli;
    use crate::inputs::wanted;
    use crate::wiring::policy;
    use clap::Parser as _;

    #[test]
    fn page_and_policy_have_the_given_deadline() {
        let words = ["evenkeel", "demo", "--deadline", "300ms"];
        let cli = Cli::try_parse_from(words).expect("well formed");
        let picture = cli.command.picture().expect("it sends");
        let format = wanted(picture);
        let info = page_info(Mode::Demo, Some(picture), Some(&format));
        assert_eq!(info.deadline_ms, 300.0);
        assert_eq!(
            policy(picture, &format).deadline,
            Duration::from_millis(300)
        );
        assert_eq!(page_info(Mode::Recv, None, None).deadline_ms, 150.0);
    }
}
