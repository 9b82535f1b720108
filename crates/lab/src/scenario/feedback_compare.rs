//! The flows of other experiments with p computed at the receiver and at the sender: rate and smoothness of both.
//!
//! Source: `light` §IV. Results: docs/notebook/2026-11-28-receivers-of-ours-compute-p.md.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use tfrc::time::Instant;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{Estimate, cov, mean};
use crate::network::{Feedback, Member, Protocol, Speaks, Stage, Tfrc};
use crate::scenario::contract::{ReadScenario, Scenario};
use crate::scenario::require::{require_bins, require_window};
use crate::units::Time;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedbackCompare {
    /// What receivers report that leave p to the sender; each is compared with TFRC's own report.
    formats: Vec<Feedback>,
    /// The timescale of the coefficient of variation.
    timescale: Time,
    /// How far apart rates may be, as a share.
    tolerance: f64,
    /// Edition and t_RTO of the flows, if not as there.
    tfrc: Option<Tfrc>,
    /// Whose flows are compared.
    case: Vec<Case>,
}

/// An experiment whose flows share a bottleneck, or whose flow is alone on one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Its file beside this one, without `.toml`.
    of: String,
    /// Which of its cells; all that have a flow of TFRC unless given.
    #[serde(default)]
    cells: Vec<usize>,
    /// Experiments on the same network, which it stands for.
    #[serde(default)]
    stands_for: Vec<String>,
    /// Runs for each seed: more where they cost little and few flows make them differ much.
    #[serde(default = "once")]
    repeat: u32,
    /// From and to when they are measured, if not as there.
    measured: Option<[Time; 2]>,
    /// Read from that file.
    #[serde(skip)]
    scenario: Option<Arc<dyn Scenario>>,
}

/// A flow whose rate varies by less than this is steady: how much less is the precision of a clock, or when a number
/// was left out, and no property of the path or of who computes p.
const STEADY: f64 = 0.01;

const fn once() -> u32 {
    1
}

impl Case {
    fn cells(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().copied()
    }

    /// The values of each cell, with p in this place and at the receiver.
    fn pairs(&self, what: &str, place: Place, findings: &Findings) -> Vec<[Estimate; 2]> {
        let of = |cell, place| {
            let run = Cell {
                case: self,
                cell,
                place,
            };
            findings.estimate(&run.metric(what))
        };
        self.cells()
            .map(|cell| [of(cell, place), of(cell, Place::Receiver)])
            .collect()
    }

    /// On average over its cells, whose rates are of several magnitudes.
    fn rate_ratio(&self, place: Place, findings: &Findings) -> Estimate {
        let pairs = self.pairs("kbps", place, findings);
        let ratios = pairs.iter().map(|[value, usual]| value.over(*usual));
        Estimate::mean_of(&ratios.collect::<Vec<_>>())
    }

    /// The mean over its cells, with p in this place and at the receiver.
    fn covs(&self, place: Place, findings: &Findings) -> [Estimate; 2] {
        let pairs = self.pairs("cov", place, findings);
        [0, 1].map(|which| {
            let values = pairs.iter().map(|pair| pair[which]);
            Estimate::mean_of(&values.collect::<Vec<_>>())
        })
    }

    fn stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        let mut stage = self.scenario.as_ref()?.comparable_stage(cell, seed)?;
        if let Some(measured) = self.measured {
            stage.measured = measured.map(|time| Instant::ZERO + time.0);
            stage.shown = stage.measured;
        }
        Some(stage)
    }

    fn load(&mut self, read: ReadScenario<'_>) -> Result<(), Impossible> {
        require(self.repeat > 0, "repeat", "1 or more")?;
        self.scenario = read(&self.of);
        let scenario = self.scenario.as_ref();
        let cells = scenario.map_or(0, |scenario| scenario.cells());
        let has_tfrc = |cell: usize| {
            let stage = self.stage(cell, 1);
            stage.is_some_and(|stage| stage.members.iter().any(is_tfrc))
        };
        let usable: Vec<usize> = (0..cells).filter(|cell| has_tfrc(*cell)).collect();
        let what = "the name of an experiment with flows of TFRC on one bottleneck";
        require(!usable.is_empty(), "of", what)?;
        if self.cells.is_empty() {
            self.cells = usable;
            return Ok(());
        }
        let known = self.cells.iter().all(|cell| usable.contains(cell));
        require(
            known,
            "cells",
            "numbers from 0 of cells with a flow of TFRC",
        )
    }
}

