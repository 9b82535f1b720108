//! The experiments of this repository are sound and agree with their golden results.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use evenkeel_lab::experiment::Experiment;

/// A file in the folder of experiments.
fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments")
        .join(name)
}

/// The metrics of a golden result, by name.
type Metrics = BTreeMap<String, Option<f64>>;

/// Each golden result, with its experiment.
fn golden_results() -> Vec<(Experiment, Metrics)> {
    let read = |entry: fs::DirEntry| {
        let golden = entry.path();
        let id = golden
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("a name");
        let experiment = Experiment::load(&file(&format!("{id}.toml")), &[]);
        let text = fs::read_to_string(&golden).expect("a golden result");
        let metrics = serde_json::from_str(&text).expect("metrics");
        let experiment = experiment.unwrap_or_else(|error| panic!("{id}: {error}"));
        (experiment, metrics)
    };
    let entries = fs::read_dir(file("golden")).expect("golden results");
    entries.map(|entry| read(entry.expect("a file"))).collect()
}

#[test]
fn every_golden_result_is_that_of_an_experiment() {
    assert!(!golden_results().is_empty());
}

#[test]
fn every_experiment_of_the_repository_is_sound() {
    let mut read = 0;
    for entry in fs::read_dir(file("")).unwrap() {
        let file = entry.unwrap().path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let loaded = Experiment::load(&file, &[]);
            assert!(loaded.is_ok(), "{}", loaded.unwrap_err());
            read += 1;
        }
    }
    assert!(read > 0);
}

/// A text that quotes what no golden result has would fail its run, which may be long.
#[test]
fn every_text_quotes_metrics_of_the_golden_result() {
    let mut quotes = 0;
    for (experiment, metrics) in golden_results() {
        for name in experiment.definition.quoted() {
            assert!(metrics.contains_key(name), "{}: {name}", experiment.id);
            quotes += 1;
        }
    }
    assert!(quotes > 100, "{quotes}");
}

/// What stands beside a check that holds is no deviation: it is a reason that has gone out of date.
#[test]
fn no_check_that_the_golden_result_passes_has_an_excuse() {
    let mut stale = Vec::new();
    let mut checks = 0;
    for (experiment, metrics) in golden_results() {
        let value = |name: &str| metrics.get(name).copied().flatten();
        // What is held to every seed cannot be told from means.
        let of_means = experiment.definition.checks.iter();
        for check in of_means.filter(|check| !check.every_seed) {
            let over = check.over.as_deref().map_or(Some(1.0), value);
            let Some((value, over)) = value(&check.name).zip(over) else {
                continue;
            };
            let value = value / over;
            let holds = check.low.is_none_or(|low| value >= low)
                && check.high.is_none_or(|high| value <= high);
            checks += 1;
            if holds && check.documented.is_some() {
                stale.push(format!("{} {}: {value}", experiment.id, check.name));
            }
        }
    }
    assert!(checks > 500, "{checks}");
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}
