//! Where programs of runs leave what they print: a folder a run, of one process at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::host::HostError;

/// The folder of all. It is this process's until it ends, however it ends.
#[derive(Debug)]
pub(crate) struct Logs {
    path: PathBuf,
    /// Holds the lock.
    _holder: File,
    /// Folders that no run uses now, and how many there are.
    folders: Mutex<(Vec<PathBuf>, usize)>,
}

/// In this file is the number of the process that holds the lock.
const HOLDER: &str = "holder";

impl Logs {
    /// Makes the folder where there is none. An error, which names the holder, if another process has it.
    pub(crate) fn open(path: PathBuf) -> Result<Self, HostError> {
        let failed = |error: io::Error| {
            let why = format!("{error}: name a folder that can be written with --out");
            HostError::Failed(path.display().to_string(), why)
        };
        fs::create_dir_all(&path).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut holder = options.open(path.join(HOLDER)).map_err(failed)?;
        match flock(&holder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(held(&path, &mut holder)),
            Err(error) => return Err(failed(error.into())),
        }
        holder.set_len(0).map_err(failed)?;
        let number = std::process::id();
        writeln!(holder, "{number}").map_err(failed)?;
        Ok(Self {
            path,
            _holder: holder,
            folders: Mutex::default(),
        })
    }

    /// A folder that no run uses now.
    pub(crate) fn take(&self) -> PathBuf {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let (free, count) = &mut *folders;
        free.pop().unwrap_or_else(|| {
            *count += 1;
            self.path.join(count.to_string())
        })
    }

    /// The next run may have it.
    pub(crate) fn give_back(&self, folder: PathBuf) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.0.push(folder);
    }
}

fn held(path: &Path, holder: &mut File) -> HostError {
    let mut number = String::new();
    let read = holder.read_to_string(&mut number);
    let who = match (read, number.trim()) {
        // It has not yet written it.
        (Err(_), _) | (_, "") => "another process".to_owned(),
        (_, number) => format!("process {number}"),
    };
    let why = format!("{who} runs a test bed with it: wait for its end, or give another --out");
    HostError::Failed(path.display().to_string(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_of_one_process_at_a_time_and_their_holder_is_named() {
        let name = format!("evenkeel-logs-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let logs = Logs::open(path.clone()).unwrap();
        let error = Logs::open(path.clone()).unwrap_err().to_string();
        let holder = format!("process {} runs", std::process::id());
        assert!(error.contains(&holder) && !error.contains('\n'), "{error}");
        drop(logs);
        // What an earlier process wrote is not in the way.
        fs::write(path.join(HOLDER), "123456789\n").unwrap();
        drop(Logs::open(path.clone()).unwrap());
        let number = fs::read_to_string(path.join(HOLDER)).unwrap();
        assert_eq!(number.trim(), std::process::id().to_string());
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_with_the_remedy() {
        let name = format!("evenkeel-no-logs-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        fs::write(&file, "").unwrap();
        let path = file.join("logs");
        let error = Logs::open(path.clone()).unwrap_err().to_string();
        let begins = format!("{}: ", path.display());
        assert!(
            error.starts_with(&begins) && error.ends_with("with --out"),
            "{error}"
        );
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn runs_at_the_same_time_have_folders_of_their_own_and_later_ones_take_them_over() {
        let name = format!("evenkeel-logs-of-runs-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let logs = Logs::open(path.clone()).unwrap();
        let (first, second) = (logs.take(), logs.take());
        assert_ne!(first, second);
        logs.give_back(first.clone());
        assert_eq!(logs.take(), first);
        fs::remove_dir_all(path).unwrap();
    }
}
