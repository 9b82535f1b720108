//! The table of RFC 5348 and ARCHITECTURE name only files, tests and checks that exist.

use super::{code, repository, sources};

const TABLE: &str = include_str!("../../docs/RFC5348.md");
const ARCHITECTURE: &str = include_str!("../../ARCHITECTURE.md");

#[test]
fn every_file_that_the_table_names_exists() {
    let files: Vec<&str> = code(TABLE).filter(|span| span.ends_with(".rs")).collect();
    assert!(files.len() > 50, "{} files named", files.len());
    for file in files {
        let found = ["", "crates/tfrc/src"]
            .iter()
            .any(|root| repository().join(root).join(file).is_file());
        assert!(found, "docs/RFC5348.md names {file}, which does not exist");
    }
}

#[test]
fn every_test_that_table_or_architecture_names_exists() {
    let sources = sources("crates/");
    for (document, text, least) in [
        ("docs/RFC5348.md", TABLE, 50),
        ("ARCHITECTURE.md", ARCHITECTURE, 5),
    ] {
        let tests: Vec<&str> = code(text).filter(|span| is_test_name(span)).collect();
        assert!(tests.len() > least, "{document}: {} tests", tests.len());
        for test in tests {
            let definition = format!("fn {test}(");
            let found = sources.iter().any(|source| source.contains(&definition));
            assert!(
                found,
                "{document} names {test}, which no file of crates/ defines"
            );
        }
    }
}

#[test]
fn every_check_that_the_table_names_exists() {
    let sources = sources("crates/conform/");
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

/// A sentence in snake case: our tests have no shorter names, and nothing else such long ones.
fn is_test_name(span: &str) -> bool {
    let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    span.chars().all(is_snake) && span.matches('_').count() >= 3
}
