//! `evenkeel lab`: every figure and table of the papers.

mod named;

use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::result::{RunResult, Verdict};
use evenkeel_lab::runner::{self, Plan, Progress, RunnerError};
use evenkeel_lab::{golden, recorded, report, result};
use evenkeel_net::Clock;
use serde_json::json;
use tfrc::time::Duration;

use crate::cli::{LabArgs, LabCommand, LabListArgs, LabRunArgs};
use crate::failure::{self, Failure};
use crate::outputs;
use crate::stop::Stop;

pub(crate) use named::{all, named};

/// Runs the subcommand.
pub(crate) fn run(args: &LabArgs) -> Result<(), Failure> {
    match &args.command {
        LabCommand::List(list_args) => list(list_args),
        LabCommand::Run(run_args) => run_experiments(run_args),
        LabCommand::Report(report_args) => {
            let experiments = all(&report_args.experiments)?;
            outputs::say(write_report(&report_args.out, &experiments)?.display())
        }
    }
}

/// Writes the report.
fn write_report(out: &Path, experiments: &[Experiment]) -> Result<PathBuf, Failure> {
    let file = report::write(out, experiments);
    let file = file.map_err(|error| Failure::runtime(format!("{}: {error}", out.display())))?;
    file.ok_or_else(|| {
        Failure::usage(format!(
            "{}: no results of these experiments; run some with `evenkeel lab run --out`, or name their folder with --out",
            out.display()
        ))
    })
}

/// Prints the folders of the results, or the results as JSON; for `all`, once the report is written.
pub(crate) fn say_results(
    out: &Path,
    results: &[RunResult],
    all: Option<&[Experiment]>,
    json: bool,
) -> Result<(), Failure> {
    let report = all.map(|all| write_report(out, all)).transpose()?;
    if json {
        return outputs::say(format_args!("{:#}", json!(results)));
    }
    if let Some(report) = report {
        return outputs::say(report.display());
    }
    let mut folders = results.iter().map(|it| result::folder(out, &it.id));
    folders.try_for_each(|folder| outputs::say(folder.display()))
}

fn list(args: &LabListArgs) -> Result<(), Failure> {
    let experiments = all(&args.experiments)?;
    if args.json {
        let entries: Vec<_> = experiments
            .iter()
            .map(|experiment| {
                let definition = &experiment.definition;
                json!({
                    "id": experiment.id,
                    "paper": definition.paper.name(),
                    "figure": definition.figure,
                    "caption": definition.caption,
                    "clock": definition.clock.name(),
                    "seeds": definition.seeds,
                    "core_s": definition.takes.secs(),
                })
            })
            .collect();
        return outputs::say(format_args!("{:#}", json!(entries)));
    }
    let row = |experiment: &Experiment| {
        let definition = &experiment.definition;
        [
            experiment.id.clone(),
            format!("{} {}", definition.paper.name(), definition.figure),
            definition.clock.name().to_owned(),
            format!("{} s", definition.takes.secs()),
            definition.caption.clone(),
        ]
    };
    let head = ["id", "from", "clock", "core time", "caption"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head)
        .chain(experiments.iter().map(row))
        .collect();
    outputs::say(table(&rows).trim_end())
}

/// Formats columns of the width of their content. The fourth has numbers, aligned to the right; the last is not
/// padded.
fn table(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let [id, from, clock, time] = [0, 1, 2, 3].map(width);
    let line = |[a, b, c, d, e]: &[String; 5]| {
        format!("{a:<id$}  {b:<from$}  {c:<clock$}  {d:>time$}  {e}\n")
    };
    rows.iter().map(line).collect()
}

fn run_experiments(args: &LabRunArgs) -> Result<(), Failure> {
    let experiments = if args.all {
        all(&args.experiments)?
    } else if args.ids.is_empty() {
        return Err(Failure::usage(
            "lab run: name an experiment, or give --all; `evenkeel lab list` tells the names",
        ));
    } else {
        named(&args.experiments, &args.ids, &args.set)?
    };
    let plan = Plan {
        experiments,
        seeds: args.seeds,
        out: args.out.clone(),
        commit: env!("EVENKEEL_COMMIT").to_owned(),
        command: typed(),
        threads: match args.threads {
            Some(threads) => threads,
            None => available_parallelism().map_err(Failure::runtime)?,
        },
        resume: true,
        bed: None,
    };
    let results = execute(&plan, args.json)?;
    let every = args.all.then_some(&plan.experiments[..]);
    say_results(&args.out, &results, every, args.json)?;
    if let Some(folder) = &args.golden {
        hold_to(folder, args.bless, &results, &plan.experiments)?;
    }
    verdict(&results)
}

