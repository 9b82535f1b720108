//! Finds experiments of a folder by name.

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::nearest::nearest;

use crate::failure::Failure;

/// Returns every experiment of a folder, by name.
pub(crate) fn all(folder: &Path) -> Result<Vec<Experiment>, Failure> {
    let files = files(folder)?;
    let experiments = files.iter().map(|file| Experiment::load(file, &[]));
    experiments
        .map(|read| read.map_err(Failure::usage))
        .collect()
}

/// Returns the file of every experiment, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(format!(
            "{}: {error}: run in the repository, or name its folder with --experiments",
            folder.display()
        ))
    };
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|file| in_order(&file.to_string_lossy()));
    Ok(files)
}

/// Returns a sort key that puts figure 5.3 before figure 5.10: the texts between numbers, and the numbers.
fn in_order(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let (text, after) = rest.split_at(
            rest.find(|c: char| c.is_ascii_digit())
                .unwrap_or(rest.len()),
        );
        let digits = after.find(|c: char| !c.is_ascii_digit());
        let (number, after) = after.split_at(digits.unwrap_or(after.len()));
        parts.push((text.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = after;
    }
    parts
}

/// Returns the experiments of these names, each once, with these settings.
pub(crate) fn named(
    folder: &Path,
    ids: &[String],
    settings: &[String],
) -> Result<Vec<Experiment>, Failure> {
    let first = |(index, id): &(usize, &String)| !ids[..*index].contains(id);
    let ids = ids.iter().enumerate().filter(first);
    ids.map(|(_, id)| one(folder, id, settings)).collect()
}

/// Returns the experiment of this name, with these settings.
fn one(folder: &Path, id: &str, settings: &[String]) -> Result<Experiment, Failure> {
    let file = folder.join(format!("{id}.toml"));
    if !file.is_file() {
        let names = files(folder)?;
        let names = names.iter().filter_map(|file| file.file_stem()?.to_str());
        let meant =
            nearest(id, names).map_or_else(String::new, |name| format!(", but there is {name}"));
        return Err(Failure::usage(format!(
            "{id}: no such experiment{meant}: `evenkeel lab list` names them ({} is no file)",
            file.display()
        )));
    }
    Experiment::load(&file, settings).map_err(Failure::usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_order_of_their_numbers() {
        let mut names = [
            "thesis-fig5-10",
            "thesis-fig5-3",
            "sigcomm-tab25",
            "sigcomm-a1",
        ];
        names.sort_by_cached_key(|name| in_order(name));
        let sorted = [
            "sigcomm-a1",
            "sigcomm-tab25",
            "thesis-fig5-3",
            "thesis-fig5-10",
        ];
        assert_eq!(names, sorted);
        assert_eq!(
            in_order("a2b"),
            [("a".to_owned(), 2), ("b".to_owned(), u64::MAX)]
        );
        assert_eq!(in_order("7"), [(String::new(), 7)]);
    }
}
