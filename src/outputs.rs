//! Results out: displays, recordings, the files of a run, the page and the lines on standard output.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use evenkeel_codec::Codec;
use evenkeel_codec::sink::{self, Null, Sink};
use evenkeel_codec::source::{Format, FrameRate};
use evenkeel_media::policy::PolicyConfig;

use crate::cli::{PictureArgs, RunArgs};
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::page::{Knobs, Mode, Page, PageInfo};
use crate::recording::Recording;
use crate::trace::TraceFile;
use crate::units;

/// Files that a run writes, opened before it starts so that a wrong path is known at once.
pub(crate) struct Outputs {
    /// `--json`; `None` in the inner place is standard output.
    pub(crate) json: Option<Option<OutputFile>>,
    /// `--trace`.
    pub(crate) trace: Option<TraceFile>,
}

impl Outputs {
    /// True if the summary goes to standard output.
    pub(crate) fn json_is_said(&self) -> bool {
        matches!(self.json, Some(None))
    }
}

/// Refuses a run whose summary would be of nothing.
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

/// Opens the files of a run.
pub(crate) fn outputs(run: &RunArgs) -> Result<Outputs, Failure> {
    let json = match run.json.as_deref() {
        None => None,
        Some(path) if is_standard_output(path) => Some(None),
        Some(path) => Some(Some(
            OutputFile::create("--json", path).map_err(|error| cannot("write", path, &error))?,
        )),
    };
    let trace = run
        .trace
        .as_deref()
        .map(|path| TraceFile::create(path).map_err(|error| cannot("write", path, &error)));
    Ok(Outputs {
        json,
        trace: trace.transpose()?,
    })
}

/// An option, and the file that it names.
pub(crate) type NamedFile<'a> = (&'static str, Option<&'a Path>);

/// The files that every run may write.
pub(crate) fn run_files(run: &RunArgs) -> [NamedFile<'_>; 2] {
    [
        ("--json", run.json.as_deref()),
        ("--trace", run.trace.as_deref()),
    ]
}

/// Refuses to write over what is read: the file would be emptied first.
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

/// Where received pictures go beside the page.
pub(crate) fn sink(
    record: Option<&Path>,
    codec: Codec,
    frame_rate: FrameRate,
) -> Result<Box<dyn Sink + Send>, Failure> {
    let is_dv = |path: &Path| path.extension().is_some_and(|extension| extension == "dv");
    match record {
        None => Ok(no_sink()),
        Some(path) if is_dv(path) && codec != Codec::Dv => Err(Failure::usage(format!(
            "--record {}: pictures of {codec} are recorded as y4m; name it so",
            path.display()
        ))),
        Some(path) if is_dv(path) => match OutputFile::create("--record", path) {
            Ok(file) => Ok(Box::new(sink::DvFile::new(file))),
            Err(error) => Err(cannot("write", path, &error)),
        },
        Some(path) => match Recording::create(path, frame_rate) {
            Ok(recording) => Ok(Box::new(recording)),
            Err(error) => Err(cannot("write", path, &error)),
        },
    }
}

/// Nowhere.
pub(crate) fn no_sink() -> Box<dyn Sink + Send> {
    Box::new(Null)
}

/// What the page says of the run.
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
            Some(name) => name.into(),
        },
        width: format.map_or(0, |format| format.width as u32),
        height: format.map_or(0, |format| format.height as u32),
        fps: format.map_or(0.0, |format| format.frame_rate.per_second()),
        seed: picture.map_or(0, PictureArgs::seed),
        command: command(picture),
        mode,
        knobs: mode == Mode::Demo,
        choices: BTreeMap::new(),
        deadline_ms: units::millis(deadline),
    }
}

/// The command line that would show the same pictures again.
fn command(picture: Option<&PictureArgs>) -> String {
    let mut line = std::env::args_os()
        .skip(1)
        .fold("evenkeel".into(), |line: String, word| {
            format!("{line} {}", quoted(&word.to_string_lossy()))
        });
    if let Some(picture) = picture.filter(|picture| picture.seed.is_none()) {
        line += &format!(" --seed {}", picture.seed());
    }
    line
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Prints a line; an error if nobody reads standard output any more.
pub(crate) fn say(line: impl Display) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{line}")
        .map_err(|error| Failure::runtime(format!("cannot write to standard output: {error}")))
}

/// Says how it goes: on standard error while standard output is for JSON.
pub(crate) fn tell(output_is_json: bool, line: impl Display) -> Result<(), Failure> {
    if output_is_json {
        eprintln!("{line}");
        return Ok(());
    }
    say(line)
}

fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Starts the page unless the run is headless, and says where it is.
pub(crate) fn page(
    run: &RunArgs,
    info: &PageInfo,
    controls: impl Fn(Knobs) -> Result<(), String> + Send + Sync + 'static,
) -> Result<Option<Arc<Page>>, Failure> {
    if run.headless {
        return Ok(None);
    }
    let page = Page::start(run.page, info, controls).map_err(Failure::usage)?;
    let output_is_json = run.json.as_deref().is_some_and(is_standard_output);
    tell(
        output_is_json,
        format_args!("page: http://{}", page.address()),
    )?;
    Ok(Some(Arc::new(page)))
}

/// Where there is no link to turn.
pub(crate) fn no_knobs(_knobs: Knobs) -> Result<(), String> {
    Err("there is no emulated link here".into())
}

/// "cannot write FILE: why".
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
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted("--rate=3M"), "--rate=3M");
        assert_eq!(quoted("my clip.mp4"), "'my clip.mp4'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

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
