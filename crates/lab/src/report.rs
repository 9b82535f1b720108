//! One page with every figure, the paper's claim and the measured values.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::experiment::Experiment;
use crate::figure::{self, escape, readable};
use crate::result::{self, RunResult, Verdict};
use crate::whole_file::{FileKind, read_text};

/// Writes `report.html` into the folder of results, of every experiment that has one and of its real half, if
/// that has one. A single file: it can be sent to someone. `None`, and no file, if there are no results.
pub fn write(out: &Path, experiments: &[Experiment]) -> io::Result<Option<PathBuf>> {
    let mut entries = Vec::new();
    for experiment in experiments {
        let simulated = Entry::load(out, experiment.clone())?;
        let real = experiment.real().map_err(io::Error::other)?;
        let mut real = real.map_or(Ok(None), |half| Entry::load(out, half))?;
        if let (Some(real), Some(simulated)) = (&mut real, &simulated) {
            real.simulated = Some(simulated.result.clone());
        }
        entries.extend(simulated.into_iter().chain(real));
    }
    if entries.is_empty() {
        return Ok(None);
    }
    let file = out.join("report.html");
    fs::write(&file, page(&entries))?;
    Ok(Some(file))
}

struct Entry {
    experiment: Experiment,
    result: RunResult,
    figure: String,
    /// Of a real half: what the simulator gave.
    simulated: Option<RunResult>,
}

impl Entry {
    /// Nothing, if it has no result.
    fn load(out: &Path, experiment: Experiment) -> io::Result<Option<Self>> {
        let Some(result) = result::load(out, &experiment.id) else {
            return Ok(None);
        };
        let figure = result::folder(out, &experiment.id).join("figure.svg");
        Ok(Some(Self {
            experiment,
            result,
            figure: read_text(&figure, FileKind::Output)?,
            simulated: None,
        }))
    }
}

const STYLE: &str = include_str!("report.css");

