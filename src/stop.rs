//! The one wish that every thread watches: to stop, by Ctrl-C or because the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, INTERRUPTED};

/// Shared by all threads of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A wish that Ctrl-C, or a polite kill, fulfils.
    pub(crate) fn on_interrupt() -> Result<Self, Failure> {
        let stop = Self::default();
        let asked = stop.clone();
        ctrlc::set_handler(move || {
            // Who asks twice does not want to wait for what blocks: a name server, a pipe.
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

    /// The wish itself, for what knows no `Stop`.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Has anyone asked?
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
