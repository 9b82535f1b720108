//! Writes the results of an experiment: `result.json`, `series.csv` and `figure.svg`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::experiment::{CheckDefinition, Experiment, Prose};
use crate::figure::{self, readable, rounded};
use crate::findings::Findings;
use crate::whole_file::{FileKind, read_text};

/// `result.json`. Everything in it but `wall_s`, `machine` and `command` is the same to the byte for the same
/// commit, experiment and seeds, on any number of cores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// The experiment.
    pub id: String,
    /// The source that the program was built from.
    pub commit: String,
    /// The first seed.
    pub seed: u64,
    /// How many seeds: `seed`, `seed` + 1, ….
    pub seeds: u32,
    /// `virtual` or `real`.
    pub clock: String,
    /// What was typed.
    pub command: String,
    /// What it ran on: cores, processor and kernel.
    pub machine: String,
    /// Parameters that were changed: `key=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Stands for the experiment's file, its settings and its seeds.
    pub fingerprint: String,
    /// How a run failed, if one did; there are no metrics then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Seconds that its runs took, added up: as long as one core would have needed.
    pub wall_s: f64,
    /// Means over seeds; `null` where a metric is not defined.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// 90 % confidence intervals of those means, where there is more than one seed or one run tells its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// Metrics held to bounds.
    pub checks: Vec<Check>,
}

/// A metric held to its bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The metric.
    pub name: String,
    /// Its mean over seeds; `null` where it is not defined.
    pub value: Option<f64>,
    /// It is at least this.
    pub low: Option<f64>,
    /// It is at most this.
    pub high: Option<f64>,
    /// Where the bounds are from.
    pub source: String,
    /// The value lies within its bounds.
    pub pass: bool,
    /// Why it does not, if that is understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documented: Option<String>,
}

/// How an experiment, or one of its checks, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within bounds.
    Pass,
    /// Outside, and the reason stands beside it.
    Documented,
    /// Outside.
    Fail,
}

impl Verdict {
    /// For a person.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Documented => "documented",
            Self::Fail => "FAIL",
        }
    }
}

impl Check {
    fn new(definition: &CheckDefinition, value: f64, documented: Option<String>) -> Self {
        let value = value.is_finite().then(|| rounded(value));
        let pass = value.is_some_and(|value| {
            definition.low.is_none_or(|low| value >= low)
                && definition.high.is_none_or(|high| value <= high)
        });
        let name = match &definition.over {
            None if definition.every_seed => format!("{}, every seed", definition.name),
            None => definition.name.clone(),
            Some(over) => format!("{} / {over}", definition.name),
        };
        Self {
            name,
            value,
            low: definition.low,
            high: definition.high,
            source: definition.source.clone(),
            pass,
            documented,
        }
    }

    /// How it came out.
    pub fn verdict(&self) -> Verdict {
        match (self.pass, &self.documented) {
            (true, _) => Verdict::Pass,
            // What cannot be measured is no deviation that could be documented.
            (false, Some(_)) if self.value.is_some() => Verdict::Documented,
            (false, _) => Verdict::Fail,
        }
    }

    /// Does it excuse what needs no excuse?
    pub fn is_stale(&self) -> bool {
        self.pass && self.documented.is_some()
    }

    /// The bounds, for a person.
    pub fn bounds(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("≥ {low}"),
            (None, Some(high)) => format!("≤ {high}"),
            (None, None) => String::new(),
        }
    }
}

impl RunResult {
    /// How the experiment came out: as its worst check did, if every run came to its end.
    pub fn verdict(&self) -> Verdict {
        if self.failed.is_some() {
            return Verdict::Fail;
        }
        let verdicts = self.checks.iter().map(Check::verdict);
        verdicts.max().unwrap_or(Verdict::Pass)
    }

    /// Checks that pass, and have a reason why they do not: one of the two is to be mended. Where
    /// parameters were changed that is no fault of the file.
    pub fn stale(&self) -> impl Iterator<Item = &Check> {
        let as_written = self.settings.is_empty();
        let checks = self.checks.iter();
        checks.filter(move |check| as_written && check.is_stale())
    }

