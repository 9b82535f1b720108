//! Plans the runs that the checks need, carries them out in order, and judges them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::thread;

use evenkeel_conform::{Check, Clock, Outcome, Rfc, Run};
use tfrc::time::Duration;

use super::live::{self, Parties, Record};
use crate::failure::Failure;
use crate::stop::Stop;

/// A check, its outcome, and the number of attempts.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) check: &'static Check,
    pub(crate) outcome: Outcome,
    pub(crate) attempts: u32,
    /// The failed attempts in which the host was late, which do not count.
    pub(crate) disturbed: u32,
}

/// The length above which runs wait for a silent sender: they need no processor, and run beside the others.
const LONG_RUN: Duration = Duration::from_secs(60);
/// The number of failed attempts on a punctual host after which a check has failed: a wrong implementation fails
/// again.
const FAILED_ATTEMPTS: u32 = 3;
/// The most attempts of a short run, on a host that is busy all the time.
const MAX_ATTEMPTS: u32 = 12;
/// The lateness of the host that disturbs a run, because the checks' tolerances have no room for it.
const MAX_HOST_LATENESS: Duration = Duration::from_millis(2);

/// The results of runs, by name.
type Records = BTreeMap<&'static str, Record>;

/// Carries out the runs of the checks and judges them. `None` if it was interrupted.
pub(crate) fn carry_out(
    checks: &[&'static Check],
    parties: &Parties,
    stop: &Stop,
) -> Result<Option<Vec<Judged>>, Failure> {
    let is_beside = |check: &&'static Check| {
        check.runs.iter().any(|run| run.lasts > LONG_RUN) && !parties.are_shared()
    };
    let (long, short): (Vec<_>, Vec<_>) = checks.iter().copied().partition(is_beside);
    let progress = Progress::new(runs_of(checks).len());
    let mut judged = thread::scope(|scope| {
        let mut workers = Vec::new();
        for run in runs_of(&long) {
            let needs = |check: &&&'static Check| check.runs.iter().any(|of| of.name == run.name);
            let (checks, progress): (Vec<_>, _) =
                (long.iter().filter(needs).copied().collect(), &progress);
            workers.push(
                scope.spawn(move || attempts(&checks, FAILED_ATTEMPTS, parties, stop, progress)),
            );
        }
        let mut judged = attempts(&short, MAX_ATTEMPTS, parties, stop, &progress)?;
        for worker in workers {
            let ended = worker.join();
            judged.extend(ended.map_err(|_| Failure::runtime("a run panicked"))??);
        }
        Ok::<_, Failure>(judged)
    })?;
    judged.sort_by_key(|result| checks.iter().position(|check| check.id == result.check.id));
    Ok((!stop.is_asked()).then_some(judged))
}

/// Tries checks until each has passed, has failed often enough, or was tried `most` times.
fn attempts(
    checks: &[&'static Check],
    most: u32,
    parties: &Parties,
    stop: &Stop,
    progress: &Progress,
) -> Result<Vec<Judged>, Failure> {
    let mut ended = Vec::new();
    let mut open: Vec<(&'static Check, u32)> = checks.iter().map(|check| (*check, 0)).collect();
    for attempts in 1..=most {
        let checks: Vec<_> = open.iter().map(|(check, _)| *check).collect();
        let records = series(&runs_of(&checks), parties, stop, progress)?;
        let mut repeat = Vec::new();
        for (check, disturbed) in open {
            let (outcome, late) = judge(check, &records, parties.rfc);
            let disturbed = disturbed + u32::from(!outcome.pass && late > MAX_HOST_LATENESS);
            if outcome.pass || attempts == most || attempts - disturbed == FAILED_ATTEMPTS {
                ended.push(Judged {
                    check,
                    outcome,
                    attempts,
                    disturbed,
                });
            } else {
                repeat.push((check, disturbed));
            }
        }
        if repeat.is_empty() || stop.is_asked() {
            break;
        }
        open = repeat;
    }
    Ok(ended)
}

/// Carries out runs one after the other.
fn series(
    runs: &[&'static Run],
    parties: &Parties,
    stop: &Stop,
    progress: &Progress,
) -> Result<Records, Failure> {
    let mut records = Records::new();
    for run in runs {
        if stop.is_asked() {
            break;
        }
        match live::carry_out(run, parties, stop) {
            Ok(record) => records.extend(record.map(|record| (run.name, record))),
            Err(failure) => {
                // The other runs need not continue.
                stop.ask();
                return Err(failure);
            }
        }
        progress.print(run);
    }
    Ok(records)
}

/// Returns the outcome of a check by the logs of its runs, and the lateness of the host in them.
fn judge(check: &Check, records: &Records, rfc: Rfc) -> (Outcome, Duration) {
    let empty = Record::default();
    let records: Vec<&Record> = check
        .runs
        .iter()
        .map(|run| records.get(run.name).unwrap_or(&empty))
        .collect();
    let logs: Vec<_> = records.iter().map(|record| &record.log).collect();
    let late = records.iter().map(|record| record.late).max();
    (
        check.judge(&logs, Clock::Real, rfc),
        late.unwrap_or_default(),
    )
}

/// Returns each run once, in the order of the checks.
fn runs_of(checks: &[&'static Check]) -> Vec<&'static Run> {
    let mut runs: Vec<&'static Run> = Vec::new();
    for run in checks.iter().flat_map(|check| check.runs) {
        if runs.iter().all(|known| known.name != run.name) {
            runs.push(run);
        }
    }
    runs
}

/// Prints a line on standard error for each run that has ended.
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

    fn print(&self, run: &Run) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.insert(run.name) {
            let (count, total) = (ended.len(), self.total);
            eprintln!("run {count} of {total}: {} has ended", run.name);
        } else {
            eprintln!("once more: {} has ended", run.name);
        }
    }
}
