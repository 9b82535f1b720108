//! Reads the replies of joiners from standard input, while an inviter waits.

use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _, stdin};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use evenkeel_secure::invitation::{InvitationError, Reply};

/// The most bytes that are read: hundreds of replies.
const MAX_INPUT: u64 = 1 << 16;
/// The most replies that wait for the monitor.
const MAX_WAITING: usize = 8;

/// The replies that a person pastes.
pub(super) struct Replies(Receiver<Result<Reply, InvitationError>>);

impl Replies {
    /// Starts to read, unless this is a job in the background of its terminal: the system stops a job that reads there.
    ///
    /// The thread ends with its input or with the process, whichever is first.
    pub(super) fn start() -> Option<Self> {
        let foreground = rustix::termios::tcgetpgrp(stdin());
        if stdin().is_terminal() && foreground != Ok(rustix::process::getpgrp()) {
            return None;
        }
        let (found, replies) = sync_channel(MAX_WAITING);
        thread::Builder::new()
            .name("replies".into())
            .spawn(move || {
                let input = BufReader::new(stdin().take(MAX_INPUT));
                let lines = input.lines().map_while(Result::ok);
                for line in lines.filter(|line| !line.trim().is_empty()) {
                    if found.send(line.parse()).is_err() {
                        break;
                    }
                }
            })
            .ok()?;
        Some(Self(replies))
    }

    /// Returns the next line that was pasted.
    pub(super) fn poll(&self) -> Option<Result<Reply, InvitationError>> {
        self.0.try_recv().ok()
    }
}
