//! Documents name only paths that exist.

use std::path::Path;

use super::{code, documents, files, repository};

#[test]
fn every_path_that_a_document_names_exists() {
    let files = files();
    let mut named = 0;
    for (document, text) in documents() {
        let folder = Path::new(&document).parent().expect("a path of a file");
        for link in links(&text) {
            let found = repository().join(folder).join(link).exists();
            assert!(found, "{document} links {link}, which does not exist");
            named += 1;
        }
        for path in code(&text)
            .flat_map(str::split_whitespace)
            .filter(|word| is_path(word))
        {
            let found = files.iter().any(|file| leads_to(path, file));
            assert!(found, "{document} names {path}, which does not exist");
            named += 1;
        }
    }
    assert!(named > 150, "{named} paths named");
}

/// A path such as `link/loss.rs` would leave a reader with fifteen crates to search.
#[test]
fn every_path_begins_at_the_root_or_with_its_crate() {
    let files = files();
    let read = ["ARCHITECTURE.md", "docs/METHOD.md"];
    for (document, text) in documents() {
        let words = code(&text).flat_map(str::split_whitespace);
        for path in words.filter(|word| is_path(word) && read.contains(&document.as_str())) {
            let found = files.iter().any(|file| begins_at_its_crate(path, file));
            assert!(found, "{document} names {path}: from which folder?");
        }
    }
}

/// The paths in the repository to which links lead.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let paths = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains(':'))
}

/// A path begins with a folder of the repository or ends as a source does. `ID` in a path is a placeholder.
fn is_path(word: &str) -> bool {
    const FOLDERS: [&str; 8] = [
        ".ci/",
        "crates/",
        "docs/",
        "experiments/",
        "fuzz/",
        "src/",
        "testdata/",
        "tests/",
    ];
    const ENDS: [&str; 4] = [".rs", ".py", ".sh", ".toml"];
    let is_ours = FOLDERS.iter().any(|folder| word.starts_with(folder))
        || ENDS.iter().any(|end| word.ends_with(end));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let is_any = |part: &str| part.split('.').next() == Some("ID");
    is_ours && word.chars().all(is_plain) && !word.split('/').any(is_any)
}

/// The path of a file or a folder, from wherever the document counts; maps leave out `src`.
fn leads_to(path: &str, file: &str) -> bool {
    let is_end =
        |file: &str| format!("/{file}/").contains(&format!("/{}/", path.trim_end_matches('/')));
    is_end(file) || is_end(&file.replace("/src/", "/"))
}

/// The path of a file or of a folder that it is in, from the root or without `crates` and `src`.
fn begins_at_its_crate(path: &str, file: &str) -> bool {
    let is_start =
        |file: &str| format!("{file}/").starts_with(&format!("{}/", path.trim_end_matches('/')));
    let short = file
        .strip_prefix("crates/")
        .map(|file| file.replacen("/src/", "/", 1));
    is_start(file) || short.is_some_and(|short| is_start(&short))
}
