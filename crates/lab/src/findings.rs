//! Joins the results of runs: metrics and curves, over cells and seeds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::metrics::{Estimate, over_seeds};

/// What one run gave: one cell of the scenario with one seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    metrics: Vec<Metric>,
    curves: Vec<Run>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Metric {
    name: String,
    value: Estimate,
    /// Runs that do not have it are left out of its mean.
    is_of_some: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    group: String,
    name: String,
    points: Vec<(f64, Estimate)>,
}

impl Run {
    fn is_of(&self, group: &str, name: &str) -> bool {
        self.group == group && self.name == name
    }
}

impl Sample {
    /// Adds a metric. How sure one run is of it counts if there is no other run.
    pub fn metric(&mut self, name: impl Into<String>, value: impl Into<Estimate>) {
        self.push(name.into(), value.into(), false);
    }

    /// Adds when something happened: not a number if it never did, and then left out of the mean over seeds. In how
    /// many of them it did has to be told beside it.
    pub fn time(&mut self, name: impl Into<String>, value: f64) {
        self.push(name.into(), value.into(), true);
    }

    fn push(&mut self, name: String, value: Estimate, is_of_some: bool) {
        self.metrics.push(Metric {
            name,
            value,
            is_of_some,
        });
    }

    /// Adds points to a curve. Cells may share a curve, each with points of its own.
    pub fn curve(
        &mut self,
        group: impl Into<String>,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, impl Into<Estimate>)>,
    ) {
        let points = points.into_iter().map(|(x, y)| (x, y.into()));
        self.curves.push(Run {
            group: group.into(),
            name: name.into(),
            points: points.collect(),
        });
    }
}

/// A point of a curve, over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Across.
    pub x: f64,
    /// Upwards.
    pub y: Estimate,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Which plot it belongs to.
    pub group: String,
    /// What it shows: its entry in the legend.
    pub name: String,
    /// In the order of the cells.
    pub points: Vec<Point>,
}

/// What an experiment gave.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// In the order in which the scenario gave them.
    pub metrics: Vec<(String, Estimate)>,
    /// The least and the most of any seed, of each metric that runs gave.
    pub extremes: BTreeMap<String, [f64; 2]>,
    /// In the order in which the scenario gave them.
    pub curves: Vec<Curve>,
}

impl Findings {
    /// Joins the samples of every cell, and averages the samples of its seeds: a metric by name, a curve
    /// point by point. Where the seeds of a cell have points at different x, all are kept. A curve that
    /// only the first seed has is drawn of that seed alone.
    pub fn join(cells: &[Vec<Sample>]) -> Self {
        let mut findings = Self::default();
        for seeds in cells {
            let Some(first) = seeds.first() else { continue };
            for (index, metric) in first.metrics.iter().enumerate() {
                let values = seeds.iter().map(|s| s.metrics[index].value);
                let counts = |value: &Estimate| !(metric.is_of_some && value.mean.is_nan());
                let values: Vec<Estimate> = values.filter(counts).collect();
                let estimate = over_runs(&values);
                findings.metrics.push((metric.name.clone(), estimate));
                let known = findings.extremes.entry(metric.name.clone());
                known.or_insert_with(|| extremes(&means(&values)));
            }
            for (index, run) in first.curves.iter().enumerate() {
                let others = seeds.iter().filter_map(|sample| sample.curves.get(index));
                let runs: Vec<&Run> = others.filter(|r| r.is_of(&run.group, &run.name)).collect();
                findings.curve(&run.group, &run.name).extend(average(&runs));
            }
        }
        findings
    }

    /// What is wrong if two metrics have one name: a check would hold the one, and a result tell the other.
    pub(crate) fn ambiguous(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        let mut metrics = self.metrics.iter();
        let (name, _) = metrics.find(|(name, _)| !names.insert(name))?;
        Some(format!(
            "metric {name}: the scenario gives two of this name: what tells them apart belongs in the names of its cases"
        ))
    }

    /// The mean of a metric; not a number if there is none of this name.
    pub fn value(&self, name: &str) -> f64 {
        self.estimate(name).mean
    }

    /// A metric over seeds; not a number if there is none of this name.
    pub fn estimate(&self, name: &str) -> Estimate {
        let found = self.metrics.iter().find(|(known, _)| known == name);
        found.map_or(f64::NAN.into(), |(_, estimate)| *estimate)
    }

    /// Adds a metric that follows from others.
    pub fn derive(&mut self, name: impl Into<String>, value: impl Into<Estimate>) {
        self.metrics.push((name.into(), value.into()));
    }

    /// Adds a point that follows from metrics.
    pub fn draw(&mut self, group: &str, name: &str, x: f64, y: impl Into<Estimate>) {
        let y = y.into();
        self.curve(group, name).push(Point { x, y });
    }

    /// The curves of a group.
    pub fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Curve> {
        self.curves.iter().filter(move |curve| curve.group == group)
    }

