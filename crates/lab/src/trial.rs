//! Tests run cells of a scenario with the first seed.

use std::sync::atomic::AtomicBool;

use crate::findings::Findings;
use crate::job::Job;
use crate::scenario::Scenario;

/// The run of a cell, which nobody stops.
pub(crate) fn job(cell: usize) -> Job<'static> {
    static STOP: AtomicBool = AtomicBool::new(false);
    Job {
        cell,
        seed: 1,
        stop: &STOP,
    }
}

/// What these cells give, without what follows from all together.
pub(crate) fn findings_of(
    scenario: &dyn Scenario,
    cells: impl IntoIterator<Item = usize>,
) -> Findings {
    let run = |cell| vec![scenario.run(job(cell)).unwrap()];
    Findings::join(&cells.into_iter().map(run).collect::<Vec<_>>())
}

/// What all cells give, and what follows from them.
pub(crate) fn findings(scenario: &dyn Scenario) -> Findings {
    let mut findings = findings_of(scenario, 0..scenario.cells());
    scenario.derive(&mut findings);
    findings
}
