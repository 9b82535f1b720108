//! What `docs/RFC5348.md` names exists: files, tests and numbered checks.

use std::fs;
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("../docs/RFC5348.md");

#[test]
fn every_file_that_the_table_names_exists() {
    let files: Vec<&str> = code_spans().filter(|span| span.ends_with(".rs")).collect();
    assert!(files.len() > 50, "{} files named", files.len());
    for file in files {
        let found = ["", "crates/tfrc/src"]
            .iter()
            .any(|root| repository().join(root).join(file).is_file());
        assert!(found, "docs/RFC5348.md names {file}, which does not exist");
    }
}

#[test]
fn every_test_that_the_table_names_exists() {
    let sources = sources(&repository().join("crates"));
    let tests: Vec<&str> = code_spans().filter(|span| is_test_name(span)).collect();
    assert!(tests.len() > 50, "{} tests named", tests.len());
    for test in tests {
        let definition = format!("fn {test}(");
        let found = sources.iter().any(|source| source.contains(&definition));
        assert!(
            found,
            "docs/RFC5348.md names {test}, which no file of crates/ defines"
        );
    }
}

#[test]
fn every_check_that_the_table_names_exists() {
    let sources = sources(&repository().join("crates/conform"));
    let words = TABLE.split(|c: char| !(c.is_ascii_alphanumeric() || ".-".contains(c)));
    let checks: Vec<&str> = words
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.starts_with("B.") || word.starts_with("E."))
        .collect();
    assert!(checks.len() > 60, "{} checks named", checks.len());
    for check in checks {
        let id = format!("\"{check}\"");
        let found = sources.iter().any(|source| source.contains(&id));
        assert!(
            found,
            "docs/RFC5348.md names {check}, which crates/conform has not"
        );
    }
}

/// What stands between backticks.
fn code_spans() -> impl Iterator<Item = &'static str> {
    TABLE.split('`').skip(1).step_by(2)
}

/// A sentence in snake case: our tests have no shorter names, and nothing else such long ones.
fn is_test_name(span: &str) -> bool {
    let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    span.chars().all(is_snake) && span.matches('_').count() >= 3
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of every Rust file below `folder`.
fn sources(folder: &Path) -> Vec<String> {
    let mut sources = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push(fs::read_to_string(&path).expect("sources are UTF-8"));
            }
        }
    }
    sources
}