    /// A value of this metric, with the interval that the metric has.
    pub(crate) fn with_interval(&self, name: &str, value: f64) -> String {
        let value = readable(value);
        match self.intervals.get(name) {
            Some([low, high]) => format!("{value} ± {}", readable((high - low) / 2.0)),
            None => value,
        }
    }

    /// The text with what was measured in the place of each quote.
    pub(crate) fn fill_in(&self, prose: &Prose) -> String {
        prose.fill_in(|quote| {
            let value = self.metrics.get(&quote.metric).copied().flatten();
            let value = value.unwrap_or(f64::NAN);
            if quote.with_interval {
                self.with_interval(&quote.metric, value)
            } else {
                readable(value)
            }
        })
    }

    /// The checks of these findings, and all metrics.
    pub(crate) fn measure(&mut self, experiment: &Experiment, findings: &Findings) {
        for (name, estimate) in &findings.metrics {
            let mean = estimate.mean;
            let value = mean.is_finite().then(|| rounded(mean));
            self.metrics.insert(name.clone(), value);
            if let Some((low, high)) = estimate.interval().filter(|(low, _)| low.is_finite()) {
                let interval = [rounded(low), rounded(high)];
                self.intervals.insert(name.clone(), interval);
            }
        }
        let checks = experiment.definition.checks.iter();
        self.checks = checks
            .map(|check| {
                let over = check.over.as_ref().map_or(1.0, |over| findings.value(over));
                let worst = usize::from(check.high.is_some());
                let extremes = findings.extremes.get(&check.name);
                let value = match extremes.filter(|_| check.every_seed) {
                    Some(extremes) => extremes[worst],
                    None => findings.value(&check.name),
                };
                let documented = check.documented.as_ref().map(|reason| self.fill_in(reason));
                Check::new(check, value / over, documented)
            })
            .collect();
    }
}

/// The folder of an experiment's results.
pub fn folder(out: &Path, id: &str) -> PathBuf {
    out.join(id)
}

/// What an experiment left behind, if it is complete and its `result.json` can be read.
pub fn load(out: &Path, id: &str) -> Option<RunResult> {
    let folder = folder(out, id);
    if !folder.join("figure.svg").is_file() || !folder.join("series.csv").is_file() {
        return None;
    }
    let text = read_text(&folder.join("result.json"), FileKind::Output).ok()?;
    serde_json::from_str(&text).ok()
}

/// Tries whether results of these experiments could be written; the folder where they could not, and why.
pub fn require_writable<'a>(
    out: &Path,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), (PathBuf, io::Error)> {
    let there = ids.map(|id| folder(out, id)).filter(|path| path.exists());
    for folder in std::iter::once(out.to_owned()).chain(there) {
        let probe = folder.join(".writable");
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&probe, ""));
        let tried = written.and_then(|()| fs::remove_file(&probe));
        tried.map_err(|error| (folder, error))?;
    }
    Ok(())
}

/// Writes the three files, each whole or not at all; `result.json` last, so that it stands for all of them.
pub(crate) fn write(
    out: &Path,
    experiment: &Experiment,
    findings: &Findings,
    result: &RunResult,
) -> io::Result<()> {
    let folder = folder(out, &experiment.id);
    fs::create_dir_all(&folder)?;
    let complete = folder.join("result.json");
    if complete.exists() {
        fs::remove_file(&complete)?;
    }
    let definition = &experiment.definition;
    let title = format!("{}: {}", experiment.id, definition.caption);
    let figure = figure::draw(&experiment.id, &title, &definition.panels, findings);
    atomic_file::write(&folder.join("figure.svg"), &figure)?;
    atomic_file::write(&folder.join("series.csv"), &csv(findings))?;
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    atomic_file::write(&complete, &text)
}

