//! The failures that end a run, and the warnings that do not.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The exit status of a program that Ctrl-C ended, as shells have it: 128 and the signal's number.
pub(crate) const INTERRUPTED: u8 = 130;

/// The program's error: one line for a person, and the exit status.
#[derive(Debug, thiserror::Error)]
#[error("{line}")]
pub(crate) struct Failure {
    status: u8,
    line: String,
}

impl Failure {
    /// Creates the failure of an impossible request: a wrong argument, a missing file, a busy port. Status 2.
    pub(crate) fn usage(line: impl fmt::Display) -> Self {
        Self {
            status: 2,
            line: one_line(line),
        }
    }

    /// Creates the failure of a run that began well and broke: a thread that died, a full disk. Status 1.
    pub(crate) fn runtime(line: impl fmt::Display) -> Self {
        Self {
            status: 1,
            line: one_line(line),
        }
    }

    /// Creates the failure of a run that Ctrl-C ended before it was done. Status 130.
    pub(crate) fn interrupted(line: impl fmt::Display) -> Self {
        Self {
            status: INTERRUPTED,
            line: one_line(line),
        }
    }

    /// Returns the exit status.
    pub(crate) fn status(&self) -> u8 {
        self.status
    }
}

/// The most warnings that are kept: more than a run has kinds of them.
const MAX_WARNINGS: usize = 50;

/// The last warnings, the newest at the end. A process has one standard error, and one list of what it said there.
static WARNINGS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Prints a warning on standard error, and keeps it for the page and the summary.
pub(crate) fn warn(line: impl fmt::Display) {
    let line = one_line(line);
    say(format_args!("warning: {line}"));
    keep(line);
}

/// Prints the end of what a warning was about, and keeps it for the page and the summary.
pub(crate) fn relieve(line: impl fmt::Display) {
    let line = one_line(line);
    say(&line);
    keep(line);
}

/// Prints a line on standard error under the program's name. During a run nothing else does, so that each line of the
/// terminal is also on the page.
#[expect(
    clippy::print_stderr,
    reason = "every line on standard error is written here"
)]
pub(crate) fn say(line: impl fmt::Display) {
    eprintln!("evenkeel: {line}");
}

/// Keeps a warning once. A repeated one becomes the newest.
pub(crate) fn keep(line: String) {
    let mut kept = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|other| *other != line);
    if kept.len() == MAX_WARNINGS {
        kept.pop_front();
    }
    kept.push_back(line);
}

/// Returns the warnings so far, each once, the newest at the end.
pub(crate) fn warnings() -> Vec<String> {
    let kept = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    kept.iter().cloned().collect()
}

/// Joins the lines of a text: messages of other programs have line breaks, and messages of this program are one line.
fn one_line(text: impl fmt::Display) -> String {
    text.to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_kept_once_within_the_bound() {
        // Other tests of this process may warn too.
        let ours = |text: &String| text.starts_with("kept by the test: ");
        for n in [0, 1, 0] {
            warn(format_args!("kept by the test:\n {n}"));
        }
        let kept: Vec<String> = warnings().into_iter().filter(ours).collect();
        assert_eq!(kept, ["kept by the test: 1", "kept by the test: 0"]);
        (0..2 * MAX_WARNINGS).for_each(|n| keep(format!("kept by the test: {n}")));
        assert!(warnings().len() <= MAX_WARNINGS);
    }

    #[test]
    fn a_failure_is_one_line() {
        assert_eq!(
            Failure::usage("no such\n  file").to_string(),
            "no such file"
        );
        assert_eq!(Failure::usage("x").status(), 2);
        assert_eq!(Failure::runtime("x").status(), 1);
    }
}