fn page(entries: &[Entry]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Evenkeel: every figure</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>Every figure, beside what the paper says of it</h1>\n"
    );
    contents(&mut page, entries);
    for entry in entries {
        section(&mut page, entry);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn contents(page: &mut String, entries: &[Entry]) {
    let count = |verdict: Verdict| {
        let verdicts = entries.iter().flat_map(|entry| &entry.result.checks);
        verdicts.filter(|check| check.verdict() == verdict).count()
    };
    let mut commits: Vec<&str> = entries.iter().map(|e| e.result.commit.as_str()).collect();
    commits.sort_unstable();
    commits.dedup();
    let _ = write!(
        page,
        "<p>Experiments: {}. Checks: {}, of which pass: {}, documented deviations: {}, fail: {}. \
         Built from {}.</p>\n<table class=\"contents\">\n\
         <thead><tr><th>Experiment</th><th>From</th><th>Pass</th><th>Documented</th><th>Fail</th>\
         <th>Core time</th><th>Sender-based: rate, CoV</th></tr></thead>\n<tbody>\n",
        entries.len(),
        count(Verdict::Pass) + count(Verdict::Documented) + count(Verdict::Fail),
        count(Verdict::Pass),
        count(Verdict::Documented),
        count(Verdict::Fail),
        escape(&commits.join(", ")),
    );
    for Entry {
        experiment, result, ..
    } in entries
    {
        let of = |verdict: Verdict| {
            let count = result
                .checks
                .iter()
                .filter(|c| c.verdict() == verdict)
                .count();
            if count == 0 {
                "<td></td>".to_owned()
            } else {
                format!("<td class=\"{}\">{count}</td>", class(verdict))
            }
        };
        let definition = &experiment.definition;
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{} {}</td>{}{}{}<td>{:.1} s</td><td>{}</td></tr>",
            definition.paper.name(),
            escape(&definition.figure),
            of(Verdict::Pass),
            of(Verdict::Documented),
            of(Verdict::Fail),
            result.wall_s,
            compared(entries, &result.id),
            id = escape(&result.id),
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

/// Where an experiment compared the flows of this one with p computed at the sender, by RFC 8888: what that makes
/// of their rate and their CoV.
fn compared(entries: &[Entry], id: &str) -> String {
    let found = |what: &str| {
        let name = format!("{what}_ccfb_over_tfrc_{id}");
        let mut results = entries.iter().map(|entry| &entry.result);
        results.find_map(|result| {
            let value = result.metrics.get(&name).copied().flatten()?;
            let half = result
                .intervals
                .get(&name)
                .map(|[low, high]| (high - low) / 2.0);
            Some(half.map_or_else(
                || format!("{value:.2}"),
                |half| format!("{value:.2} ± {half:.2}"),
            ))
        })
    };
    let values = found("kbps").zip(found("cov"));
    values.map_or_else(String::new, |(rate, cov)| format!("{rate}, {cov}"))
}

fn section(page: &mut String, entry: &Entry) {
    let (definition, result) = (&entry.experiment.definition, &entry.result);
    let _ = write!(
        page,
        "<section id=\"{id}\">\n<h2>{id} <small>{} {}</small></h2>\n\
         <div class=\"{}\">\n<figure>\n{}<figcaption>The paper’s caption: “{}”</figcaption>\n\
         </figure>\n<div>\n<h3>What the paper says</h3>\n<p>{}</p>\n<h3>What we measured</h3>\n",
        definition.paper.name(),
        escape(&definition.figure),
        // Half of the page is one panel wide: less would make the letters too small to read.
        if figure::columns(definition.panels.len()) > 1 {
            "above"
        } else {
            "beside"
        },
        entry.figure,
        escape(&definition.caption),
        escape(&definition.claim),
        id = escape(&result.id),
    );
    if let Some(how) = &result.failed {
        let _ = writeln!(page, "<p class=\"fail\">A run failed: {}</p>", escape(how));
    }
    checks(page, entry);
    for check in result
        .checks
        .iter()
        .filter(|c| c.verdict() != Verdict::Pass)
    {
        if let Some(reason) = &check.documented {
            let _ = writeln!(
                page,
                "<p class=\"reason\"><code>{}</code>: {}</p>",
                escape(&check.name),
                escape(reason)
            );
        }
    }
    for check in result.stale() {
        let _ = writeln!(
            page,
            "<p class=\"fail\"><code>{}</code> passes: the reason why it would not is out of date.</p>",
            escape(&check.name)
        );
    }
    questions(page, entry);
    if let Some(comparison) = definition.scenario.scenario().comparison() {
        page.push_str(&comparison.html(result));
    }
    let notes = result.fill_in(&definition.notes);
    if !notes.is_empty() {
        let _ = writeln!(page, "<h3>Notes</h3>\n<p>{}</p>", escape(&notes));
    }
    // The file's text was written beside results of its own number.
    if result.seeds != definition.seeds {
        let _ = writeln!(
            page,
            "<p>Seeds: {}; what the text says of them is of the file’s {}.</p>",
            result.seeds, definition.seeds
        );
    }
    page.push_str("</div>\n</div>\n");
    provenance(page, entry);
    page.push_str("</section>\n");
}

/// What the paper asks, with what was measured.
fn questions(page: &mut String, entry: &Entry) {
    for question in &entry.experiment.definition.questions {
        let _ = writeln!(
            page,
            "<h3>{}</h3>\n<p>{}</p>",
            escape(&question.asked),
            escape(&entry.result.fill_in(&question.answer)),
        );
    }
}

fn checks(page: &mut String, entry: &Entry) {
    let result = &entry.result;
    let simulated = entry.simulated.as_ref();
    let heading = simulated.map_or("<th>Ours</th>", |_| "<th>Test bed</th><th>Simulator</th>");
    let _ = writeln!(
        page,
        "<table>\n<thead><tr><th>Metric</th>{heading}<th>Bounds</th><th>From</th><th></th></tr></thead>\n<tbody>"
    );
    for check in &result.checks {
        let beside = simulated.map_or_else(String::new, |simulated| {
            let value = simulated.metrics.get(&check.name).copied().flatten();
            let value = value.map_or_else(String::new, |value| {
                simulated.with_interval(&check.name, value)
            });
            format!("<td>{value}</td>")
        });
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code></td><td>{}</td>{beside}<td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>",
            breakable(&check.name),
            result.with_interval(&check.name, check.value.unwrap_or(f64::NAN)),
            check.bounds(),
            escape(&check.source),
            class(check.verdict()),
            check.verdict().name(),
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

/// A metric's name, which may go on in a new line after any of its words.
fn breakable(name: &str) -> String {
    escape(name).replace('_', "_<wbr>")
}

/// What is needed to repeat it, and every metric.
fn provenance(page: &mut String, entry: &Entry) {
    let result = &entry.result;
    let seeds = if result.seeds == 1 {
        let parts = match result.intervals.is_empty() {
            true => "",
            false => "; ± is the 90 % confidence interval, from parts of the run",
        };
        format!("seed {}{parts}", result.seed)
    } else {
        let last = result.seed + u64::from(result.seeds) - 1;
        format!(
            "seeds {} to {last}; ± is the 90 % confidence interval",
            result.seed
        )
    };
    let _ = write!(
        page,
        "<details><summary>All metrics, and how to repeat it</summary>\n\
         <p><code>{}</code>, commit {}, {seeds}, {} clock, on {}.</p>\n<table><tbody>\n",
        escape(&result.command),
        escape(&result.commit),
        escape(&result.clock),
        escape(&result.machine),
    );
    for (name, value) in &result.metrics {
        let interval = result
            .intervals
            .get(name)
            .map_or_else(String::new, |[low, high]| {
                format!("{} to {}", readable(*low), readable(*high))
            });
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code></td><td>{}</td><td>{interval}</td></tr>",
            escape(name),
            readable(value.unwrap_or(f64::NAN)),
        );
    }
    let _ = writeln!(
        page,
        "</tbody></table>\n<pre>{}</pre>\n</details>",
        escape(&entry.experiment.text)
    );
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Documented => "documented",
        Verdict::Fail => "fail",
    }
}
