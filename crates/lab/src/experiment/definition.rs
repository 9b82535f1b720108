//! The content of an experiment file: scenario, figure and checks.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::place::Place;
use super::prose::Prose;
use crate::error::Impossible;
use crate::findings::Findings;
use crate::nearest::nearest;
use crate::scenario::{Kind, ReadScenario};
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
    pub notes: Prose,
    /// What the paper asks and this experiment answers.
    #[serde(rename = "question", default)]
    pub questions: Vec<Question>,
    /// Virtual unless given.
    #[serde(default)]
    pub clock: ClockKind,
    /// Independent repetitions, seeded 1, 2, …; more than one only for a random scenario.
    #[serde(default = "one")]
    pub seeds: u32,
    /// What all of it takes on one core, roughly: for the estimate of the time left.
    pub takes: Time,
    /// What a test bed changes in the scenario; without it the experiment has no real half.
    pub real: Option<toml::Table>,
    /// What metrics must begin with: names that others count on. A run without one fails.
    #[serde(default)]
    pub requires: Vec<String>,
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

/// A question of the paper and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// As the paper puts it, in our words.
    pub asked: String,
    /// What was found.
    pub answer: Prose,
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
    /// Lines through the points, points alone, or a map.
    #[serde(default)]
    pub style: Style,
    /// The quantity that a map shows, with its unit.
    pub shows: Option<String>,
    /// A map tells below each value how sure it is: half the width of its interval.
    #[serde(default)]
    pub intervals: bool,
    /// The values at the ends of a map's colours; the extremes of the data unless given.
    pub colour_range: Option<[f64; 2]>,
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
    /// A table of coloured cells: each curve is a row, from below, each of its points a column.
    Map,
}

/// A metric and the bounds that it is held to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckDefinition {
    /// The metric.
    pub name: String,
    /// Another metric, by which it is divided.
    pub over: Option<String>,
    /// It is at least this.
    pub low: Option<f64>,
    /// It is at most this.
    pub high: Option<f64>,
    /// Holds the worst of the seeds to the one bound, where the mean over them could hide it: for what
    /// never happens.
    #[serde(default)]
    pub every_seed: bool,
    /// The half that is held to it; both unless given.
    pub clock: Option<ClockKind>,
    /// Where the bound is from.
    pub source: String,
    /// Why our value departs from the paper's: the check is then told, and fails no run.
    pub documented: Option<Prose>,
}

/// What is wrong with a definition that its types allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) place: Place,
    pub(super) what: String,
}

fn wrong(place: Place, what: &str) -> Wrong {
    let what = what.to_owned();
    Wrong { place, what }
}

impl From<Impossible> for Wrong {
    fn from(impossible: Impossible) -> Self {
        Self {
            what: impossible.to_string(),
            place: Place {
                key: impossible.key,
                inside: impossible.inside,
            },
        }
    }
}

impl Definition {
    /// Reads the files that it names, refuses what types alone cannot, and leaves the checks of one half.
    pub(super) fn complete(
        &mut self,
        folder: &Path,
        read: ReadScenario<'_>,
        half: ClockKind,
    ) -> Result<(), Wrong> {
        self.scenario.scenario_mut().load(folder, read)?;
        self.verify()?;
        let of_half = |check: &CheckDefinition| check.clock.is_none_or(|clock| clock == half);
        self.checks.retain(of_half);
        Ok(())
    }

    fn verify(&self) -> Result<(), Wrong> {
        if !(1..=1_000).contains(&self.seeds) {
            return Err(wrong(Place::of("seeds"), "from 1 to 1000 seeds"));
        }
        for (index, check) in self.checks.iter().enumerate() {
            check.verify().map_err(|what| {
                let key = check.low.map_or("high", |_| "low");
                wrong(Place::of(key).inside("check", index), what)
            })?;
        }
        for (index, panel) in self.panels.iter().enumerate() {
            panel.verify().map_err(|(key, what)| {
                let place = Place::of(key).inside("panel", index);
                wrong(place, what)
            })?;
        }
        Ok(self.scenario.verify()?)
    }
}

