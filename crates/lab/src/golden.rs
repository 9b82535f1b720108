//! Golden results: the metrics of an experiment when someone last checked them.
//!
//! Checks have bounds, and within these a result can move unseen. Every metric of a run is therefore
//! held to the digits of a committed file: who changes one on purpose commits the new digits with the
//! reason.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::result::RunResult;
use crate::whole_file::{FileKind, read_text};

/// Metrics at six significant digits; `null` where one is not defined.
type Metrics = BTreeMap<String, Option<f64>>;

/// A metric that is not what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The experiment.
    pub id: String,
    /// The metric.
    pub metric: String,
    /// What it was; nothing if there was no such metric.
    pub golden: Option<Option<f64>>,
    /// What it is; nothing if there is no such metric any more.
    pub now: Option<Option<f64>>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            metric,
            golden,
            now,
        } = self;
        let (golden, now) = (quoted(*golden), quoted(*now));
        write!(f, "{id} {metric}: golden {golden}, now {now}")
    }
}

fn quoted(value: Option<Option<f64>>) -> String {
    match value {
        None => "no such metric".into(),
        Some(None) => "not defined".into(),
        Some(Some(value)) => value.to_string(),
    }
}

/// Why there is nothing to compare with, or nothing could be kept.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The experiment has no golden result.
    #[error("{}: no golden result: write it with --bless", .0.display())]
    Missing(PathBuf),
    /// It cannot be read or written.
    #[error("{}: {}", .0.display(), .1)]
    Inaccessible(PathBuf, io::Error),
    /// It is not what `--bless` writes.
    #[error("{}: {}: write it again with --bless", .0.display(), .1)]
    Malformed(PathBuf, serde_json::Error),
}

/// The file of an experiment's golden result.
pub fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// Every metric that is not what it was, by name.
pub fn changes(folder: &Path, result: &RunResult) -> Result<Vec<Change>, GoldenError> {
    let file = file(folder, &result.id);
    let text = match read_text(&file, FileKind::Output) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(GoldenError::Missing(file));
        }
        Err(error) => return Err(GoldenError::Inaccessible(file, error)),
    };
    let golden: Metrics =
        serde_json::from_str(&text).map_err(|error| GoldenError::Malformed(file, error))?;
    let now = &result.metrics;
    let gone = golden.keys().filter(|metric| !now.contains_key(*metric));
    let changes = now.keys().chain(gone).filter_map(|metric| {
        let change = Change {
            id: result.id.clone(),
            metric: metric.clone(),
            golden: golden.get(metric).copied(),
            now: now.get(metric).copied(),
        };
        (change.golden != change.now).then_some(change)
    });
    Ok(changes.collect())
}

/// Keeps what the metrics are now as what they have to be.
pub fn bless(folder: &Path, result: &RunResult) -> Result<(), GoldenError> {
    let file = file(folder, &result.id);
    let write = || {
        let mut text = serde_json::to_string_pretty(&result.metrics)?;
        text.push('\n');
        fs::create_dir_all(folder)?;
        fs::write(&file, text)
    };
    write().map_err(|error| GoldenError::Inaccessible(file.clone(), error))
}
