//! A `CommandThread` hands commands to a thread of an endpoint, a relay or a router, and wakes it for each.

use crate::wait::{Waker, Wakeups};
use std::fmt;
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use std::thread::{self, JoinHandle};

/// The way to a thread that takes commands `C` and gives `R` at its end. Dropping it ends the thread.
pub(crate) struct CommandThread<C, R = ()> {
    commands: Option<SyncSender<C>>,
    waker: Waker,
    thread: Option<JoinHandle<R>>,
}

/// A command did not reach the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// The thread has ended.
    Gone,
    /// As many commands wait as the channel holds.
    Full,
}

impl<C: Send + 'static, R: Send + 'static> CommandThread<C, R> {
    /// Starts a thread, with room for so many commands that wait.
    ///
    /// Fails if the system gives no thread or no wake-up channel.
    pub(crate) fn spawn(
        name: String,
        capacity: usize,
        run: impl FnOnce(Receiver<C>, Wakeups) -> R + Send + 'static,
    ) -> io::Result<Self> {
        let (waker, wakeups) = Waker::new()?;
        let (commands, receiver) = mpsc::sync_channel(capacity);
        let thread = thread::Builder::new()
            .name(name)
            .spawn(move || run(receiver, wakeups))?;
        Ok(Self {
            commands: Some(commands),
            waker,
            thread: Some(thread),
        })
    }
}

impl<C, R> CommandThread<C, R> {
    /// Waits for room in the channel.
    pub(crate) fn send(&self, command: C) -> Result<(), Undelivered> {
        let commands = self.commands.as_ref().ok_or(Undelivered::Gone)?;
        commands.send(command).map_err(|_| Undelivered::Gone)?;
        self.waker.wake();
        Ok(())
    }

    /// Fails at once without room in the channel.
    pub(crate) fn try_send(&self, command: C) -> Result<(), Undelivered> {
        let commands = self.commands.as_ref().ok_or(Undelivered::Gone)?;
        commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => Undelivered::Full,
            TrySendError::Disconnected(_) => Undelivered::Gone,
        })?;
        self.waker.wake();
        Ok(())
    }

    /// Sends a command that has an answer, and waits for the answer.
    pub(crate) fn ask<A>(
        &self,
        command: impl FnOnce(SyncSender<A>) -> C,
    ) -> Result<A, Undelivered> {
        let (answer, answers) = mpsc::sync_channel(1);
        self.send(command(answer))?;
        answers.recv().map_err(|_| Undelivered::Gone)
    }

    /// Closes the way in, behind every command given before.
    pub(crate) fn end(&mut self) -> Option<JoinHandle<R>> {
        self.commands = None;
        self.waker.wake();
        self.thread.take()
    }
}

impl<C, R> Drop for CommandThread<C, R> {
    fn drop(&mut self) {
        if let Some(thread) = self.end() {
            // A panic has been printed by its thread.
            let _ = thread.join();
        }
    }
}

impl<C, R> fmt::Debug for CommandThread<C, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandThread").finish_non_exhaustive()
    }
}

/// Obeys the commands that wait, at most `most`, and gives their number. `Err` if the way to the thread is gone.
pub(crate) fn obey<C>(
    commands: &Receiver<C>,
    most: usize,
    mut obey: impl FnMut(C),
) -> Result<usize, ()> {
    for obeyed in 0..most {
        match commands.try_recv() {
            Ok(command) => obey(command),
            Err(TryRecvError::Empty) => return Ok(obeyed),
            Err(TryRecvError::Disconnected) => return Err(()),
        }
    }
    Ok(most)
}