    /// The points of the curve of this name, which is made if it is new.
    fn curve(&mut self, group: &str, name: &str) -> &mut Vec<Point> {
        let known = |curve: &Curve| curve.group == group && curve.name == name;
        let index = self.curves.iter().position(known).unwrap_or_else(|| {
            self.curves.push(Curve {
                group: group.to_owned(),
                name: name.to_owned(),
                points: Vec::new(),
            });
            self.curves.len() - 1
        });
        &mut self.curves[index].points
    }
}

/// What several runs say together, and what the only one says itself.
fn over_runs(values: &[Estimate]) -> Estimate {
    match values {
        [only] => *only,
        several => over_seeds(&means(several)),
    }
}

fn means(values: &[Estimate]) -> Vec<f64> {
    values.iter().map(|value| value.mean).collect()
}

/// Not numbers, if any of the values is none: nothing can then be said of all of them.
fn extremes(values: &[f64]) -> [f64; 2] {
    if values.iter().any(|value| value.is_nan()) {
        return [f64::NAN; 2];
    }
    let both = |[least, most]: [f64; 2], value: &f64| [least.min(*value), most.max(*value)];
    values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], both)
}

fn average(runs: &[&Run]) -> Vec<Point> {
    let same_x = |run: &&Run| {
        run.points.len() == runs[0].points.len()
            && run
                .points
                .iter()
                .zip(&runs[0].points)
                .all(|(a, b)| a.0 == b.0)
    };
    if runs.iter().all(same_x) {
        let xs = runs[0].points.iter().enumerate();
        xs.map(|(i, (x, _))| {
            let values: Vec<Estimate> = runs.iter().map(|run| run.points[i].1).collect();
            Point {
                x: *x,
                y: over_runs(&values),
            }
        })
        .collect()
    } else {
        let all = runs.iter().flat_map(|run| &run.points);
        all.map(|(x, y)| Point { x: *x, y: *y }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(x: f64, y: f64) -> Sample {
        let mut sample = Sample::default();
        sample.metric("m", y);
        sample.curve("plot", "line", [(x, y)]);
        sample
    }

    #[test]
    fn seeds_are_averaged_and_cells_joined() {
        let cells = [
            vec![sample(1.0, 10.0), sample(1.0, 20.0)],
            vec![sample(2.0, 5.0), sample(2.0, 5.0)],
        ];
        let findings = Findings::join(&cells);
        assert_eq!(findings.extremes["m"], [10.0, 20.0]);
        assert_eq!(findings.value("m"), 15.0);
        assert_eq!(findings.curves.len(), 1);
        let means: Vec<(f64, f64)> = findings.curves[0]
            .points
            .iter()
            .map(|point| (point.x, point.y.mean))
            .collect();
        assert_eq!(means, [(1.0, 15.0), (2.0, 5.0)]);
        assert_eq!(findings.curves[0].points[1].y.half_width, Some(0.0));
    }

    #[test]
    fn points_that_no_other_seed_has_are_kept_as_they_are() {
        let findings = Findings::join(&[vec![sample(1.0, 10.0), sample(1.5, 20.0)]]);
        assert_eq!(findings.curves[0].points.len(), 2);
        assert_eq!(findings.curves[0].points[1].y.half_width, None);
    }

    #[test]
    fn a_time_is_averaged_over_the_seeds_in_which_it_came_and_a_metric_over_all() {
        let of = |value: f64| {
            let mut sample = Sample::default();
            sample.time("t", value);
            sample.metric("m", value);
            sample
        };
        let findings = Findings::join(&[vec![of(3.0), of(f64::NAN), of(5.0)]]);
        assert_eq!(findings.value("t"), 4.0);
        assert!(findings.value("m").is_nan());
        assert!(Findings::join(&[vec![of(f64::NAN)]]).value("t").is_nan());
    }

    #[test]
    fn one_run_is_as_sure_as_it_says_and_several_are_as_sure_as_they_agree() {
        let of = |mean: f64| {
            let half_width = Some(0.5);
            let mut sample = Sample::default();
            let estimate = Estimate { mean, half_width };
            sample.metric("m", estimate);
            sample.curve("c", "a", [(1.0, estimate)]);
            sample
        };
        let one = Findings::join(&[vec![of(3.0)]]);
        assert_eq!(one.estimate("m").half_width, Some(0.5));
        assert_eq!(one.curves[0].points[0].y.half_width, Some(0.5));
        let two = Findings::join(&[vec![of(3.0), of(3.0)]]);
        assert_eq!(two.estimate("m").half_width, Some(0.0));
    }

    #[test]
    fn two_metrics_of_one_name_are_told_of_cells_and_of_what_follows_from_them() {
        let of = |name: &str| {
            let mut sample = Sample::default();
            sample.metric(name, 1.0);
            vec![sample.clone(), sample]
        };
        let mut apart = Findings::join(&[of("a"), of("b")]);
        assert_eq!(apart.ambiguous(), None);
        let message = Findings::join(&[of("a"), of("b"), of("a")]).ambiguous();
        assert!(message.unwrap().starts_with("metric a: "));
        apart.derive("b", 2.0);
        assert!(apart.ambiguous().unwrap().starts_with("metric b: "));
    }

    #[test]
    fn a_metric_that_is_not_there_is_not_a_number() {
        assert!(Findings::default().value("nothing").is_nan());
    }
}
