//! Which runs the checks need, in which order they are carried out, and what they show.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::thread;

use evenkeel_conform::{Check, Clock, Log, Outcome, Rfc, Run};
use tfrc::time::Duration;

use super::live::{self, Parties};
use crate::failure::Failure;
use crate::stop::Stop;

/// A check, what it found, and at which attempt.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) check: &'static Check,
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
}

/// Runs that take longer than this wait for a silent sender: they need no processor, and run beside the
/// others.
const LONG: Duration = Duration::from_secs(60);
/// How often the runs of a check are carried out before it counts as failed: on a busy host a process may
/// lose the processor at the wrong moment. An implementation that is wrong is wrong again.
const ATTEMPTS: u32 = 3;

/// The logs of runs, by their name.
type Logs = BTreeMap<&'static str, Log>;

/// Carries out what the checks need and judges them. `None` if it was interrupted.
pub(crate) fn carry_out(
    checks: &[&'static Check],
    parties: &Parties,
    stop: &Stop,
) -> Result<Option<Vec<Judged>>, Failure> {
    let is_long = |run: &&'static Run| run.lasts > LONG;
    let is_beside = |run: &&'static Run| is_long(run) && !parties.are_shared();
    let (long, short): (Vec<_>, Vec<_>) = runs_of(checks).into_iter().partition(is_beside);
    let (later, sooner): (Vec<_>, Vec<_>) = checks
        .iter()
        .partition::<Vec<&Check>, _>(|check| check.runs.iter().any(is_long));
    let progress = Progress::new(long.len() + short.len());
    let mut judged = thread::scope(|scope| {
        let mut workers = Vec::new();
        for run in &long {
            let (run, progress) = (slice::from_ref(run), &progress);
            workers.push(scope.spawn(move || series(run, parties, stop, progress)));
        }
        let mut logs = series(&short, parties, stop, &progress)?;
        let judged = sooner
            .iter()
            .map(|check| judge(check, &logs, parties.rfc, 1));
        let mut judged: Vec<_> = judged.collect();
        for attempt in 2..=ATTEMPTS {
            let failed = judged.iter_mut().filter(|result| !result.outcome.pass);
            let failed: Vec<_> = failed.collect();
            let checks: Vec<_> = failed.iter().map(|result| result.check).collect();
            let again = series(&runs_of(&checks), parties, stop, &progress)?;
            for result in failed {
                *result = judge(result.check, &again, parties.rfc, attempt);
            }
        }
        for worker in workers {
            let ended = worker.join();
            logs.extend(ended.map_err(|_| Failure::runtime("a run panicked"))??);
        }
        judged.extend(
            later
                .iter()
                .map(|check| judge(check, &logs, parties.rfc, 1)),
        );
        Ok::<_, Failure>(judged)
    })?;
    judged.sort_by_key(|result| checks.iter().position(|check| check.id == result.check.id));
    Ok((!stop.is_asked()).then_some(judged))
}

/// Carries out runs one after the other.
fn series(
    runs: &[&'static Run],
    parties: &Parties,
    stop: &Stop,
    progress: &Progress,
) -> Result<Logs, Failure> {
    let mut logs = Logs::new();
    for run in runs {
        if stop.is_asked() {
            break;
        }
        match live::carry_out(run, parties, stop) {
            Ok(log) => logs.extend(log.map(|log| (run.name, log))),
            Err(failure) => {
                // The others need not go on.
                stop.ask();
                return Err(failure);
            }
        }
        progress.tell(run);
    }
    Ok(logs)
}

fn judge(check: &'static Check, logs: &Logs, rfc: Rfc, attempts: u32) -> Judged {
    let empty = Log::default();
    let logs: Vec<&Log> = check
        .runs
        .iter()
        .map(|run| logs.get(run.name).unwrap_or(&empty))
        .collect();
    Judged {
        check,
        outcome: check.judge(&logs, Clock::Real, rfc),
        attempts,
    }
}

/// Each run once, in the order of the checks.
fn runs_of(checks: &[&'static Check]) -> Vec<&'static Run> {
    let mut runs: Vec<&'static Run> = Vec::new();
    for run in checks.iter().flat_map(|check| check.runs) {
        if runs.iter().all(|known| known.name != run.name) {
            runs.push(run);
        }
    }
    runs
}

/// A line on standard error for each run that has ended.
#[derive(Debug)]
struct Progress {
    total: usize,
    ended: Mutex<BTreeSet<&'static str>>,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self {
            total,
            ended: Mutex::new(BTreeSet::new()),
        }
    }

    fn tell(&self, run: &Run) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.insert(run.name) {
            let (count, total) = (ended.len(), self.total);
            eprintln!("run {count} of {total}: {} has ended", run.name);
        } else {
            eprintln!("once more: {} has ended", run.name);
        }
    }
}
