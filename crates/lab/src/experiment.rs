//! An experiment's file: what is run, what is drawn, what is held to what.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::scenario::Kind;
use crate::units::Time;

/// The papers that experiments are from, and RFC 8867.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Paper {
    /// Floyd, Handley, Padhye, Widmer, 2000.
    Sigcomm,
    /// The dissertation of 2006.
    Thesis,
    /// HDTV over RTP and TFRC.
    Hdtv,
    /// The sender-based design.
    Light,
    /// Video on demand.
    Vod,
    /// RFC 8867 with the metrics of RFC 8868.
    Rmcat,
    /// Ours.
    Evenkeel,
}

/// Which clock a run takes its time from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// The simulator's: a run takes what its computation takes, and repeats to the byte.
    #[default]
    Virtual,
    /// The machine's.
    Real,
}

impl ClockKind {
    /// As it stands in a result.
    pub fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

/// `experiments/ID.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Where it is from.
    pub paper: Paper,
    /// The figure or table there.
    pub figure: String,
    /// What stands below it there.
    pub caption: String,
    /// What the paper claims, in our words.
    pub claim: String,
    /// What the paper leaves open and how it was settled here; how the result differs and why.
    #[serde(default)]
    pub notes: String,
    /// Virtual unless given.
    #[serde(default)]
    pub clock: ClockKind,
    /// Independent repetitions, seeded 1, 2, …; more than one only for a random scenario.
    #[serde(default = "one")]
    pub seeds: u32,
    /// What all of it takes on one core, roughly: for the estimate of the time left.
    pub takes: Time,
    /// What is run.
    pub scenario: Kind,
    /// What is drawn.
    #[serde(rename = "panel")]
    pub panels: Vec<PanelDefinition>,
    /// What is held to what.
    #[serde(rename = "check")]
    pub checks: Vec<CheckDefinition>,
}

fn one() -> u32 {
    1
}

/// One plot of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelDefinition {
    /// The curves that it shows: a group that the scenario gives.
    pub curves: String,
    /// Above the plot.
    #[serde(default)]
    pub title: String,
    /// The quantity across, with its unit.
    pub x: String,
    /// The quantity upwards, with its unit.
    pub y: String,
    /// Logarithmic axes: none, `"x"`, `"y"` or `"xy"`.
    #[serde(default)]
    pub log: LogAxes,
    /// The part of the x axis that is shown; all of the data unless given.
    pub x_range: Option<[f64; 2]>,
    /// The part of the y axis that is shown; from zero (or the data, if logarithmic) unless given.
    pub y_range: Option<[f64; 2]>,
    /// Lines through the points, or points alone.
    #[serde(default)]
    pub style: Style,
}

/// Which axes are logarithmic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogAxes {
    /// Neither.
    #[default]
    None,
    /// Across.
    X,
    /// Upwards.
    Y,
    /// Both.
    Xy,
}

/// How the points of a curve are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A line.
    #[default]
    Line,
    /// A line that holds each value until the next.
    Steps,
    /// A mark at each point and a line through them.
    Marks,
    /// Marks alone.
    Points,
}

/// A metric and the bounds that it is held to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckDefinition {
    /// The metric.
    pub name: String,
    /// It is at least this.
    pub low: Option<f64>,
    /// It is at most this.
    pub high: Option<f64>,
    /// Where the bound is from.
    pub source: String,
    /// Why our value departs from the paper's: the check is then told, and fails no run.
    pub documented: Option<String>,
}

/// A definition and where it came from.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The name of its file, without `.toml`.
    pub id: String,
    /// As read, with the settings.
    pub definition: Definition,
    /// The text of the file.
    pub text: String,
    /// Parameters of the scenario that were changed: `key=value`.
    pub settings: Vec<String>,
}

/// What is wrong with an experiment's file. One line: file, line, key, and what would be right.
#[derive(Debug)]
pub enum ExperimentError {
    /// The file cannot be read.
    Unreadable(PathBuf, std::io::Error),
    /// The file says what cannot be.
    Wrong {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key on that line, if it has one.
        key: Option<String>,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A `--set` that does not fit.
    Setting {
        /// As given.
        setting: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(file, error) => write!(f, "{}: {error}", file.display()),
            Self::Wrong {
                file,
                line,
                key,
                what,
            } => {
                write!(f, "{}:{line}: ", file.display())?;
                if let Some(key) = key {
                    write!(f, "{key}: ")?;
                }
                f.write_str(what)
            }
            Self::Setting { setting, what } => write!(f, "--set {setting}: {what}"),
        }
    }
}

