//! An experiment's file: read, changed by settings, and refused with the place of what is wrong.

mod definition;
mod place;

use std::fmt;
use std::path::{Path, PathBuf};

pub use definition::{
    CheckDefinition, ClockKind, Definition, LogAxes, PanelDefinition, Paper, Style,
};

use crate::units::Time;
use definition::Wrong;

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
    /// What the test bed changes does not fit.
    Real {
        /// The experiment.
        id: String,
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
            Self::Real { id, what } => write!(f, "{id}: [real]: {what}"),
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
        Self::read(file, text, settings)
    }

    /// The same for the text of such a file.
    pub fn read(file: &Path, text: String, settings: &[String]) -> Result<Self, ExperimentError> {
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

impl Experiment {
    /// The real half, if there is one: `ID-real`, with what `[real]` changes in the scenario.
    pub fn real(&self) -> Result<Option<Self>, ExperimentError> {
        if self.definition.real.is_none() {
            return Ok(None);
        }
        let changed = Definition::changed(&self.text, Half::Real, &self.settings);
        let mut definition = changed.map_err(|what| ExperimentError::Real {
            id: self.id.clone(),
            what,
        })?;
        definition.clock = ClockKind::Real;
        // Repetitions take their time; whoever has it asks for more seeds.
        definition.seeds = 1;
        let scenario = definition.scenario.scenario();
        if let Some(real) = scenario.real() {
            let cells = (0..scenario.cells()).map(|cell| real.takes(cell));
            definition.takes = Time(cells.sum());
        }
        Ok(Some(Self {
            id: format!("{}-real", self.id),
            definition,
            text: self.text.clone(),
            settings: self.settings.clone(),
        }))
    }
}

impl Definition {
    fn read(file: &Path, text: &str) -> Result<Self, ExperimentError> {
        let wrong = |at: usize, key: Option<String>, what: String| ExperimentError::Wrong {
            file: file.to_owned(),
            line: 1 + text[..at].matches('\n').count(),
            key,
            what,
        };
        let definition: Self = toml::from_str(text).map_err(|error| {
            let part = error.span().unwrap_or(0..text.len());
            let at = part.start.min(text.len());
            wrong(at, place::key_of(text, &part), one_line(error.message()))
        })?;
        match definition.verify() {
            Ok(()) => Ok(definition),
            Err(Wrong { place, what }) => {
                Err(wrong(place.find(text), Some(place.key.to_owned()), what))
            }
        }
    }

    fn with_settings(text: &str, settings: &[String]) -> Result<Self, String> {
        Self::changed(text, Half::Virtual, settings)
    }

    fn changed(text: &str, half: Half, settings: &[String]) -> Result<Self, String> {
        let told = |error: &toml::de::Error| one_line(error.message());
        let mut root: toml::Table = toml::from_str(text).map_err(|error| told(&error))?;
        if half == Half::Real {
            let own = root.get("real").and_then(toml::Value::as_table).cloned();
            scenario(&mut root)?.extend(own.unwrap_or_default());
        }
        for setting in settings {
            change(&mut root, setting)?;
        }
        let definition: Self = root.try_into().map_err(|error| told(&error))?;
        definition.verify().map_err(|wrong| wrong.what)?;
        Ok(definition)
    }
}

/// Which half of an experiment a definition is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Virtual,
    Real,
}

