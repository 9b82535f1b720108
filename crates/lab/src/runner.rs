//! Runs experiments, all of their runs at once over the cores, and writes each as soon as it is whole.

mod meter;

pub use meter::Progress;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use evenkeel_net::Clock;
use tfrc::time::Duration;

use crate::error::RunError;
use crate::experiment::Experiment;
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::machine;
use crate::real::Bed;
use crate::result::{self, RunResult};
use crate::run_cache::RunCache;
use meter::Meter;

/// What to run and where to leave it.
#[derive(Clone)]
pub struct Plan<'a> {
    /// In the order in which they are told of.
    pub experiments: Vec<Experiment>,
    /// Seeds a random experiment, in place of its own number.
    pub seeds: Option<u32>,
    /// The folder of results.
    pub out: PathBuf,
    /// The source that the program was built from.
    pub commit: String,
    /// What was typed.
    pub command: String,
    /// Runs at once.
    pub threads: NonZeroUsize,
    /// Skip what is complete for the same commit, parameters and seeds.
    pub resume: bool,
    /// Who runs them in place of the simulator.
    pub bed: Option<&'a dyn Bed>,
}

/// Why experiments could not be run to their end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// It was told to stop. Experiments that are complete are written, and of long ones the runs that are: neither
    /// need run again.
    #[error("interrupted: what is complete is kept, and the same command goes on")]
    Interrupted,
    /// A result could not be written.
    #[error("{}: {}", .0.display(), .1)]
    Unwritable(PathBuf, io::Error),
}

/// One run of one experiment.
#[derive(Clone, Copy, Debug)]
struct Task {
    experiment: usize,
    cell: usize,
    seed_index: usize,
    /// What it is thought to take, in seconds.
    weight: f64,
}

/// What each run gave, or how it failed: by cell, then by seed.
type Runs = Vec<Vec<Option<Result<Sample, String>>>>;

/// What is there of an experiment so far.
struct Gathering {
    runs: Runs,
    missing: usize,
    took: Duration,
}

struct Done {
    task: Task,
    sample: Result<Sample, RunError>,
    took: Duration,
}

/// The first seed.
const FIRST_SEED: u64 = 1;
/// An experiment of the simulator that takes as long as this on one core keeps its runs one by one. Shorter ones are
/// soon run again, and some have a thousand runs of 10 ms: not worth a file each.
const LONG: Duration = Duration::from_secs(20);

/// Runs everything that is not complete yet, and gives the result of each experiment in their order.
pub fn run(
    plan: &Plan<'_>,
    clock: Clock,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&Progress<'_>),
) -> Result<Vec<RunResult>, RunnerError> {
    let mut results: Vec<Option<RunResult>> = plan
        .experiments
        .iter()
        .map(|experiment| plan.complete(experiment))
        .collect();
    let mut tasks = plan.tasks(&results);
    tasks.sort_by(|a, b| a.weight.total_cmp(&b.weight));
    let mut gathering: Vec<Gathering> = plan
        .experiments
        .iter()
        .map(|experiment| plan.gathering(experiment))
        .collect();
    let mut meter = Meter::new(clock.now(), &tasks, plan.threads);
    report(&meter.progress(clock.now(), None));

    let workers = plan.threads.get().min(tasks.len());
    let tasks = Mutex::new(VecDeque::from(tasks));
    let (sender, receiver) = mpsc::channel::<Done>();
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let sender = sender.clone();
            let tasks = &tasks;
            // One begins with the shortest, so that an interrupted plan has experiments to keep; the others with the
            // longest: else one of these starts last, and all wait for it.
            let next = move || {
                let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
                match worker {
                    0 => tasks.pop_front(),
                    _ => tasks.pop_back(),
                }
            };
            scope.spawn(move || work(plan, next, clock, stop, &sender));
        }
        drop(sender);
        // Ends when the last worker has let go of its end.
        for done in receiver {
            if stop.load(Ordering::Relaxed) {
                return Err(RunnerError::Interrupted);
            }
            let result = gather(plan, &mut gathering, done);
            let result = result.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            meter.count(result.weight);
            report(&meter.progress(clock.now(), result.finished.as_ref()));
            if let Some(finished) = result.finished {
                results[result.experiment] = Some(finished);
            }
        }
        Ok(())
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(RunnerError::Interrupted);
    }
    Ok(results.into_iter().flatten().collect())
}

