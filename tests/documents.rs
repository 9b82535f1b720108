//! Documents name only files, commands, tests and checks that exist, and each source file says what it is for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TABLE: &str = include_str!("../docs/RFC5348.md");
const ARCHITECTURE: &str = include_str!("../ARCHITECTURE.md");

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
fn every_test_that_table_or_architecture_names_exists() {
    let sources = sources(&repository().join("crates"));
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

#[test]
fn every_command_that_a_document_names_is_one_of_the_program() {
    let mut named = 0;
    for (document, text) in documents() {
        for line in code(&text).flat_map(str::lines) {
            let Some(words) = command(line) else {
                continue;
            };
            assert_eq!(unknown(&words), None, "{document} names `{line}`");
            named += 1;
        }
    }
    assert!(named > 25, "{named} commands named");
}

#[test]
fn every_option_that_the_readme_names_is_one_of_the_program() {
    let mut helps = Vec::new();
    collect_helps(&[], &mut helps);
    assert!(helps.len() > 15, "{} commands have help", helps.len());
    let text = fs::read_to_string(repository().join("README.md")).expect("the readme");
    let spans = code(&text).filter(|span| span.starts_with('-'));
    let options: Vec<_> = spans
        .flat_map(str::split_whitespace)
        .filter(|word| is_option(word))
        .collect();
    assert!(options.len() >= 5, "{options:?}");
    for option in options {
        let found = helps.iter().any(|help| has_option(help, option));
        assert!(found, "README.md names {option}, which no command has");
    }
}

/// Those for people who use the program or change it, by name.
fn documents() -> Vec<(String, String)> {
    let docs = fs::read_dir(repository().join("docs")).expect("the folder can be read");
    let docs = docs.map(|entry| entry.expect("the folder can be read").file_name());
    let docs = docs.map(|name| format!("docs/{}", name.to_string_lossy()));
    let names = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(String::from);
    let names = names
        .into_iter()
        .chain(docs.filter(|name| name.ends_with(".md")));
    let read = |name: String| {
        let text = fs::read_to_string(repository().join(&name)).expect("documents are UTF-8");
        (name, text)
    };
    names.map(read).collect()
}

/// What links lead to in the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let paths = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains(':'))
}

/// What stands between backticks, and in blocks of code.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("```").enumerate();
    parts.flat_map(|(number, part)| {
        if number % 2 == 0 {
            part.split('`').skip(1).step_by(2).collect()
        } else {
            vec![part]
        }
    })
}

/// It begins with one of our folders, or ends as a source does, and stands for itself: `ID` would stand for any.
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

/// Every file of the repository, from its root.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![repository().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                // What git and cargo have there is not of the repository.
                if name != ".git" && name != "target" {
                    folders.push(path);
                }
            } else if let Ok(path) = path.strip_prefix(repository()) {
                files.push(path.to_string_lossy().into_owned());
            }
        }
    }
    files
}

/// The words after the program's name, if the line runs it.
fn command(line: &str) -> Option<Vec<&str>> {
    let line = line.split(" #").next()?.trim();
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    let starts = [
        "evenkeel ",
        "target/release/evenkeel ",
        "cargo run --release -- ",
    ];
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    // A drawing of the crates begins with the same word.
    if rest.starts_with(|c: char| !c.is_ascii()) {
        return None;
    }
    // Up to what ends a command or makes it one of many.
    let ends = |word: &&str| !["|", "&&", "&", ";", ">", "\\"].contains(word);
    Some(rest.split_whitespace().take_while(ends).collect())
}

/// The first word of a command that the help of its subcommand does not have.
fn unknown(words: &[&str]) -> Option<String> {
    let mut help = help(&[]);
    let mut depth = 0;
    loop {
        let commands = commands(&help);
        if commands.is_empty() {
            break;
        }
        let word = words.get(depth)?;
        if !commands.iter().any(|name| name == word) {
            return Some((*word).to_owned());
        }
        depth += 1;
        help = self::help(&words[..depth]);
    }
    let mut options = words[depth..].iter().filter(|word| is_option(word));
    let unknown = options.find(|option| !has_option(&help, option));
    unknown.map(|option| (*option).to_owned())
}

fn collect_helps(to: &[&str], helps: &mut Vec<String>) {
    let help = help(to);
    for name in commands(&help).iter().filter(|name| *name != "help") {
        collect_helps(&[to, &[name]].concat(), helps);
    }
    helps.push(help);
}

fn help(to: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    let output = program.args(to).arg("--help").output();
    let output = output.expect("run the program");
    assert!(output.status.success(), "{to:?} --help");
    String::from_utf8(output.stdout).expect("help is UTF-8")
}

/// The subcommands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    names
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .map(String::from)
        .collect()
}

/// `--name` or `-n`, and no negative number.
fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    name != word && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// A help names an option where it explains it, at the beginning of a line.
fn has_option(help: &str, option: &str) -> bool {
    let option = option.split('=').next().unwrap_or(option);
    let explained = help
        .lines()
        .filter(|line| line.trim_start().starts_with('-'));
    let mut words = explained.flat_map(|line| line.split([' ', ',', '[', '=']));
    words.any(|word| word == option)
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

/// What stands between backticks in the table.
fn code_spans() -> impl Iterator<Item = &'static str> {
    code(TABLE)
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
