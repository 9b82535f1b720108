//! Tells the program which commit it was built from, so that its results can name it.

use std::path::Path;
use std::process::Command;

/// What git says, if it says anything.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(said)
}

/// What the program is made of.
const SOURCES: [&str; 5] = ["build.rs", "Cargo.toml", "Cargo.lock", "crates", "src"];

fn main() {
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    // In a worktree they are elsewhere, and of a file that is not there cargo takes each build for a change.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let commit = git(&["describe", "--always", "--abbrev=12"]);
    let changed = git(&[&["status", "--porcelain", "--"], &SOURCES[..]].concat());
    println!(
        "cargo::rustc-env=EVENKEEL_COMMIT={}{}",
        commit.as_deref().unwrap_or("unknown"),
        // What was built from a changed tree must not be taken for what is committed.
        changed
            .filter(|files| !files.is_empty())
            .map_or("", |_| "-dirty"),
    );
}