/// Takes tasks until there are none.
fn work(
    plan: &Plan<'_>,
    mut next: impl FnMut() -> Option<Task>,
    clock: Clock,
    stop: &AtomicBool,
    sender: &mpsc::Sender<Done>,
) {
    while let Some(task) = next() {
        let job = Job {
            cell: task.cell,
            seed: FIRST_SEED + task.seed_index as u64,
            stop,
        };
        let experiment = &plan.experiments[task.experiment];
        let (sample, took) = plan.run(experiment, job, clock);
        let done = Done { task, sample, took };
        if sender.send(done).is_err() {
            return;
        }
    }
}

struct Gathered {
    experiment: usize,
    weight: f64,
    finished: Option<RunResult>,
}

/// Adds one run, and writes the experiment if it is complete with it.
fn gather(
    plan: &Plan<'_>,
    gathering: &mut [Gathering],
    done: Done,
) -> Result<Gathered, RunnerError> {
    let task = done.task;
    let experiment = &plan.experiments[task.experiment];
    let run = match done.sample {
        Ok(sample) => Ok(sample),
        Err(RunError::Failed(how)) => Err(how),
        Err(RunError::Interrupted) => return Err(RunnerError::Interrupted),
    };
    let so_far = &mut gathering[task.experiment];
    so_far.runs[task.cell][task.seed_index] = Some(run);
    so_far.missing -= 1;
    so_far.took += done.took;
    let finished = if so_far.missing == 0 {
        let runs = std::mem::take(&mut so_far.runs);
        Some(plan.finish(experiment, runs, so_far.took)?)
    } else {
        None
    };
    Ok(Gathered {
        experiment: task.experiment,
        weight: task.weight,
        finished,
    })
}

