//! Which runs the checks need, in which order they are carried out, and what they show.

use std::collections::BTreeMap;
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
/// How often the runs of a check are carried out before it counts as failed: on a busy host a process may lose the processor at the wrong moment. An implementation that is wrong is
/// wrong again.
const ATTEMPTS: u32 = 3;

/// The logs of runs, by their name.
type Logs = BTreeMap<&'static str, Log>;

/// Carries out what the checks need and judges them. `None` if it was interrupted.
pub(crate) fn carry_out(
    checks: &[&'static Check],
    parties: &Parties,
    stop: &Stop,
) -> Result<Option<Vec<Judged>>, Failure> {
    let runs = runs_of(checks);
    let progress = Progress::new(runs.len());
    let (long, short): (Vec<_>, Vec<_>) = runs
        .into_iter()
        .partition(|run| run.lasts > LONG && !parties.are_shared());
    let logs = thread::scope(|scope| {
        let (progress, mut workers) = (&progress, Vec::new());
        for run in long {
            workers.push(scope.spawn(move || series(&[run], parties, stop, progress)));
        }
        let short = short.as_slice();
        workers.push(scope.spawn(move || series(short, parties, stop, progress)));
        let mut logs = Logs::new();
        for worker in workers {
            let ended = worker.join();
            logs.extend(ended.map_err(|_| Failure::runtime("a run panicked"))??);
        }
        Ok::<_, Failure>(logs)
    })?;
    let mut judged: Vec<_> = checks
        .iter()
        .map(|check| judge(check, &logs, parties.rfc, 1))
        .collect();
    for attempt in 2..=ATTEMPTS {
        for result in judged.iter_mut().filter(|result| !result.outcome.pass) {
            let mut runs = result.check.runs.iter();
            if stop.is_asked() || runs.any(|run| run.lasts > LONG) {
                continue;
            }
            let again = series(result.check.runs, parties, stop, &progress)?;
            *result = judge(result.check, &again, parties.rfc, attempt);
        }
    }
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
    ended: Mutex<usize>,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self {
            total,
            ended: Mutex::new(0),
        }
    }

    fn tell(&self, run: &Run) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended += 1;
        let (ended, total) = (*ended, self.total);
        if ended <= total {
            eprintln!("run {ended} of {total}: {} has ended", run.name);
        } else {
            eprintln!("once more: {} has ended", run.name);
        }
    }
}
