//! Where the lines go.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::setup;

/// A file that is written when there is something to write: what it had before stays until then.
pub(super) fn reserve(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(path);
    file.map_err(|error| setup::cannot("write", path, &error))
}

/// Standard output, or `--logfile`.
pub(super) struct Output {
    out: Box<dyn Write>,
    /// The file, as long as it has what it had before.
    old: Option<File>,
}

impl Output {
    /// Nothing is lost of the file before the first line.
    pub(super) fn open(logfile: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = logfile else {
            return Ok(Self {
                out: Box::new(io::stdout()),
                old: None,
            });
        };
        let file = reserve(path)?;
        let old = file
            .try_clone()
            .map_err(|error| setup::cannot("write", path, &error))?;
        Ok(Self {
            out: Box::new(file),
            old: Some(old),
        })
    }

    /// Prints a line at once.
    pub(super) fn say(&mut self, line: impl Display) -> Result<(), Failure> {
        let emptied = self.old.take().map_or(Ok(()), |file| {
            // A pipe or a terminal has no old text, and cannot be emptied.
            match file.metadata()?.is_file() {
                true => file.set_len(0),
                false => Ok(()),
            }
        });
        // One call: whatever ends the process, no line is cut off.
        emptied
            .and_then(|()| self.out.write_all(format!("{line}\n").as_bytes()))
            .and_then(|()| self.out.flush())
            .map_err(|error| Failure::runtime(format!("cannot write the results: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_what_it_had_until_there_is_a_line() {
        let path = std::env::temp_dir().join(format!("evenkeel-output-{}", std::process::id()));
        std::fs::write(&path, "the last run\n").unwrap();
        let mut output = Output::open(Some(&path)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "the last run\n");
        output.say("this").unwrap();
        output.say("run").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "this\nrun\n");
        std::fs::remove_file(&path).unwrap();
    }
}
