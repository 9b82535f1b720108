//! Documents name only commands and options that the program has.

use std::fs;
use std::process::Command;

use super::{code, documents, repository};

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