/// Every point of every curve; the interval is empty with one seed.
fn csv(findings: &Findings) -> String {
    let mut csv = "curves,name,x,y,y_low,y_high\n".to_owned();
    for curve in &findings.curves {
        let (group, name) = (quoted(&curve.group), quoted(&curve.name));
        for point in &curve.points {
            let (x, y) = (rounded(point.x), number(point.y.mean));
            let ends = point.y.interval();
            let (low, high) = ends.map_or_else(Default::default, |(l, h)| (number(l), number(h)));
            let _ = writeln!(csv, "{group},{name},{x},{y},{low},{high}");
        }
    }
    csv
}

fn number(value: f64) -> String {
    if value.is_finite() {
        rounded(value).to_string()
    } else {
        String::new()
    }
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Sample;

    fn check(low: Option<f64>, high: Option<f64>, documented: bool, value: f64) -> Check {
        let definition = CheckDefinition {
            name: "m".into(),
            over: None,
            low,
            high,
            every_seed: false,
            clock: None,
            source: "figure".into(),
            documented: None,
        };
        Check::new(&definition, value, documented.then(|| "a reason".into()))
    }

    #[test]
    fn bounds_are_inclusive_and_what_is_not_a_number_passes_none() {
        assert!(check(Some(1.0), Some(2.0), false, 2.0).pass);
        assert!(check(Some(1.0), None, false, 1.0).pass);
        assert!(!check(Some(1.0), None, false, 0.99).pass);
        assert!(!check(None, Some(2.0), false, f64::NAN).pass);
    }

    fn empty() -> RunResult {
        let text = r#"{"id": "e", "commit": "c", "seed": 1, "seeds": 1, "clock": "virtual", "command": "",
            "machine": "", "fingerprint": "", "wall_s": 0, "metrics": {}, "checks": []}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_quote_tells_four_digits_and_if_asked_how_sure_they_are() {
        let mut result = empty();
        for (name, value) in [("a", Some(1.23456)), ("b", Some(2.0)), ("c", None)] {
            result.metrics.insert(name.to_owned(), value);
        }
        result.intervals.insert("a".to_owned(), [1.0, 1.5]);
        let prose = Prose::try_from("{a}, {a ±}, {b ±}, {c}".to_owned()).unwrap();
        assert_eq!(result.fill_in(&prose), "1.235, 1.235 ± 0.25, 2, –");
    }

    #[test]
    fn an_excuse_of_a_check_that_passes_is_stale_unless_parameters_were_changed() {
        let of = |settings: &[&str], checks: Vec<Check>| -> Vec<f64> {
            let result = RunResult {
                settings: settings.iter().map(|s| (*s).to_owned()).collect(),
                checks,
                ..empty()
            };
            result.stale().filter_map(|check| check.value).collect()
        };
        let some = || {
            let checks = [(true, 1.5), (true, 0.5), (false, 1.6), (false, 0.6)];
            let checks = checks.map(|(excused, value)| check(Some(1.0), None, excused, value));
            checks.to_vec()
        };
        assert_eq!(of(&[], some()), [1.5]);
        assert_eq!(of(&["rtt=1s"], some()), [0.0; 0]);
    }

    #[test]
    fn a_documented_deviation_is_told_and_an_unmeasured_value_is_a_failure_all_the_same() {
        assert_eq!(check(Some(1.0), None, true, 2.0).verdict(), Verdict::Pass);
        assert_eq!(
            check(Some(1.0), None, true, 0.0).verdict(),
            Verdict::Documented
        );
        assert_eq!(check(Some(1.0), None, false, 0.0).verdict(), Verdict::Fail);
        assert_eq!(
            check(Some(1.0), None, true, f64::NAN).verdict(),
            Verdict::Fail
        );
    }

    #[test]
    fn the_series_has_every_point_and_quotes_names() {
        let mut sample = Sample::default();
        sample.curve("g", "TCP, RED", [(0.1, 1.0 / 3.0), (0.2, f64::NAN)]);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(
            csv(&findings),
            "curves,name,x,y,y_low,y_high\n\
             g,\"TCP, RED\",0.1,0.333333,,\n\
             g,\"TCP, RED\",0.2,,,\n"
        );
    }
}
