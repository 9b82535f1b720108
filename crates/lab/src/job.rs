//! One run of a scenario: its cell, its seed, and the request to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::RunError;

/// One run: a cell with a seed.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The number of the cell, from 0.
    pub cell: usize,
    /// The seed of all random numbers of the run.
    pub seed: u64,
    /// True once nobody waits for the result.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Gives an error once nobody waits for the result; long runs ask regularly.
    pub fn go_on(&self) -> Result<(), RunError> {
        if self.stop.load(Ordering::Relaxed) {
            Err(RunError::Interrupted)
        } else {
            Ok(())
        }
    }
}