impl std::error::Error for ExperimentError {}

impl Experiment {
    /// Reads a file, and changes parameters of its scenario: `settings` are `key=value`, where a dot
    /// leads into a table.
    pub fn load(file: &Path, settings: &[String]) -> Result<Self, ExperimentError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| ExperimentError::Unreadable(file.to_owned(), error))?;
        let mut definition = Definition::read(file, &text)?;
        for count in 1..=settings.len() {
            definition = Definition::with_settings(&text, &settings[..count]).map_err(|what| {
                ExperimentError::Setting {
                    setting: settings[count - 1].clone(),
                    what,
                }
            })?;
        }
        let id = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            id: id.into_owned(),
            definition,
            text,
            settings: settings.to_vec(),
        })
    }
}

impl Definition {
    fn read(file: &Path, text: &str) -> Result<Self, ExperimentError> {
        let wrong = |at: usize, what: String| {
            let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let line = text[line_start..].lines().next().unwrap_or_default();
            ExperimentError::Wrong {
                file: file.to_owned(),
                line: 1 + text[..at].matches('\n').count(),
                key: line.split_once('=').map(|(key, _)| key.trim().to_owned()),
                what,
            }
        };
        let definition: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start.min(text.len()));
            wrong(at, one_line(error.message()))
        })?;
        match definition.verify() {
            Ok(()) => Ok(definition),
            Err((needle, what)) => Err(wrong(locate(text, &needle), what)),
        }
    }

    fn with_settings(text: &str, settings: &[String]) -> Result<Self, String> {
        let told = |error: &toml::de::Error| one_line(error.message());
        let mut root: toml::Table = toml::from_str(text).map_err(|error| told(&error))?;
        for setting in settings {
            change(&mut root, setting)?;
        }
        let definition: Self = root.try_into().map_err(|error| told(&error))?;
        definition.verify().map_err(|(_, what)| what)?;
        Ok(definition)
    }
}

/// Where a key is given a value, or a quoted text stands; the beginning if nowhere.
fn locate(text: &str, needle: &str) -> usize {
    let is_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(needle).find(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + needle.len()..].trim_start();
        needle.starts_with('"') || after.starts_with('=') && !before.is_some_and(is_of_a_word)
    });
    found.map_or(0, |(at, _)| at)
}

/// Changes one parameter of the scenario in the document.
fn change(root: &mut toml::Table, setting: &str) -> Result<(), String> {
    let (path, value) = setting
        .split_once('=')
        .ok_or("not a setting: write key=value, such as rtt=200ms")?;
    // What is no TOML value by itself is a string whose quotes the shell took: 200ms.
    let value = toml::from_str::<toml::Table>(&format!("v = {value}"))
        .ok()
        .and_then(|mut table| table.remove("v"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()));
    let mut table = root
        .get_mut("scenario")
        .and_then(toml::Value::as_table_mut)
        .and_then(|kinds| kinds.iter_mut().next())
        .and_then(|(_, scenario)| scenario.as_table_mut())
        .ok_or("the file has no scenario")?;
    let mut keys = path.trim().split('.').peekable();
    while let Some(key) = keys.next() {
        if keys.peek().is_none() {
            table.insert(key.to_owned(), value);
            break;
        }
        table = table
            .get_mut(key)
            .and_then(toml::Value::as_table_mut)
            .ok_or_else(|| format!("{key} is no table of the scenario"))?;
    }
    Ok(())
}

impl Definition {
    /// What types alone cannot refuse. The first text is where to look for it in the file.
    fn verify(&self) -> Result<(), (String, String)> {
        if !(1..=1_000).contains(&self.seeds) {
            return Err(("seeds".into(), "from 1 to 1000 seeds".into()));
        }
        for check in &self.checks {
            let name = format!("\"{}\"", check.name);
            let bounded = check.low.is_some() || check.high.is_some();
            let ordered = check.low.zip(check.high).is_none_or(|(l, h)| l <= h);
            let finite = [check.low, check.high]
                .iter()
                .flatten()
                .all(|b| b.is_finite());
            if !(bounded && ordered && finite) {
                let what = "a check needs low, high or both, finite, with low not above high";
                return Err((name, what.into()));
            }
        }
        for panel in &self.panels {
            for (range, log, key) in [
                (panel.x_range, panel.log.x(), "x_range"),
                (panel.y_range, panel.log.y(), "y_range"),
            ] {
                let sound = range.is_none_or(|[from, to]| {
                    from.is_finite() && to.is_finite() && from < to && (!log || from > 0.0)
                });
                if !sound {
                    let what = "a range is [from, to] with from below to, and above 0 on a logarithmic axis";
                    return Err((key.into(), what.into()));
                }
            }
        }
        self.scenario
            .verify()
            .map_err(|wrong| (wrong.key.to_owned(), wrong.to_string()))
    }
}