impl Definition {
    /// The metrics that its texts quote.
    pub fn quoted(&self) -> impl Iterator<Item = &str> {
        let answers = self.questions.iter().map(|question| &question.answer);
        let reasons = self.checks.iter().filter_map(|c| c.documented.as_ref());
        let texts = answers.chain(reasons).chain([&self.notes]);
        texts.flat_map(Prose::quoted)
    }

    /// What is to be drawn, checked or quoted and was not found by its runs, if something was not.
    pub(crate) fn missing(&self, findings: &Findings) -> Option<String> {
        let groups: BTreeSet<&str> = findings.curves.iter().map(|c| c.group.as_str()).collect();
        let names: BTreeSet<&str> = findings
            .metrics
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let panels = self.panels.iter().map(|panel| panel.curves.as_str());
        let checks = self.checks.iter();
        let checks = checks.flat_map(|check| [Some(&check.name), check.over.as_ref()]);
        let checks = checks.flatten().map(String::as_str);
        let seeds = self.checks.iter().filter(|check| check.every_seed);
        let unknown = |check: &&CheckDefinition| !findings.extremes.contains_key(&check.name);
        let derived = seeds.filter(unknown).map(|check| {
            let name = &check.name;
            format!("metric {name}: it follows from others, so that no seed has it")
        });
        let derived: Vec<String> = derived.collect();
        let problem = |kind: &str, wanted: &str, there: &BTreeSet<&str>| {
            let there = there.iter().copied();
            let nearest = nearest(wanted, there)
                .map_or_else(String::new, |name| format!(": the nearest is {name}"));
            format!("{kind} {wanted}: the scenario gives none of this name{nearest}")
        };
        let curves = panels
            .filter(|name| !groups.contains(name))
            .map(|name| problem("curves", name, &groups));
        let metrics = checks
            .chain(self.quoted())
            .filter(|name| !names.contains(name))
            .map(|name| problem("metric", name, &names));
        let lost = |name: &&String| !names.iter().any(|known| known.starts_with(name.as_str()));
        let required = self.requires.iter().filter(lost);
        let required = required.map(|name| problem("metric", name, &names));
        curves.chain(metrics).chain(required).chain(derived).next()
    }
}

impl CheckDefinition {
    fn verify(&self) -> Result<(), &'static str> {
        let bounded = self.low.is_some() || self.high.is_some();
        let ordered = self.low.zip(self.high).is_none_or(|(l, h)| l <= h);
        let mut bounds = [self.low, self.high].into_iter().flatten();
        if !(bounded && ordered && bounds.all(f64::is_finite)) {
            return Err("a check needs low, high or both, finite, with low not above high");
        }
        if self.every_seed && (self.over.is_some() || self.low.is_some() == self.high.is_some()) {
            return Err(
                "a check of every seed has either low or high, and no other metric under it",
            );
        }
        Ok(())
    }
}

impl PanelDefinition {
    /// The key that is wrong, and what would be right.
    fn verify(&self) -> Result<(), (&'static str, &'static str)> {
        let is_map = self.style == Style::Map;
        if is_map != self.shows.is_some() {
            return Err(("shows", "a map, and nothing else, tells what it shows"));
        }
        if !is_map && self.colour_range.is_some() {
            return Err(("colour_range", "only a map has colours that tell a value"));
        }
        if !is_map && self.intervals {
            return Err(("intervals", "only a map has values to tell them below"));
        }
        for (range, log, key) in [
            (self.x_range, self.log.x(), "x_range"),
            (self.y_range, self.log.y(), "y_range"),
            (self.colour_range, false, "colour_range"),
        ] {
            let sound = range.is_none_or(|[from, to]| {
                from.is_finite() && to.is_finite() && from < to && (!log || from > 0.0)
            });
            if !sound {
                let what =
                    "a range is [from, to] with from below to, and above 0 on a logarithmic axis";
                return Err((key, what));
            }
        }
        Ok(())
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
