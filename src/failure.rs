//! How a run ends other than well.

use std::fmt;

use crate::stop::INTERRUPTED;

/// The program's error: one line for a person, and the exit status.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    line: String,
}

impl Failure {
    /// The person asked for what cannot be: a wrong argument, a missing file, a busy port. Status 2.
    pub(crate) fn usage(line: impl fmt::Display) -> Self {
        Self {
            status: 2,
            line: one_line(line),
        }
    }

    /// It began well and broke: a thread that died, a disk that filled. Status 1.
    pub(crate) fn runtime(line: impl fmt::Display) -> Self {
        Self {
            status: 1,
            line: one_line(line),
        }
    }

    /// Ctrl-C ended it before it was done. Status 130.
    pub(crate) fn interrupted(line: impl fmt::Display) -> Self {
        Self {
            status: INTERRUPTED,
            line: one_line(line),
        }
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Messages of other programs come with line breaks; ours are one line.
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