impl LogAxes {
    /// Is the x axis logarithmic?
    pub fn x(self) -> bool {
        matches!(self, Self::X | Self::Xy)
    }

    /// Is the y axis logarithmic?
    pub fn y(self) -> bool {
        matches!(self, Self::Y | Self::Xy)
    }
}

impl Paper {
    /// The name that this project uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sigcomm => "sigcomm",
            Self::Thesis => "thesis",
            Self::Hdtv => "hdtv",
            Self::Light => "light",
            Self::Vod => "vod",
            Self::Rmcat => "rmcat",
            Self::Evenkeel => "evenkeel",
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = r#"paper = "sigcomm"
figure = "figure 19"
caption = "A caption."
claim = "A claim."
takes = "1s"

[scenario.end-of-congestion]
rtt = "85ms"
packet = "1000B"
lost_one_in = 100
lead_in = "20s"
ends_at = "10s"
until = "13s"

[[panel]]
curves = "rate"
x = "time (s)"
y = "rate"

[[check]]
name = "increase"
low = 0.08
high = 0.15
source = "figure 19"
"#;

    fn error(text: &str) -> String {
        let read = Definition::read(Path::new("experiments/e.toml"), text);
        read.unwrap_err().to_string()
    }

    fn with(from: &str, to: &str) -> String {
        assert!(SOUND.contains(from));
        SOUND.replace(from, to)
    }

    #[test]
    fn a_sound_file_is_read() {
        let definition = Definition::read(Path::new("e.toml"), SOUND).unwrap();
        assert_eq!(definition.seeds, 1);
        assert_eq!(definition.clock, ClockKind::Virtual);
        assert_eq!(definition.checks[0].low, Some(0.08));
    }

    #[test]
    fn an_error_names_file_line_key_and_what_would_be_right() {
        let told = error(&with("\"85ms\"", "\"85\""));
        assert!(told.starts_with("experiments/e.toml:8: rtt: "), "{told}");
        assert!(told.contains("such as \"50ms\""), "{told}");

        let told = error(&with("lost_one_in", "lost_one_out"));
        assert!(told.starts_with("experiments/e.toml:10: "), "{told}");
        assert!(
            told.contains("lost_one_out") && told.contains("`lost_one_in`"),
            "{told}"
        );

        let told = error(&with("packet = \"1000B\"\n", ""));
        assert!(told.starts_with("experiments/e.toml:7: "), "{told}");
        assert!(told.contains("packet"), "{told}");
    }

    #[test]
    fn an_impossible_number_is_an_error_at_load() {
        let told = error(&with("\"85ms\"", "\"0s\""));
        assert_eq!(told, "experiments/e.toml:8: rtt: rtt must be above 0");
        let told = error(&with("low = 0.08", "low = 0.2"));
        assert!(told.starts_with("experiments/e.toml:21: "), "{told}");
        let told = error(&with("low = 0.08\nhigh = 0.15\n", ""));
        assert!(told.contains("a check needs low, high or both"), "{told}");
        let told = error(&with("takes = \"1s\"", "takes = \"1s\"\nseeds = 0"));
        assert_eq!(told, "experiments/e.toml:6: seeds: from 1 to 1000 seeds");
    }

    #[test]
    fn a_key_is_found_where_it_is_given_a_value() {
        let text = "notes = \"max is 5\"\nmax_p = 0.1\nqueue = { climax = 1, max = 5 }\n";
        assert_eq!(locate(text, "max"), text.find("max = 5").unwrap());
        assert_eq!(locate(text, "min"), 0);
    }

    #[test]
    fn settings_change_parameters_and_their_errors_name_them() {
        let set = |setting: &str| Definition::with_settings(SOUND, &[setting.to_owned()]);
        assert!(set("rtt=200ms").is_ok());
        assert!(set("lost_one_in=50").is_ok());
        assert!(set("rtt=0s").unwrap_err().contains("above 0"));
        assert!(set("rtt=200").unwrap_err().contains("a time"));
        assert!(set("speed=3").unwrap_err().contains("speed"));
        assert!(set("rtt").unwrap_err().contains("key=value"));
        assert!(set("rtt.x=1").unwrap_err().contains("no table"));
    }
}
