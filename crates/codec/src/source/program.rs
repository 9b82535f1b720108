//! A program that a source runs, which another thread can end while the source waits for it.

use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A running program. If the process ends while [`Source::next`](super::Source::next) waits, the program outlives
/// it and keeps its camera, unless it is killed.
#[derive(Clone, Debug)]
pub struct Program(Arc<Mutex<Child>>);

impl Program {
    pub(super) fn new(child: Child) -> Self {
        Self(Arc::new(Mutex::new(child)))
    }

    pub(super) fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the program.
    pub fn kill(&self) {
        // The source holds the lock only once the program's output has ended. The kill fails if the program has
        // ended too.
        if let Ok(mut child) = self.0.try_lock() {
            let _ = child.kill();
        }
    }
}
