//! Reads the replies of joiners from standard input, while an inviter waits.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, stdin};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use evenkeel_secure::invitation::{InvitationError, Reply};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The most bytes that are read: hundreds of replies.
const MAX_INPUT: u64 = 1 << 16;
/// The most replies that wait for the monitor.
const MAX_WAITING: usize = 8;
/// The time between two checks of a terminal that another job reads.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};

/// The replies that a person pastes.
pub(super) struct Replies(Receiver<Result<Reply, InvitationError>>);

impl Replies {
    /// Starts to read. The thread ends with its input or with the process, whichever is first.
    pub(super) fn start() -> Option<Self> {
        let input = stdin().as_fd().try_clone_to_owned().ok()?;
        let (found, replies) = sync_channel(MAX_WAITING);
        thread::Builder::new()
            .name("replies".into())
            .spawn(move || {
                let lines = BufReader::new(File::from(input).take(MAX_INPUT));
                read(lines, &found, wait_for_input);
            })
            .ok()?;
        Some(Self(replies))
    }

    /// Returns the next line that was pasted.
    pub(super) fn poll(&self) -> Option<Result<Reply, InvitationError>> {
        self.0.try_recv().ok()
    }
}

/// Reads lines, and calls `wait` before each read that may block.
fn read(
    mut input: BufReader<impl Read>,
    found: &SyncSender<Result<Reply, InvitationError>>,
    wait: impl Fn(),
) {
    loop {
        if input.buffer().is_empty() {
            wait();
        }
        let mut line = Vec::new();
        if !matches!(input.read_until(b'\n', &mut line), Ok(1..)) {
            break;
        }
        // A line of another encoding is no reply, which is said as of any other line.
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() && found.send(line.parse()).is_err() {
            break;
        }
    }
}

/// Waits until a read neither blocks nor stops the process: the system stops a job that reads its terminal from the background,
/// and a job may go there at any time.
fn wait_for_input() {
    loop {
        let input = stdin();
        let mut watched = [PollFd::new(&input, PollFlags::IN)];
        let is_ready = poll(&mut watched, Some(&POLL_INTERVAL)).is_ok_and(|ready| ready > 0);
        if is_ready && is_in_foreground() {
            return;
        }
        if is_ready {
            let _ = poll(&mut [], Some(&POLL_INTERVAL));
        }
    }
}

fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(stdin());
    !stdin().is_terminal() || foreground == Ok(rustix::process::getpgrp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_another_encoding_is_skipped_with_a_word() {
        let reply = Reply(Vec::new()).to_string();
        let input = [b"caf\xe9\n\n".as_slice(), reply.as_bytes()].concat();
        let (found, replies) = sync_channel(MAX_WAITING);
        read(BufReader::new(input.as_slice()), &found, || {});
        drop(found);
        let read: Vec<_> = replies.iter().map(|reply| reply.is_ok()).collect();
        assert_eq!(read, [false, true]);
    }
}
