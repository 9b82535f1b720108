//! Each source file says what it is for, and the documents to read stay short.

use std::fs;

use super::{files, repository};

/// `cargo test --test documents map -- --nocapture` prints the map.
#[test]
fn map_has_one_sentence_for_each_source_file() {
    let mut map = Vec::new();
    for file in files() {
        let mut parts = file.split('/');
        let room = match (parts.next(), parts.next(), parts.next()) {
            (Some("crates"), Some(room), Some("src")) => room,
            (Some("src"), ..) => "src",
            _ => continue,
        };
        if file.ends_with(".rs") {
            let text = fs::read_to_string(repository().join(&file)).expect("sources are UTF-8");
            map.push((room.to_owned(), first_sentence(&text), file));
        }
    }
    map.sort_by(|a, b| (&a.0, &a.2).cmp(&(&b.0, &b.2)));
    assert!(map.len() > 400, "{} source files", map.len());
    let mut last = "";
    let mut faults = Vec::new();
    for (room, sentence, file) in &map {
        if room != last {
            println!("\n{room}");
            last = room;
        }
        println!("  {file}: {sentence}");
        let length = sentence.chars().count();
        if !(1..=160).contains(&length) {
            faults.push(format!("{file}: {length} characters"));
        }
    }
    assert!(
        faults.is_empty(),
        "a `//!` sentence of 1 to 160 characters is missing in {faults:#?}"
    );
}

#[test]
fn required_documents_stay_within_a_thousand_lines() {
    let mut names = [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "docs/STYLE.md",
        "docs/METHOD.md",
        "docs/GLOSSARY.md",
    ]
    .map(String::from)
    .to_vec();
    names.extend(files().into_iter().filter(|file| {
        let is_decision = file.starts_with("docs/decisions/");
        is_decision && file.ends_with(".md")
    }));
    let mut sum = 0;
    for name in names {
        let text = fs::read_to_string(repository().join(&name)).expect("documents are UTF-8");
        let lines = text.lines().count();
        let most = match name.as_str() {
            "ARCHITECTURE.md" => 150,
            name if name.starts_with("docs/decisions/") => 60,
            _ => 250,
        };
        assert!(lines <= most, "{name} has {lines} lines, {most} at most");
        sum += lines;
    }
    assert!(sum <= 1_000, "the documents to read have {sum} lines");
}

/// The first sentence of the `//!` lines, as one line; empty if the file has none.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().skip_while(|line| !line.starts_with("//!"));
    let lines = lines.map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let begins = |rest: &str| rest.starts_with(|c: char| c.is_uppercase() || "[`".contains(c));
    let ends = paragraph
        .match_indices(['.', '?', '!'])
        .map(|(at, _)| at + 1)
        .find(|&at| paragraph[at..].strip_prefix(' ').is_some_and(begins));
    paragraph[..ends.unwrap_or(paragraph.len())].to_owned()
}
