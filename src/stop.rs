//! The request to stop that every thread watches: by Ctrl-C, or because the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, INTERRUPTED};

/// Shared by all threads of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A request that Ctrl-C, or a SIGTERM, makes.
    pub(crate) fn on_interrupt() -> Result<Self, Failure> {
        let stop = Self::default();
        let asked = stop.clone();
        ctrlc::set_handler(move || {
            // A second Ctrl-C does not wait for a call that blocks: on a name server, on a pipe.
            if asked.is_asked() {
                std::process::exit(INTERRUPTED.into());
            }
            asked.ask();
        })
        .map_err(Failure::runtime)?;
        Ok(stop)
    }

    /// Asks everyone to stop.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The request itself, for crates that have no `Stop`.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// True once anyone has asked.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
