//! Records on their way to a file that grows, many whole ones a call.
//!
//! The file of a process that was asked to end (Ctrl-C, TERM) ends with a whole record. SIGKILL may cut the last one
//! off, for Linux then stops a write at the end of a page, and so may a disk that is full: all before it are whole.
//! What was made in the last [`Records::MAX_WAIT`] may be missing.

use std::io::{self, Write};
use tfrc::time::Duration;

/// Collects records and hands the system whole ones alone.
#[derive(Debug)]
pub struct Records<W> {
    out: W,
    pending: Vec<u8>,
    /// When the first of those pending was made.
    oldest: Option<Duration>,
}

impl<W: Write> Records<W> {
    /// The longest wait of a record for others. A caller without records for as long calls [`flush`](Records::flush).
    pub const MAX_WAIT: Duration = Duration::from_millis(200);

    /// No records yet.
    pub fn new(out: W) -> Self {
        Self {
            out,
            pending: Vec::new(),
            oldest: None,
        }
    }

    /// Adds a whole record that was made `at`, on any clock, but always the same.
    pub fn push(&mut self, at: Duration, record: &[u8]) -> io::Result<()> {
        self.pending.extend_from_slice(record);
        let oldest = *self.oldest.get_or_insert(at);
        if self.pending.len() >= FLUSH_BYTES || at.saturating_sub(oldest) >= Self::MAX_WAIT {
            return self.flush();
        }
        Ok(())
    }

    /// Writes what waits.
    pub fn flush(&mut self) -> io::Result<()> {
        self.oldest = None;
        let written = self.out.write_all(&self.pending);
        self.pending.clear();
        written.and_then(|()| self.out.flush())
    }
}

/// Bytes that are worth a system call.
const FLUSH_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// What each call wrote.
    #[derive(Default)]
    struct Calls(Vec<Vec<u8>>);

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_are_written_whole_and_no_later_than_their_wait() {
        let mut records = Records::new(Calls::default());
        for ms in [1_000, 1_100, 1_199, 1_200, 1_300] {
            records.push(Duration::from_millis(ms), b"line\n").unwrap();
        }
        assert_eq!(records.out.0, [b"line\n".repeat(4)]);
        records.flush().unwrap();
        assert_eq!(records.out.0[1..], [b"line\n"]);
    }

    #[test]
    fn many_records_of_one_moment_do_not_fill_memory() {
        let mut records = Records::new(Calls::default());
        for _ in 0..100 {
            records.push(Duration::ZERO, &[7; 3_000]).unwrap();
        }
        assert!(records.out.0.len() > 3);
        assert!(records.out.0.iter().all(|call| call.len() % 3_000 == 0));
    }
}