/// The parameters of the scenario in the document.
fn scenario(root: &mut toml::Table) -> Result<&mut toml::Table, String> {
    root.get_mut("scenario")
        .and_then(toml::Value::as_table_mut)
        .and_then(|kinds| kinds.iter_mut().next())
        .and_then(|(_, scenario)| scenario.as_table_mut())
        .ok_or_else(|| "the file has no scenario".to_owned())
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
    let mut table = scenario(root)?;
    let mut keys = path.trim().split('.').peekable();
    while let Some(key) = keys.next() {
        if keys.peek().is_none() {
            table.insert(key.to_owned(), value);
            break;
        }
        // One that is not there has only defaults; if it cannot be, the scenario refuses it.
        table = table
            .entry(key)
            .or_insert_with(|| toml::Table::new().into())
            .as_table_mut()
            .ok_or_else(|| format!("{key} is no table of the scenario"))?;
    }
    Ok(())
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
        assert!(told.starts_with("experiments/e.toml:22: "), "{told}");
        let told = error(&with("low = 0.08\nhigh = 0.15\n", ""));
        assert!(told.contains("a check needs low, high or both"), "{told}");
        let told = error(&with("takes = \"1s\"", "takes = \"1s\"\nseeds = 0"));
        assert_eq!(told, "experiments/e.toml:6: seeds: from 1 to 1000 seeds");
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands_and_not_where_its_like_does() {
        let bottlenecks = r#"paper = "sigcomm"
figure = "1"
caption = "A caption."
claim = "A claim."
takes = "1s"
[scenario.timeline]
packet = "1000B"
tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
start_spread = "1s"
jitter = 1.0
shown = ["0s", "20s"]
measured = ["10s", "20s"]
drawn = "1s"
ratio_timescales = []
group = [
  { name = "TFRC", protocol = "tfrc", count = 1, start = "0s" },
  { name = "TCP", protocol = "tcp", count = 1, start = "0s" },
]
case = [
  { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
  { name = "b", rtt = "20ms", rate = "2Mb/s", queue = { drop-tail = { packets = 8 } } },
]
[[panel]]
curves = "cov"
x = "x"
y = "y"
[[panel]]
curves = "cov"
x = "x"
y = "y"
y_range = [0.0, 1.0]
[[check]]
name = "utilisation_a"
low = 0.5
source = "ours"
"#;
        assert!(Definition::read(Path::new("e.toml"), bottlenecks).is_ok());
        for (from, to, told) in [
            (
                "packets = 8",
                "packets = 0",
                "21: packets: packets must be at least 1",
            ),
            (
                "2Mb/s",
                "2MB/s",
                "21: rate: invalid value: string \"2MB/s\"",
            ),
            (
                "2Mb/s",
                "0Mb/s",
                "21: rate: invalid value: string \"0Mb/s\"",
            ),
            ("rate = \"2Mb/s\", ", "", "21: case: missing field `rate`"),
            (
                "\"b\"",
                "\"a\"",
                "21: name: name must be another in each case",
            ),
            (
                "\"TCP\"",
                "\"tfrc\"",
                "17: name: name must be another in each group",
            ),
            (
                "\"tcp\", count = 1",
                "\"tcp\", count = 9999999999",
                "17: count: ",
            ),
            (
                "\"tcp\", count = 1",
                "\"sctp\", count = 1",
                "17: protocol: unknown variant",
            ),
            ("[0.0, 1.0]", "[1.0, 0.0]", "31: y_range: a range is"),
            ("[0.0, 1.0]", "[1.0]", "31: y_range: "),
            ("low = 0.5\n", "", "32: high: a check needs"),
            ("low = 0.5", "low = nan", "34: low: a check needs"),
            ("paper = \"sigcomm\"\n", "", "1: missing field `paper`"),
            ("timeline]", "timelien]", "6: timelien: unknown variant"),
            ("takes = ", "takes ", "5: key with no value"),
        ] {
            assert!(bottlenecks.contains(from), "{from}");
            let told_is = error(&bottlenecks.replacen(from, to, 1));
            let wanted = format!("experiments/e.toml:{told}");
            assert!(told_is.starts_with(&wanted), "{told_is}\nnot {wanted}");
        }
    }

    #[test]
    fn the_real_half_is_the_scenario_with_what_the_test_bed_changes() {
        let experiment = |real: &str| {
            let text = with("[[panel]]", &format!("{real}\n[[panel]]"));
            Experiment {
                id: "e".into(),
                definition: Definition::read(Path::new("e.toml"), &text).unwrap(),
                text,
                settings: Vec::new(),
            }
        };
        assert!(experiment("").real().unwrap().is_none());
        let real = experiment("[real]\nuntil = \"20s\"\n")
            .real()
            .unwrap()
            .unwrap();
        assert_eq!(
            (real.id.as_str(), real.definition.clock),
            ("e-real", ClockKind::Real)
        );
        assert!(format!("{:?}", real.definition.scenario).contains("until: Time(20s)"));
        let told = experiment("[real]\nspeed = 3\n")
            .real()
            .unwrap_err()
            .to_string();
        assert!(
            told.starts_with("e: [real]: ") && told.contains("speed"),
            "{told}"
        );
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
