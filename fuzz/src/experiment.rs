//! Files of experiments, and changes of their parameters.

use std::path::Path;

use evenkeel_lab::experiment::{Experiment, ExperimentError};

/// Reads an experiment, whose first line may be settings after a `#`. What is refused is told in one
/// line, with a line that the file has.
pub fn check(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let first = text.lines().next().and_then(|line| line.strip_prefix('#'));
    let settings: Vec<String> = first
        .into_iter()
        .flat_map(|line| line.split_whitespace())
        .map(str::to_owned)
        .collect();
    match Experiment::read(Path::new("fuzz.toml"), text.to_owned(), &settings) {
        Ok(experiment) => {
            let scenario = experiment.definition.scenario.scenario();
            assert!(scenario.cells() > 0, "an experiment of nothing");
        }
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            if let ExperimentError::Wrong { line, .. } = error {
                let lines = 1 + text.matches('\n').count();
                assert!((1..=lines).contains(&line), "line {line} of {lines}");
            }
        }
    }
}
