//! Documents name only files, commands, tests and checks that exist, and each source file says what it is for.

mod commands;
mod map;
mod paths;
mod table;

use std::fs;
use std::path::Path;

/// The documents for people who use the program or change it, the decision records included, with their names.
fn documents() -> Vec<(String, String)> {
    let docs = ["docs", "docs/decisions"].into_iter().flat_map(names_in);
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

/// The paths of what is in a folder.
fn names_in(folder: &'static str) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(repository().join(folder)).expect("the folder can be read");
    let names = entries.map(|entry| entry.expect("the folder can be read").file_name());
    names.map(move |name| format!("{folder}/{}", name.to_string_lossy()))
}

/// The code of a document: spans between backticks, and blocks.
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

/// Every file of the repository, from its root.
fn files() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![repository().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                // The repository leaves out these folders of git and cargo.
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

/// The text of every Rust file below `folder`.
fn sources(folder: &str) -> Vec<String> {
    let is_source = |file: &String| file.starts_with(folder) && file.ends_with(".rs");
    let read = |file| fs::read_to_string(repository().join(file)).expect("sources are UTF-8");
    files().into_iter().filter(is_source).map(read).collect()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
