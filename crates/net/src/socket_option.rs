//! Socket options that no safe wrapper offers.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _};

/// Sets an option that is an `int`.
#[expect(unsafe_code, reason = "no safe wrapper offers these options")]
pub(crate) fn set(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the descriptor is open for as long as `socket` is borrowed, and the kernel reads no
    // more than the given size of `value`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
