//! A file that a run writes, named in write errors: a disk may fill long after the file was opened.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file, and the option that named it.
pub(crate) struct OutputFile {
    file: Box<dyn Write + Send>,
    name: String,
}

impl OutputFile {
    /// Creates the file of this option, or empties it.
    pub(crate) fn create(option: &str, path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Box::new(File::create(path)?),
            name: format!("{option} {}", path.display()),
        })
    }

    /// Writes what this option names to standard output.
    pub(crate) fn standard_output(option: &str) -> Self {
        Self {
            file: Box::new(io::stdout()),
            name: format!("{option} -"),
        }
    }

    fn named<T>(&self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let line = format!("cannot write {}: {error}", self.name);
            io::Error::new(error.kind(), line)
        })
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.named(flushed)
    }
}