/// Runs a plan until it is done or interrupted, and prints the verdict of each experiment.
pub(crate) fn execute(plan: &Plan<'_>, json: bool) -> Result<Vec<RunResult>, Failure> {
    require_writable(plan)?;
    let stop = Stop::on_interrupt()?;
    let clock = Clock::start();
    let mut last_report = None;
    let mut ran = Vec::new();
    // A closed standard output stops no run: the results are in files.
    let mut unread = Ok(());
    let mut report = |progress: &Progress<'_>| {
        if let Some(result) = progress.finished {
            ran.push(result.id.clone());
            if !json && unread.is_ok() {
                unread = print(result);
            }
        }
        let now = clock.now();
        if let Some(left) = progress.left
            && last_report.is_none_or(|last_report| now - last_report >= PROGRESS_INTERVAL)
        {
            last_report = Some(now);
            let (done, total) = (progress.done, progress.total);
            let seconds = left.as_secs_f64();
            eprintln!("{done} of {total} runs, about {seconds:.0} s left");
        }
    };
    let ended = runner::run(plan, clock, stop.flag(), &mut report);
    let results = ended.map_err(|error| match error {
        // The exit status of an interrupted program is 128 and the signal's number, as in shells.
        RunnerError::Interrupted => Failure::interrupted(error),
        other => Failure::runtime(other),
    })?;
    unread?;
    if !json {
        let kept = results.iter().filter(|result| !ran.contains(&result.id));
        for result in kept {
            print(result)?;
        }
    }
    Ok(results)
}

/// Returns an error if the folder of results cannot be written, before anything is run.
fn require_writable(plan: &Plan<'_>) -> Result<(), Failure> {
    let ids = plan.experiments.iter().map(|it| it.id.as_str());
    result::require_writable(&plan.out, ids).map_err(|(folder, error)| {
        Failure::usage(format!(
            "{}: {error}: name a folder that can be written with --out",
            folder.display()
        ))
    })
}

/// Time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

fn print(result: &RunResult) -> Result<(), Failure> {
    let (id, verdict) = (&result.id, result.verdict().name());
    outputs::say(format_args!("{id:<24} {verdict}"))?;
    if let Some(how) = &result.failed {
        outputs::say(format_args!("  a run failed: {how}"))?;
    }
    for check in &result.checks {
        let value = check.value;
        outputs::say(format_args!(
            "  {:<46} {:>12}  {:<18} {}",
            check.name,
            value.map_or_else(|| "–".to_owned(), |value| value.to_string()),
            check.bounds(),
            check.verdict().name(),
        ))?;
    }
    for check in result.stale() {
        failure::warn(format_args!(
            "{} {} passes, and the file has a reason why it does not: one of the two is to be mended",
            result.id, check.name
        ));
    }
    Ok(())
}

/// Compares the metrics with their golden results. A difference fails the run, or with `bless` becomes the golden
/// result.
///
/// The golden results of recorded links come from the recordings, so results of models that replace them are not
/// compared.
fn hold_to(
    folder: &Path,
    bless: bool,
    results: &[RunResult],
    experiments: &[Experiment],
) -> Result<(), Failure> {
    let mut changed = 0;
    let complete = results.iter().filter(|result| result.failed.is_none());
    for result in complete {
        let of_result = experiments.iter().find(|it| it.id == result.id);
        let absent = of_result.map(|it| it.definition.scenario.absent_recordings());
        if let Some(absent) = absent.filter(|absent| !absent.is_empty()) {
            failure::warn(format_args!(
                "{}: models stand in for {}, so the result is not held to its golden one: name the \
                 folder of the recordings in {}",
                result.id,
                absent.join(", "),
                recorded::FOLDER_VARIABLE
            ));
            continue;
        }
        if bless {
            golden::bless(folder, result).map_err(Failure::runtime)?;
            continue;
        }
        for change in golden::changes(folder, result).map_err(Failure::usage)? {
            eprintln!("{change}");
            changed += 1;
        }
    }
    if changed == 0 {
        Ok(())
    } else {
        Err(Failure::runtime(format!(
            "metrics that are not what they were: {changed}; if that is meant, run again with \
             --bless and commit {} with the reason",
            folder.display()
        )))
    }
}

/// Returns an error if a run or a check failed.
pub(crate) fn verdict(results: &[RunResult]) -> Result<(), Failure> {
    let failed: Vec<String> = results
        .iter()
        .flat_map(|result| {
            let checks = result.checks.iter();
            let failed = checks.filter(|check| check.verdict() == Verdict::Fail);
            match &result.failed {
                Some(how) => vec![format!("{} ({how})", result.id)],
                None => failed
                    .map(|check| format!("{} {}", result.id, check.name))
                    .collect(),
            }
        })
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::runtime(format!("failed: {}", failed.join(", "))))
    }
}

/// Returns the command line, beginning with the program's name but without its folder, which is this machine's.
pub(crate) fn typed() -> String {
    let arguments = std::env::args().skip(1);
    std::iter::once("evenkeel".to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 5]| cells.map(str::to_owned);
        let rows = [
            row(["id", "from", "clock", "core time", "caption"]),
            row(["why-not-full-buffers", "x", "virtual", "9 s", "ends"]),
        ];
        assert_eq!(
            table(&rows),
            "id                    from  clock    core time  caption\n\
             why-not-full-buffers  x     virtual        9 s  ends\n"
        );
    }
}
