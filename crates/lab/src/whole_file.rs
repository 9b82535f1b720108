//! Reads whole files, each kind up to a limit: a path may name a film, or a device without an end.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A kind of file that is read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Lines that a person writes or changes: a description, a schedule, an experiment.
    Settings,
    /// A recording of a link, with a line for 1500 bytes: an hour at some 30 Mb/s.
    Trace,
    /// What this program wrote.
    Output,
}

impl FileKind {
    /// Returns the most MiB of such a file.
    const fn limit_mib(self) -> u64 {
        match self {
            Self::Settings => 1,
            Self::Trace => 64,
            Self::Output => 1_024,
        }
    }
}

/// Reads the bytes of a file.
///
/// # Errors
/// If it cannot be read, or has more bytes than files of its kind.
pub fn read(file: &Path, kind: FileKind) -> io::Result<Vec<u8>> {
    let limit = kind.limit_mib() << 20;
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let why = format!(
        "it has more than {} MiB, the limit of files of this kind",
        kind.limit_mib()
    );
    Err(io::Error::new(io::ErrorKind::FileTooLarge, why))
}

/// Reads a file that is text.
///
/// # Errors
/// As [`read`], and if it is no text.
pub fn read_text(file: &Path, kind: FileKind) -> io::Result<String> {
    String::from_utf8(read(file, kind)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_beyond_the_limit_is_refused() {
        let path = std::env::temp_dir().join(format!("evenkeel-whole-{}", std::process::id()));
        let limit = (FileKind::Settings.limit_mib() << 20) as usize;
        std::fs::write(&path, vec![b'x'; limit]).unwrap();
        let fits = read_text(&path, FileKind::Settings).map(|text| text.len());
        std::fs::write(&path, vec![b'x'; limit + 1]).unwrap();
        let refused = read(&path, FileKind::Settings);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(fits.unwrap(), limit);
        assert!(refused.unwrap_err().to_string().contains("more than 1 MiB"));
    }

    #[test]
    #[cfg(unix)]
    fn device_without_end_is_refused() {
        let refused = read(Path::new("/dev/zero"), FileKind::Settings);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