fn is_tfrc(member: &Member) -> bool {
    matches!(member.speaks, Speaks::Long(Protocol::Tfrc, _))
}

/// Who computes p in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The receiver: what the others are compared with.
    Receiver,
    /// The receiver, with other seeds: how far apart chance puts what is the same.
    Again,
    /// The sender, from these reports.
    Sender(Feedback),
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Receiver => "tfrc",
            Self::Again => "again",
            Self::Sender(feedback) => feedback.name(),
        }
    }

    const fn feedback(self) -> Feedback {
        match self {
            Self::Receiver | Self::Again => Feedback::Tfrc,
            Self::Sender(feedback) => feedback,
        }
    }

    /// The seed of one of the runs that a seed stands for.
    const fn seed(self, seed: u64, repetition: u32) -> u64 {
        let offset = matches!(self, Self::Again) as u64;
        seed + (repetition as u64) * 1_000 + offset * 1_000_000
    }
}

/// One cell of another experiment, with p computed in one place.
#[derive(Clone, Copy, Debug)]
struct Cell<'a> {
    case: &'a Case,
    cell: usize,
    place: Place,
}

impl Cell<'_> {
    fn metric(self, what: &str) -> String {
        format!(
            "{what}_{}_{}_{}",
            self.place.name(),
            self.case.of,
            self.cell
        )
    }
}

impl Scenario for FeedbackCompare {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.map_or(Ok(()), |tfrc| tfrc.verify_alone())?;
        let sender_based = self.formats.iter().all(|format| *format != Feedback::Tfrc);
        let some = sender_based && !self.formats.is_empty();
        require(some, "formats", "one or more other than tfrc")?;
        let is_share = (0.0..1.0).contains(&self.tolerance);
        require(is_share, "tolerance", "a share, 0 or more and below 1")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        for (index, case) in self.case.iter().enumerate() {
            let sound = case
                .measured
                .map_or(Ok(()), |measured| require_window("measured", measured));
            sound.map_err(|wrong| wrong.inside("case", index))?;
        }
        require_bins("timescale", [&self.timescale])
    }

    fn load(&mut self, _folder: &Path, read: ReadScenario<'_>) -> Result<(), Impossible> {
        let mut cases = self.case.iter_mut().enumerate();
        cases.try_for_each(|(index, case)| {
            let loaded = case.load(read);
            loaded.map_err(|wrong| wrong.inside("case", index))
        })
    }

    fn cells(&self) -> usize {
        self.grid().len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let run = self.grid()[job.cell];
        let mut flows = Vec::new();
        for repetition in 0..run.case.repeat {
            let seed = run.place.seed(job.seed, repetition);
            flows.extend(self.flows(run, Job { seed, ..job })?);
        }
        let of = |value: fn(&[f64]) -> f64| -> f64 {
            mean(&flows.iter().map(|rates| value(rates)).collect::<Vec<f64>>())
        };
        let mut sample = Sample::default();
        sample.metric(run.metric("kbps"), of(mean) * 8.0 / 1e3);
        sample.metric(run.metric("cov"), of(cov));
        Ok(sample)
    }

    fn derive(&self, findings: &mut Findings) {
        for place in self.places().skip(1) {
            let who = place.name();
            let (mut rates, mut covs) = (Vec::new(), Vec::new());
            for (number, case) in (1..).zip(&self.case) {
                let rate = case.rate_ratio(place, findings);
                let [value, usual] = case.covs(place, findings);
                let cov = value.over(usual);
                for name in [&case.of].into_iter().chain(&case.stands_for) {
                    findings.derive(format!("kbps_{who}_over_tfrc_{name}"), rate);
                    findings.derive(format!("cov_{who}_over_tfrc_{name}"), cov);
                }
                findings.draw("kbps", who, f64::from(number), rate);
                findings.draw("cov", who, f64::from(number), cov);
                rates.push(rate);
                if value.mean.max(usual.mean) >= STEADY {
                    covs.push(cov);
                }
            }
            for (what, ratios) in [("kbps", &rates), ("cov", &covs)] {
                let mean = Estimate::mean_of(ratios);
                findings.derive(format!("{what}_{who}_over_tfrc_mean"), mean);
                if let Some((low, high)) = mean.interval() {
                    findings.derive(format!("{what}_{who}_over_tfrc_mean_low"), low);
                    findings.derive(format!("{what}_{who}_over_tfrc_mean_high"), high);
                }
            }
            let [least, most] = [1.0 - self.tolerance, 1.0 + self.tolerance];
            let off = count(&rates, |low, high| high < least || low > most);
            findings.derive(format!("cases_of_{who}_off"), off);
            let shown = count(&rates, |low, high| low >= least && high <= most);
            findings.derive(format!("cases_of_{who}_shown"), shown);
            let widths = rates.iter().filter_map(|rate| rate.half_width);
            findings.derive(format!("widest_of_{who}"), widths.fold(0.0, f64::max));
            findings.derive(
                format!("cases_of_{who}_rougher"),
                count(&covs, |low, _| low > 1.0),
            );
        }
    }
}