impl Plan<'_> {
    /// One run, and how long it took; of a long experiment it is kept, for whoever goes on after an interruption.
    fn run(
        &self,
        experiment: &Experiment,
        job: Job<'_>,
        clock: Clock,
    ) -> (Result<Sample, RunError>, Duration) {
        let cache = self.run_cache(experiment);
        let known = cache
            .as_ref()
            .and_then(|cache| cache.load(job.cell, job.seed));
        if let Some((sample, took)) = known {
            return (Ok(sample), took);
        }
        let began = clock.now();
        let mut sample = job.go_on().and_then(|()| self.try_run(experiment, job));
        let took = clock.now() - began;
        if let (Some(cache), Ok(run)) = (&cache, &sample) {
            let stored = cache.store(job.cell, job.seed, run, took);
            if let Err(error) = stored {
                let folder = cache.folder.display();
                sample = Err(RunError::Failed(format!("{folder}: {error}")));
            }
        }
        (sample, took)
    }

    /// Where runs are kept: runs of a test bed and of long experiments, and only if their source can be told from
    /// another.
    fn run_cache(&self, experiment: &Experiment) -> Option<RunCache> {
        let long = self.bed.is_some() || experiment.definition.takes.0 >= LONG;
        (long && self.has_source()).then(|| RunCache {
            folder: result::folder(&self.out, &experiment.id).join("runs"),
            commit: self.commit.clone(),
            fingerprint: self.fingerprint(experiment),
        })
    }

    /// What was built from a changed tree cannot be told from another such build.
    fn has_source(&self) -> bool {
        !(self.commit.ends_with("-dirty") || self.commit == "unknown")
    }

    fn try_run(&self, experiment: &Experiment, job: Job<'_>) -> Result<Sample, RunError> {
        let scenario = experiment.definition.scenario.scenario();
        let Some(bed) = self.bed else {
            return scenario.run(job);
        };
        let real = scenario
            .real()
            .ok_or_else(|| RunError::Failed("no test bed can run this kind of scenario".into()))?;
        let seen = bed.run(&real.setup(job)?, job.stop)?;
        Ok(real.sample(job, seen))
    }

    /// Seeds that this experiment runs with.
    fn seeds(&self, experiment: &Experiment) -> u32 {
        let definition = &experiment.definition;
        if definition.scenario.scenario().is_random() {
            self.seeds.unwrap_or(definition.seeds)
        } else {
            1
        }
    }

    /// The result on disk, if it has the same commit, parameters and seeds.
    fn complete(&self, experiment: &Experiment) -> Option<RunResult> {
        if !self.resume || !self.has_source() {
            return None;
        }
        let result = result::load(&self.out, &experiment.id)?;
        let same =
            result.commit == self.commit && result.fingerprint == self.fingerprint(experiment);
        (same && result.failed.is_none()).then_some(result)
    }

    fn tasks(&self, results: &[Option<RunResult>]) -> Vec<Task> {
        let mut tasks = Vec::new();
        for (index, experiment) in self.experiments.iter().enumerate() {
            if results[index].is_some() {
                continue;
            }
            let cells = experiment.definition.scenario.scenario().cells();
            // What the file says holds for its own number of seeds.
            let usual = cells as f64 * f64::from(experiment.definition.seeds);
            let weight = experiment.definition.takes.secs() / usual;
            for cell in 0..cells {
                for seed_index in 0..self.seeds(experiment) as usize {
                    tasks.push(Task {
                        experiment: index,
                        cell,
                        seed_index,
                        weight,
                    });
                }
            }
        }
        tasks
    }

    fn gathering(&self, experiment: &Experiment) -> Gathering {
        let cells = experiment.definition.scenario.scenario().cells();
        let seeds = self.seeds(experiment) as usize;
        Gathering {
            runs: vec![vec![None; seeds]; cells],
            missing: cells * seeds,
            took: Duration::ZERO,
        }
    }

    fn finish(
        &self,
        experiment: &Experiment,
        runs: Runs,
        took: Duration,
    ) -> Result<RunResult, RunnerError> {
        // The first failure in this order, not in time: it is the same on any number of cores.
        let samples: Result<Vec<Vec<Sample>>, String> = runs
            .into_iter()
            .map(|seeds| seeds.into_iter().flatten().collect())
            .collect();
        let has_run = samples.is_ok();
        let (findings, failed) = match samples {
            Ok(samples) => {
                let mut findings = Findings::join(&samples);
                let scenario = experiment.definition.scenario.scenario();
                scenario.derive(&mut findings);
                let missing = || experiment.definition.missing(&findings);
                match findings.ambiguous().or_else(missing) {
                    None => (findings, None),
                    wrong => (Findings::default(), wrong),
                }
            }
            Err(how) => (Findings::default(), Some(how)),
        };
        let mut result = RunResult {
            id: experiment.id.clone(),
            commit: self.commit.clone(),
            seed: FIRST_SEED,
            seeds: self.seeds(experiment),
            clock: experiment.definition.clock.name().to_owned(),
            command: self.command.clone(),
            machine: machine::describe(),
            settings: experiment.settings.clone(),
            fingerprint: self.fingerprint(experiment),
            failed,
            wall_s: (took.as_secs_f64() * 1e3).round() / 1e3,
            metrics: Default::default(),
            intervals: Default::default(),
            checks: Vec::new(),
        };
        result.measure(experiment, &findings);
        let unwritable =
            |error| RunnerError::Unwritable(result::folder(&self.out, &experiment.id), error);
        result::write(&self.out, experiment, &findings, &result).map_err(unwritable)?;
        let cache = self.run_cache(experiment).filter(|_| has_run);
        cache
            .map_or(Ok(()), |cache| cache.clear())
            .map_err(unwritable)?;
        Ok(result)
    }

    /// Stands for everything but the commit that a result depends on (FNV-1a, 64 bits).
    fn fingerprint(&self, experiment: &Experiment) -> String {
        // With the content of the files that it names.
        let scenario = format!("{:?}", experiment.definition.scenario);
        let settings = experiment
            .settings
            .iter()
            .flat_map(|s| [b"\0", s.as_bytes()]);
        let seeds = self.seeds(experiment).to_le_bytes();
        let parts = [experiment.text.as_bytes(), scenario.as_bytes(), &seeds];
        let bytes = parts.into_iter().chain(settings).flatten();
        let hash = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3)
        });
        format!("{hash:016x}")
    }
}
