//! What every kind of scenario can do.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::comparison::PeerComparison;
use crate::error::{Impossible, RunError};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::network::Stage;
use crate::real::Real;

/// Reads the scenario of another experiment in the same folder, by the experiment's name.
pub type ReadScenario<'a> = &'a dyn Fn(&str) -> Option<Arc<dyn Scenario>>;

/// A scenario: a grid of cells, what a run of one cell measures, and what follows from all cells.
pub trait Scenario: fmt::Debug + Send + Sync {
    /// Reads the files that the scenario names, from this folder on.
    fn load(&mut self, _folder: &Path, _read: ReadScenario<'_>) -> Result<(), Impossible> {
        Ok(())
    }

    /// The recorded links that the scenario names and that are absent on this machine: models replace them.
    fn absent_recordings(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Refuses parameters that no run could have.
    fn verify(&self) -> Result<(), Impossible>;

    /// How many cells there are.
    fn cells(&self) -> usize {
        1
    }

    /// Does the seed matter?
    fn is_random(&self) -> bool {
        false
    }

    /// Runs one cell with one seed.
    fn run(&self, job: Job<'_>) -> Result<Sample, RunError>;

    /// What a run of a cell simulates, if that is flows on one bottleneck that other scenarios compare as well.
    fn comparable_stage(&self, _cell: usize, _seed: u64) -> Option<Stage> {
        None
    }

    /// How a test bed runs it, if one can.
    fn real(&self) -> Option<&dyn Real> {
        None
    }

    /// What the report shows of its metrics side by side, if they are of peers.
    fn comparison(&self) -> Option<PeerComparison> {
        None
    }

    /// Adds what follows from all cells together.
    fn derive(&self, _findings: &mut Findings) {}
}
