//! The contract of every kind of scenario.

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

    /// Gives the number of cells.
    fn cells(&self) -> usize {
        1
    }

    /// True if the result depends on the seed.
    fn is_random(&self) -> bool {
        true
    }

    /// Runs one cell with one seed.
    fn run(&self, job: Job<'_>) -> Result<Sample, RunError>;

    /// Gives the simulation of a cell; `None` unless it has flows on one bottleneck that other scenarios can compare.
    fn comparable_stage(&self, _cell: usize, _seed: u64) -> Option<Stage> {
        None
    }

    /// Gives what a test bed needs to run the scenario; `None` if no test bed can.
    fn real(&self) -> Option<&dyn Real> {
        None
    }

    /// Gives the table of peers that the report shows; `None` if the scenario compares no peers.
    fn comparison(&self) -> Option<PeerComparison> {
        None
    }

    /// Adds the metrics that follow from all cells together.
    fn derive(&self, _findings: &mut Findings) {}
}
