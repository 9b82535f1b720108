//! The failures that end a run, and the warnings that do not.

use std::fmt;

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

/// Prints a warning on standard error.
pub(crate) fn warn(line: impl fmt::Display) {
    eprintln!("evenkeel: warning: {line}");
}

/// Joins the lines of a text: messages of other programs have line breaks, and those of this program are one line.
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
    fn a_failure_is_one_line() {
        assert_eq!(
            Failure::usage("no such\n  file").to_string(),
            "no such file"
        );
        assert_eq!(Failure::usage("x").status(), 2);
        assert_eq!(Failure::runtime("x").status(), 1);
    }
}
