//! An experiment's file: read, changed by settings, and refused with the place of what is wrong.

mod definition;
mod place;
mod prose;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use definition::{
    CheckDefinition, ClockKind, Definition, LogAxes, PanelDefinition, Paper, Question, Style,
};

pub use prose::{Prose, Quote};

use crate::scenario::Scenario;
use crate::units::Time;
use crate::whole_file::{FileKind, read_text};
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
    /// Where it is, and so are the files that it names.
    pub folder: PathBuf,
    /// Parameters of the scenario that were changed: `key=value`.
    pub settings: Vec<String>,
}

/// What is wrong with an experiment's file. One line: file, line, key, and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, std::io::Error),
    /// The file says what cannot be.
    #[error("{}:{line}: {}{what}", .file.display(), prefix(.key.as_deref()))]
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
    #[error("{id}: [real]: {what}")]
    Real {
        /// The experiment.
        id: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A `--set` that does not fit.
    #[error("--set {setting}: {what}")]
    Setting {
        /// As given.
        setting: String,
        /// What is wrong, and what would be right.
        what: String,
    },
}

/// A key as the beginning of a message.
fn prefix(key: Option<&str>) -> String {
    key.map_or_else(String::new, |key| format!("{key}: "))
}

impl Experiment {
    /// Reads a file, and changes parameters of its scenario: `settings` are `key=value`, where a dot
    /// leads into a table.
    pub fn load(file: &Path, settings: &[String]) -> Result<Self, ExperimentError> {
        let text = read_text(file, FileKind::Settings)
            .map_err(|error| ExperimentError::Unreadable(file.to_owned(), error))?;
        Self::read(file, text, settings)
    }

    /// The same for the text of such a file.
    pub fn read(file: &Path, text: String, settings: &[String]) -> Result<Self, ExperimentError> {
        let mut definition = Definition::read(file, &text)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        if !settings.is_empty() {
            let with = |settings| Definition::changed(&text, folder, ClockKind::Virtual, settings);
            // Together, as one may fit only with the next. What is wrong with all is the fault of the first with which it is.
            definition = with(settings).map_err(|what| {
                let is_wrong =
                    |count: &usize| with(&settings[..*count]).is_err_and(|of| of == what);
                let count = (1..settings.len()).find(is_wrong);
                ExperimentError::Setting {
                    setting: settings[count.unwrap_or(settings.len()) - 1].clone(),
                    what,
                }
            })?;
        }
        let id = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self {
            id: id.into_owned(),
            definition,
            text,
            folder: folder.to_owned(),
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
        let changed =
            Definition::changed(&self.text, &self.folder, ClockKind::Real, &self.settings);
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
            folder: self.folder.clone(),
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
        let mut definition: Self = toml::from_str(text).map_err(|error| {
            let part = error.span().unwrap_or(0..text.len());
            let at = part.start.min(text.len());
            wrong(at, place::key_of(text, &part), message(&error))
        })?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let read = |id: &str| read_scenario(folder, id);
        match definition.complete(folder, &read, ClockKind::Virtual) {
            Ok(()) => Ok(definition),
            Err(Wrong { place, what }) => {
                Err(wrong(place.find(text), Some(place.key.to_owned()), what))
            }
        }
    }

    fn changed(
        text: &str,
        folder: &Path,
        half: ClockKind,
        settings: &[String],
    ) -> Result<Self, String> {
        let mut root: toml::Table = toml::from_str(text).map_err(|error| message(&error))?;
        if half == ClockKind::Real {
            let own = root.get("real").and_then(toml::Value::as_table).cloned();
            scenario(&mut root)?.extend(own.unwrap_or_default());
        }
        for setting in settings {
            change(&mut root, setting)?;
        }
        let mut definition: Self = root.try_into().map_err(|error| message(&error))?;
        let read = |id: &str| read_scenario(folder, id);
        definition
            .complete(folder, &read, half)
            .map_err(|wrong| wrong.what)?;
        Ok(definition)
    }
}

/// The scenario of another experiment in the folder, or `None` if its file is no experiment.
fn read_scenario(folder: &Path, id: &str) -> Option<Arc<dyn Scenario>> {
    let experiment = Experiment::load(&folder.join(format!("{id}.toml")), &[]).ok()?;
    Some(experiment.definition.scenario.into_scenario())
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

/// What the reader says in one line, and of what it expects no more than who writes a file knows.
fn message(error: &toml::de::Error) -> String {
    let words: Vec<&str> = error.message().split_whitespace().collect();
    let line = words.join(" ");
    let Some((wrong, kind)) = line.rsplit_once(", expected ") else {
        return line;
    };
    let right = match kind {
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        "f64" => "a number",
        "a sequence" => "a list in brackets",
        // Of a struct serde knows its own name alone, not its keys.
        other if other.starts_with("struct ") => "a table: { key = value, … }",
        other => other,
    };
    format!("{wrong}, expected {right}")
}

#[cfg(test)]
mod tests;
