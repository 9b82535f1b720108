//! Where the lines go.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::failure::Failure;
use crate::setup;

/// Standard output, or `--logfile`.
pub(super) struct Output(Box<dyn Write>);

impl Output {
    pub(super) fn open(logfile: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self(match logfile {
            Some(path) => {
                let file = File::create(path);
                Box::new(file.map_err(|error| setup::cannot("write", path, &error))?)
            }
            None => Box::new(io::stdout()),
        }))
    }

    /// Prints a line at once.
    pub(super) fn say(&mut self, line: impl Display) -> Result<(), Failure> {
        // One call: whatever ends the process, no line is cut off.
        self.0
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.0.flush())
            .map_err(|error| Failure::runtime(format!("cannot write the results: {error}")))
    }
}
