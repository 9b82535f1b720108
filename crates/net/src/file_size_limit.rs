//! Makes a write beyond the system's limit of file sizes fail, in place of the end of the process.

/// Ignores SIGXFSZ, so that the write that exceeds the limit returns an error (setrlimit(2), `RLIMIT_FSIZE`), as on a
/// full disk. Programs that this process starts inherit this.
#[expect(unsafe_code, reason = "no safe wrapper sets a signal's disposition")]
pub fn fail_writes_beyond_size_limit() {
    // SAFETY: an ignored signal runs no handler, so no code of this process is interrupted.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