/// Of how many the interval is so. One that has none is no wider than its mean.
fn count(ratios: &[Estimate], is_so: impl Fn(f64, f64) -> bool) -> f64 {
    let ends = |ratio: &Estimate| ratio.interval().unwrap_or((ratio.mean, ratio.mean));
    let found = ratios
        .iter()
        .map(ends)
        .filter(|(low, high)| is_so(*low, *high));
    found.count() as f64
}

impl FeedbackCompare {
    fn places(&self) -> impl Iterator<Item = Place> {
        let formats = self.formats.iter().map(|format| Place::Sender(*format));
        [Place::Receiver, Place::Again].into_iter().chain(formats)
    }

    fn grid(&self) -> Vec<Cell<'_>> {
        let cells = |case| Case::cells(case).map(move |cell| (case, cell));
        let cells = self.case.iter().flat_map(cells);
        let run = |(case, cell), place| Cell { case, cell, place };
        cells
            .flat_map(|of| self.places().map(move |place| run(of, place)))
            .collect()
    }

    /// The rates of each flow of TFRC.
    fn flows(&self, run: Cell<'_>, job: Job<'_>) -> Result<Vec<Vec<f64>>, RunError> {
        let Some(mut stage) = run.case.stage(run.cell, job.seed) else {
            return Err(RunError::Failed(format!("{} is not there", run.case.of)));
        };
        for member in stage.members.iter_mut().filter(|member| is_tfrc(member)) {
            member.speaks = Speaks::Long(Protocol::Tfrc, run.place.feedback());
            // The bytes, too, wherever p is computed.
            member.stacks.tfrc.session = true;
            if let Some(Tfrc { edition, t_rto, .. }) = self.tfrc {
                member.stacks.tfrc = Tfrc {
                    edition,
                    t_rto,
                    ..member.stacks.tfrc
                };
            }
        }
        let compared: Vec<bool> = stage.members.iter().map(is_tfrc).collect();
        let window = stage.measured;
        let received = stage.run(job)?.received;
        let flows = received.iter().zip(compared);
        let flows = flows.filter(|(_, compared)| *compared);
        let rates = flows.map(|(flow, _)| flow.within(self.timescale.0, window));
        Ok(rates.collect())
    }
}

#[cfg(test)]
mod tests;
