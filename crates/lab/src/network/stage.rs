//! A simulation of a bottleneck before it runs, as a value: whoever compares changes a part of it.

use evenkeel_link::Random;
use tfrc::time::Instant;
use tfrc::units::Rate;

use super::{Bottleneck, Measured, Member, Run, Udp};
use crate::scenario::{Job, RunError};

/// What is built, what becomes of it, and when it is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub(crate) bottleneck: Bottleneck,
    pub(crate) members: Vec<Member>,
    /// What crosses the bottleneck and nothing else, from when on, and what it draws from.
    pub(crate) background: Vec<(Udp, Instant, Random)>,
    /// Another rate of the bottleneck from an instant on, before what is measured.
    pub(crate) change: Option<(Instant, Rate)>,
    /// From and to when rates are recorded.
    pub(crate) shown: [Instant; 2],
    /// From and to when the bottleneck is measured.
    pub(crate) measured: [Instant; 2],
}

impl Stage {
    /// Flows on a bottleneck, and when they are measured.
    pub(crate) fn new(
        bottleneck: Bottleneck,
        members: Vec<Member>,
        measured: [Instant; 2],
    ) -> Self {
        Self {
            bottleneck,
            members,
            background: Vec::new(),
            change: None,
            shown: measured,
            measured,
        }
    }

    /// Runs it to its end.
    pub(crate) fn run(self, job: Job<'_>) -> Result<Measured, RunError> {
        let mut run = Run::new(&self.bottleneck, &self.members, self.shown, job.seed)?;
        for (source, start, random) in self.background {
            run.add_background(source, start, random)?;
        }
        if let Some((at, rate)) = self.change {
            run.change_rate(at, rate, job)?;
        }
        run.measure(self.measured, job)
    }
}
