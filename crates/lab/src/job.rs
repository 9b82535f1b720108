//! One run of a scenario: its cell, its seed, and the request to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::RunError;

/// One run: a cell with a seed.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Which cell, from 0.
    pub cell: usize,
    /// The seed of everything random in it.
    pub seed: u64,
    /// Set when nobody waits for the result any more.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// An error once nobody waits any more: for a long run to ask now and then.
    pub fn go_on(&self) -> Result<(), RunError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(RunError::Interrupted)
        } else {
            Ok(())
        }
    }
}
