//! Writes the lines and files of a test.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::outputs;

/// Opens a file to be written later: its old content stays until then.
pub(super) fn reserve(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(path);
    file.map_err(|error| outputs::cannot("write", path, &error))
}

/// Empties a file; a pipe or a terminal has no old text, and cannot be emptied.
pub(super) fn empty(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => file.set_len(0),
        false => Ok(()),
    }
}

/// A flag that a test has begun, shared with the threads that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Started(Arc<AtomicBool>);

impl Started {
    /// Sets the flag.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A file that keeps its old content until a test has begun. Earlier writes wait in memory, and are lost if no test begins.
#[derive(Debug)]
pub(super) struct Kept {
    file: File,
    begun: Started,
    /// The writes so far; `None` once the file has them.
    waiting: Option<Vec<u8>>,
}

impl Kept {
    /// Opens the file, and leaves its old content.
    pub(super) fn open(path: &Path, begun: Started) -> Result<Self, Failure> {
        let file = reserve(path)?;
        let waiting = Some(Vec::new());
        Ok(Self {
            file,
            begun,
            waiting,
        })
    }

    fn settle(&mut self) -> io::Result<()> {
        if !self.begun.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.waiting.take().map_or(Ok(()), |waiting| {
            empty(&self.file)?;
            self.file.write_all(&waiting)
        })
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.settle()?;
        match &mut self.waiting {
            Some(waiting) => waiting.write(bytes),
            None => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.settle()?;
        self.file.flush()
    }
}

/// The destination of lines: standard output, or `--logfile`.
pub(super) struct Output {
    out: Box<dyn Write>,
}

impl Output {
    /// Opens the output. A file keeps its content, and lines are appended, as in iperf3.
    pub(super) fn open(logfile: Option<&Path>) -> Result<Self, Failure> {
        let out: Box<dyn Write> = match logfile {
            None => Box::new(io::stdout()),
            Some(path) => {
                let file = OpenOptions::new().append(true).create(true).open(path);
                Box::new(file.map_err(|error| outputs::cannot("write", path, &error))?)
            }
        };
        Ok(Self { out })
    }

    /// Prints a line at once.
    pub(super) fn say(&mut self, line: impl Display) -> Result<(), Failure> {
        // Each line is one write: an interrupted process cuts no line off, but a killed one may.
        self.out
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(|error| Failure::runtime(format!("cannot write the results: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_what_it_had() {
        let path = std::env::temp_dir().join(format!("evenkeel-output-{}", std::process::id()));
        std::fs::write(&path, "the last run\n").unwrap();
        let mut output = Output::open(Some(&path)).unwrap();
        output.say("and").unwrap();
        output.say("this one").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "the last run\nand\nthis one\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn capture_replaces_the_last_when_its_test_begins() {
        let path = std::env::temp_dir().join(format!("evenkeel-kept-{}", std::process::id()));
        let read = || std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "the last run\n").unwrap();
        let begun = Started::default();
        let mut file = Kept::open(&path, begun.clone()).unwrap();
        file.write_all(b"hello ").unwrap();
        file.flush().unwrap();
        assert_eq!(read(), "the last run\n");
        begun.set();
        file.flush().unwrap();
        assert_eq!(read(), "hello ");
        file.write_all(b"world").unwrap();
        assert_eq!(read(), "hello world");
        // This test never begins.
        let mut file = Kept::open(&path, Started::default()).unwrap();
        file.write_all(b"in vain").unwrap();
        file.flush().unwrap();
        drop(file);
        assert_eq!(read(), "hello world");
        std::fs::remove_file(&path).unwrap();
    }
}
