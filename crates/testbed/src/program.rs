//! A program of a run, and how it ends.

use std::path::PathBuf;
use std::process::Child;

use evenkeel_lab::whole_file::{FileKind, read_text};
use evenkeel_net::Clock;
use rustix::process::{Pid, Signal, kill_process};
use tfrc::time::{Duration, Instant};

use crate::host::HostError;

/// A program of a run, killed when the run is over.
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) name: String,
    pub(crate) log: PathBuf,
    /// It may end, but not in failure.
    pub(crate) may_end: bool,
}

/// A program that is asked to end has this long to write its files.
const EXIT_GRACE: Duration = Duration::from_secs(3);
/// How often it is asked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Program {
    /// An error if it ended when it should not have.
    pub(crate) fn check(&mut self) -> Result<(), HostError> {
        let ended = self.child.try_wait();
        let status = match ended.map_err(|error| HostError::System("waiting", error))? {
            None => return Ok(()),
            Some(status) if self.may_end && status.success() => return Ok(()),
            Some(status) => status,
        };
        // The first line is enough for one: the rest is in the file.
        let said = read_text(&self.log, FileKind::Output).unwrap_or_default();
        let line = said.lines().find(|line| !line.trim().is_empty());
        let why = format!("{status}: {}", line.unwrap_or("it said nothing"));
        Err(HostError::Failed(self.name.clone(), why))
    }

    /// Asks it to end, as who presses Ctrl-C does.
    pub(crate) fn interrupt(&mut self) {
        self.signal(Signal::INT);
    }

    /// Sends it a signal. One that has ended needs none.
    pub(crate) fn signal(&mut self, signal: Signal) {
        let _ = self.number().map(|number| kill_process(number, signal));
    }

    /// The number of its process, for as long as nobody else can have it: until its end was waited for.
    fn number(&mut self) -> Option<Pid> {
        let is_running = matches!(self.child.try_wait(), Ok(None));
        let number = i32::try_from(self.child.id()).ok().filter(|_| is_running);
        number.and_then(Pid::from_raw)
    }

    /// Waits for the end of one that was asked, up to some time after that.
    pub(crate) fn await_end(&mut self, clock: Clock, asked: Instant) {
        while clock.now() < asked + EXIT_GRACE && matches!(self.child.try_wait(), Ok(None)) {
            clock.sleep_until(clock.now() + POLL_INTERVAL);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_program_that_has_ended_gets_no_signal() {
        // It ends when it is told to, by the end of what it reads.
        let child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let mut program = Program {
            child,
            name: "cat".into(),
            log: PathBuf::new(),
            may_end: true,
        };
        let id = i32::try_from(program.child.id()).unwrap();
        assert_eq!(program.number(), Pid::from_raw(id));
        drop(program.child.stdin.take());
        program.child.wait().unwrap();
        assert_eq!(program.number(), None);
    }
}
