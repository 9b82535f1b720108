//! The request to stop that every thread watches: by Ctrl-C, or because the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, INTERRUPTED};

/// A flag that all threads of a run share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a request that Ctrl-C or SIGTERM sets.
    pub(crate) fn on_interrupt() -> Result<Self, Failure> {
        let stop = Self::default();
        let asked = stop.clone();
        ctrlc::set_handler(move || {
            // A second Ctrl-C does not wait for a blocking call, on a name server or on a pipe.
            if asked.is_asked() {
                std::process::exit(INTERRUPTED.into());
            }
            asked.ask();
        })
        .map_err(Failure::runtime)?;
        Ok(stop)
    }

    /// Asks every thread to stop.
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns the flag itself, for crates that have no `Stop`.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Returns true once a stop was requested.
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
