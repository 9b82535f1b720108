//! Whole experiments, from file to result.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_lab::error::RunError;
use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::golden::{self, Change, GoldenError};
use evenkeel_lab::real::{Bed, BedRecord, BedSetup};
use evenkeel_lab::result::{RunResult, Verdict};
use evenkeel_lab::runner::{Plan, Progress, RunnerError, run};
use evenkeel_lab::{report, result};
use evenkeel_net::Clock;

const RANDOM: &str = r#"paper = "sigcomm"
figure = "figure 5"
caption = "A caption with <angle brackets>"
claim = "A claim."
seeds = 3
takes = "1s"

[scenario.loss-event-fraction]
loss = ["1%", "5%", "20%"]
packets = 2000
moderate_from = "1%"
moderate_to = "10%"

[[panel]]
curves = "measured"
x = "packets lost (share)"
y = "loss events per packet"

[[check]]
name = "largest_difference_pct_fair"
high = 10.0
source = "§3.5.1"
"#;

/// A folder of this test alone, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("evenkeel-lab-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("make a folder");
        Self(folder)
    }

    fn experiment(&self, id: &str, text: &str) -> Experiment {
        let file = self.0.join(format!("{id}.toml"));
        fs::write(&file, text).expect("write the experiment");
        Experiment::load(&file, &[]).expect("a sound experiment")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which clears its folder for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plan(experiments: Vec<Experiment>, out: &Path, threads: usize) -> Plan<'static> {
    Plan {
        experiments,
        seeds: None,
        out: out.to_owned(),
        commit: "0123456789ab".into(),
        command: "evenkeel lab run --all".into(),
        threads: NonZeroUsize::new(threads).expect("a thread"),
        resume: true,
        bed: None,
    }
}

fn go(plan: &Plan<'_>) -> (Vec<RunResult>, usize) {
    let mut finished = 0;
    let mut count = |progress: &Progress<'_>| finished += usize::from(progress.finished.is_some());
    let results = run(plan, Clock::start(), &AtomicBool::new(false), &mut count).expect("a run");
    (results, finished)
}

/// The report of these experiments.
fn written(out: &Path, experiments: &[Experiment]) -> String {
    let file = report::write(out, experiments).expect("the report");
    fs::read_to_string(file.expect("there are results")).expect("it can be read")
}

fn bytes(out: &Path, id: &str, file: &str) -> Vec<u8> {
    fs::read(out.join(id).join(file)).expect("a result")
}

#[test]
fn one_core_and_four_give_the_same_bytes() {
    let scratch = Scratch::new("cores");
    let experiment = scratch.experiment("random", RANDOM);
    let outs = [1, 4].map(|threads| {
        let out = scratch.0.join(threads.to_string());
        let (results, _) = go(&plan(vec![experiment.clone()], &out, threads));
        (out, results)
    });
    for file in ["figure.svg", "series.csv"] {
        assert_eq!(
            bytes(&outs[0].0, "random", file),
            bytes(&outs[1].0, "random", file)
        );
    }
    let [first, second] = outs.map(|(_, results)| RunResult {
        wall_s: 0.0,
        ..results[0].clone()
    });
    assert_eq!(
        serde_json::to_string(&first).unwrap(),
        serde_json::to_string(&second).unwrap()
    );
    // Three seeds, so every metric of a run has an interval.
    assert_eq!((first.seed, first.seeds), (1, 3));
}

#[test]
fn what_is_complete_is_not_run_again_unless_something_changed() {
    let scratch = Scratch::new("resume");
    let out = scratch.0.join("out");
    let experiment = scratch.experiment("random", RANDOM);
    let first = plan(vec![experiment], &out, 2);
    assert_eq!(go(&first).1, 1);
    let (results, ran) = go(&first);
    assert_eq!((results.len(), ran), (1, 0));
    fs::remove_file(out.join("random/series.csv")).unwrap();
    assert_eq!(go(&first).1, 1);

    let other_commit = Plan {
        commit: "ba9876543210".into(),
        ..first.clone()
    };
    assert_eq!(go(&other_commit).1, 1);
    let other_seeds = Plan {
        seeds: Some(2),
        ..other_commit.clone()
    };
    assert_eq!(go(&other_seeds).1, 1);
    let changed = scratch.experiment("random", &RANDOM.replace("2000", "2001"));
    assert_eq!(go(&plan(vec![changed], &out, 2)).1, 1);
    // A changed tree may be any tree.
    let dirty = Plan {
        commit: "0123456789ab-dirty".into(),
        ..first
    };
    assert_eq!((go(&dirty).1, go(&dirty).1), (1, 1));
}

#[test]
fn what_was_complete_at_an_interruption_is_kept_and_the_rest_is_run_later() {
    let scratch = Scratch::new("interrupt");
    let out = scratch.0.join("out");
    // One core begins with the shorter one.
    let experiments = vec![
        scratch.experiment("long", &RANDOM.replace("\"1s\"", "\"9s\"")),
        scratch.experiment("short", RANDOM),
    ];
    let plan = plan(experiments, &out, 1);
    let stop = AtomicBool::new(false);
    let ended = run(&plan, Clock::start(), &stop, &mut |progress| {
        if progress.finished.is_some() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(matches!(ended, Err(RunnerError::Interrupted)), "{ended:?}");
    assert!(result::load(&out, "short").is_some());
    assert!(result::load(&out, "long").is_none());
    let (results, ran) = go(&plan);
    let ids: Vec<&str> = results.iter().map(|result| result.id.as_str()).collect();
    assert_eq!((ids, ran), (vec!["long", "short"], 1));
}

#[test]
fn what_was_complete_of_a_long_experiment_at_an_interruption_is_kept_to_the_bit() {
    let scratch = Scratch::new("interrupt-inside");
    let long = scratch.experiment("long", &RANDOM.replace("\"1s\"", "\"20s\""));
    let short = scratch.experiment("short", &RANDOM.replace("\"1s\"", "\"19s\""));
    let interrupted = |plan: &Plan<'_>| {
        let stop = AtomicBool::new(false);
        let ended = run(plan, Clock::start(), &stop, &mut |progress| {
            stop.store(progress.done >= 4, Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(RunnerError::Interrupted)), "{ended:?}");
    };
    let out = scratch.0.join("out");
    let whole = plan(vec![long.clone()], &out, 1);
    // Neither what is soon run again, nor what another tree may have run.
    let dirty = Plan {
        commit: "0123456789ab-dirty".into(),
        ..whole.clone()
    };
    interrupted(&plan(vec![short], &out, 1));
    interrupted(&dirty);
    assert!(!out.join("short/runs").exists() && !out.join("long/runs").exists());

    interrupted(&whole);
    assert!(result::load(&out, "long").is_none());
    let mut kept = 0;
    for file in fs::read_dir(out.join("long/runs")).unwrap() {
        // Whoever goes on with it tells that it took so long.
        let file = file.unwrap().path();
        let mut run: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        run["took_s"] = 1e3.into();
        fs::write(&file, run.to_string()).unwrap();
        kept += 1;
    }
    assert!(kept >= 4, "{kept}");
    let resumed = go(&whole).0.remove(0);
    assert_eq!((resumed.wall_s / 1e3).floor(), f64::from(kept));
    assert!(!out.join("long/runs").exists());

    let at_once = scratch.0.join("at-once");
    let fresh = go(&plan(vec![long], &at_once, 1)).0.remove(0);
    for file in ["figure.svg", "series.csv"] {
        assert_eq!(bytes(&out, "long", file), bytes(&at_once, "long", file));
    }
    let [resumed, fresh] = [resumed, fresh].map(|result| {
        let untimed = RunResult {
            wall_s: 0.0,
            ..result
        };
        serde_json::to_string(&untimed).unwrap()
    });
    assert_eq!(resumed, fresh);
}

#[test]
fn the_report_has_every_result_and_tells_a_failure() {
    let scratch = Scratch::new("report");
    let out = scratch.0.join("out");
    let failing = RANDOM.replace("high = 10.0", "high = 0.001");
    let reason = "documented = \"the reason of {largest_difference_pct_fair}\"\nsource =";
    let notes = "notes = \"of {largest_difference_pct_fair}, {{so}}\"\nseeds";
    let excused = failing.replace("source =", reason).replace("seeds", notes);
    let question =
        "\n[[question]]\nasked = \"How far?\"\nanswer = \"By {largest_difference_pct_fair}.\"\n";
    let excused = excused + question;
    let experiments = vec![
        scratch.experiment("passes", RANDOM),
        scratch.experiment("fails", &failing),
        scratch.experiment("deviates", &excused),
    ];
    let plan = plan(experiments, &out, 2);
    let (results, _) = go(&plan);
    let verdicts: Vec<Verdict> = results.iter().map(RunResult::verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Pass, Verdict::Fail, Verdict::Documented]
    );
    let reason = results[2].checks[0].documented.as_deref().unwrap();
    let value = reason.strip_prefix("the reason of ").unwrap();
    assert!(value.parse::<f64>().unwrap() > 0.001);
    let page = written(&out, &plan.experiments);
    assert!(page.contains(
        "Experiments: 3. Checks: 3, of which pass: 1, documented deviations: 1, fail: 1."
    ));
    assert!(!page.contains("Seeds: "));
    assert!(page.contains(reason) && page.contains(&format!("<p>of {value}, {{so}}</p>")));
    assert!(page.contains(&format!("<h3>How far?</h3>\n<p>By {value}.</p>")));
    assert!(page.contains("&lt;angle brackets&gt;") && !page.contains("<angle brackets>"));
    assert_eq!(page.matches("<svg").count(), 3);
}

#[test]
fn a_report_of_other_seeds_than_the_files_says_so() {
    let scratch = Scratch::new("seeds");
    let out = scratch.0.join("out");
    let mut plan = plan(vec![scratch.experiment("e", RANDOM)], &out, 1);
    plan.seeds = Some(1);
    go(&plan);
    let page = written(&out, &plan.experiments);
    assert!(page.contains("Seeds: 1; what the text says of them is of the file’s 3."));
}

#[test]
fn a_folder_without_results_has_no_report() {
    let scratch = Scratch::new("nothing");
    let experiment = scratch.experiment("e", RANDOM);
    assert_eq!(report::write(&scratch.0, &[experiment]).unwrap(), None);
    assert!(!scratch.0.join("report.html").exists());
}

#[test]
fn a_real_half_stands_behind_the_virtual_one_with_the_simulators_values_beside_its_own() {
    let scratch = Scratch::new("halves");
    let out = scratch.0.join("out");
    let text = RANDOM.replace("[[panel]]", "[real]\nmoderate_to = \"4%\"\n\n[[panel]]");
    let experiment = scratch.experiment("e", &text);
    // The simulator stands in for the test bed.
    let halves = vec![experiment.real().unwrap().unwrap(), experiment.clone()];
    go(&plan(halves, &out, 1));
    let page = written(&out, &[experiment]);
    let sections = ["id=\"e\"", "id=\"e-real\""].map(|id| page.find(id).unwrap());
    assert!(sections[0] < sections[1]);
    assert!(page[sections[1]..].contains("<th>Test bed</th><th>Simulator</th>"));
    let (simulated, real) = page.split_at(sections[1]);
    let cells = |section: &str| {
        let row = section.split("</code></td><td>").nth(1).unwrap().to_owned();
        row.split("</td><td>")
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (simulated, real) = (cells(simulated), cells(real));
    assert_ne!(real[0], simulated[0]);
    assert_eq!(real[1..3], simulated[0..2]);
}

const WITHOUT_A_REPORT: &str = r#"paper = "sigcomm"
figure = "figure 19"
caption = "A loss that ends before the first report"
claim = "A claim."
takes = "1s"

[scenario.end-of-congestion]
rtt = "85ms"
packet = "1000B"
lost_one_in = 100
lead_in = "0s"
ends_at = "10ms"
until = "1s"

[[panel]]
curves = "rate"
x = "time (s)"
y = "rate"

[[check]]
name = "increase_starts_s"
high = 11.0
source = "figure 19"
"#;

#[test]
fn an_experiment_that_breaks_off_fails_and_the_others_go_on() {
    let scratch = Scratch::new("failed");
    let out = scratch.0.join("out");
    let experiments = vec![
        scratch.experiment("breaks", WITHOUT_A_REPORT),
        scratch.experiment("goes-on", RANDOM),
    ];
    let plan = plan(experiments, &out, 1);
    let (results, _) = go(&plan);
    let verdicts: Vec<Verdict> = results.iter().map(RunResult::verdict).collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass]);
    assert!(results[0].metrics.is_empty());
    let how = results[0].failed.as_deref().unwrap();
    let page = written(&out, &plan.experiments);
    assert!(page.contains(&format!("A run failed: {how}")), "{how}");
    // It is run again, the other is complete.
    assert_eq!(go(&plan).1, 1);
}

#[test]
fn what_is_drawn_or_checked_and_not_found_fails_the_experiment() {
    let scratch = Scratch::new("missing");
    for (from, to, told) in [
        (
            "curves = \"measured\"",
            "curves = \"measurd\"",
            "curves measurd: the scenario gives none of this name: the nearest is measured",
        ),
        (
            "largest_difference_pct_fair",
            "difference",
            "metric difference: the scenario gives none of this name",
        ),
        (
            "takes = \"1s\"",
            "takes = \"1s\"\nrequires = [\"largest_difference\", \"largest_step\"]",
            "metric largest_step: the scenario gives none of this name",
        ),
    ] {
        let experiment = scratch.experiment("e", &RANDOM.replace(from, to));
        let (results, _) = go(&plan(vec![experiment], &scratch.0.join("out"), 1));
        assert_eq!(results[0].failed.as_deref(), Some(told));
        assert_eq!(results[0].verdict(), Verdict::Fail);
    }
}

const TWICE: &str = r#"paper = "vod"
figure = "1"
caption = "A caption."
claim = "A claim."
takes = "1s"

[scenario.video-on-demand]
movies = ["slow"]
transports = ["udp"]
d2 = ["20ms", "20ms"]
buffers = [9]
tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = false }
variants = ["sack"]
streams = [1]
tcps = [0]
rate = "2Mb/s"
packet = "1344B"
pace = "even"
jitter = 0.0
measured = ["0s", "2s"]

[[panel]]
curves = "iplr_slow"
x = "d2 (ms)"
y = "IPLR"

[[check]]
name = "iplr_udp_slow_20ms"
high = 1.0
source = "ours"
"#;

#[test]
fn two_metrics_of_one_name_fail_the_experiment() {
    let scratch = Scratch::new("twice");
    let failed = |text: &str| {
        let experiment = scratch.experiment("e", text);
        let (results, _) = go(&plan(vec![experiment], &scratch.0.join("out"), 1));
        results[0].failed.clone()
    };
    let told = failed(TWICE).unwrap_or_default();
    assert!(told.contains("gives two of this name"), "{told}");
    assert_eq!(failed(&TWICE.replace("\"20ms\"]", "\"60ms\"]")), None);
}

#[test]
fn a_metric_that_moved_appeared_or_went_is_told_and_a_blessed_one_is_not() {
    let scratch = Scratch::new("golden");
    let experiment = scratch.experiment("random", RANDOM);
    let results = go(&plan(vec![experiment], &scratch.0.join("out"), 1)).0;
    let mut result = results.into_iter().next().unwrap();
    let folder = scratch.0.join("golden");
    assert!(matches!(
        golden::changes(&folder, &result),
        Err(GoldenError::Missing(_))
    ));
    result.metrics.insert("undefined".into(), None);
    result.metrics.insert("gone".into(), Some(1.5));
    golden::bless(&folder, &result).unwrap();
    assert_eq!(golden::changes(&folder, &result).unwrap(), []);

    result.metrics.remove("gone");
    result.metrics.insert("undefined".into(), Some(1.0));
    result.metrics.insert("new".into(), Some(2.0));
    let told: Vec<String> = golden::changes(&folder, &result)
        .unwrap()
        .iter()
        .map(Change::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "random new: golden no such metric, now 2",
            "random undefined: golden not defined, now 1",
            "random gone: golden 1.5, now no such metric",
        ]
    );
    // The last of six digits.
    let name = "largest_difference_pct_fair";
    let value = result.metrics[name].unwrap();
    result
        .metrics
        .insert(name.into(), Some(value * (1.0 + 1e-5)));
    assert_eq!(golden::changes(&folder, &result).unwrap().len(), 4);
}

#[test]
fn every_golden_result_is_that_of_an_experiment() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut read = 0;
    for entry in fs::read_dir(folder.join("golden")).unwrap() {
        let golden = entry.unwrap().path();
        let id = golden.file_stem().unwrap().to_str().unwrap();
        assert!(folder.join(format!("{id}.toml")).is_file(), "{id}");
        read += 1;
    }
    assert!(read > 0);
}

#[test]
fn every_experiment_of_the_repository_is_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut read = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let loaded = Experiment::load(&file, &[]);
            assert!(loaded.is_ok(), "{}", loaded.unwrap_err());
            read += 1;
        }
    }
    assert!(read > 0);
}

/// A text that quotes what no golden result has would fail its run, which may be long.
#[test]
fn every_text_quotes_metrics_of_the_golden_result() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut quotes = 0;
    for entry in fs::read_dir(folder.join("golden")).unwrap() {
        let golden = entry.unwrap().path();
        let id = golden.file_stem().unwrap().to_str().unwrap();
        let metrics: BTreeMap<String, Option<f64>> =
            serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
        let experiment = Experiment::load(&folder.join(format!("{id}.toml")), &[]).unwrap();
        for name in experiment.definition.quoted() {
            assert!(metrics.contains_key(name), "{id}: {name}");
            quotes += 1;
        }
    }
    assert!(quotes > 100, "{quotes}");
}

/// What stands beside a check that holds is no deviation: it is a reason that has gone out of date.
#[test]
fn no_check_that_the_golden_result_passes_has_an_excuse() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut stale = Vec::new();
    let mut checks = 0;
    for entry in fs::read_dir(folder.join("golden")).unwrap() {
        let golden = entry.unwrap().path();
        let id = golden.file_stem().unwrap().to_str().unwrap();
        let metrics: BTreeMap<String, Option<f64>> =
            serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
        let value = |name: &str| metrics.get(name).copied().flatten();
        let experiment = Experiment::load(&folder.join(format!("{id}.toml")), &[]).unwrap();
        // What is held to every seed cannot be told from means.
        let of_means = experiment
            .definition
            .checks
            .iter()
            .filter(|c| !c.every_seed);
        for check in of_means {
            let over = check.over.as_deref().map_or(Some(1.0), value);
            let Some((value, over)) = value(&check.name).zip(over) else {
                continue;
            };
            let value = value / over;
            let holds = check.low.is_none_or(|low| value >= low)
                && check.high.is_none_or(|high| value <= high);
            checks += 1;
            if holds && check.documented.is_some() {
                stale.push(format!("{id} {}: {value}", check.name));
            }
        }
    }
    assert!(checks > 500, "{checks}");
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

const TWO_CASES: &str = r#"paper = "evenkeel"
figure = "f"
caption = "c"
claim = "C."
takes = "1s"

[scenario.timeline]
packet = "1000B"
tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
start_spread = "0s"
jitter = 0.0
shown = ["0s", "2s"]
measured = ["1s", "2s"]
drawn = "1s"
ratio_timescales = []
group = [{ name = "TFRC", protocol = "tfrc", count = 1, start = "0s" }]
case = [
  { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
  { name = "b", rtt = "30ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
]

[real]

[[panel]]
curves = "cov"
x = "x"
y = "y"

[[check]]
name = "utilisation_b"
high = 1.0
source = "s"
"#;

/// A test bed that nothing ever crosses, and whose run with this number, from 0, is interrupted.
struct Empty {
    runs: AtomicUsize,
    interrupted: usize,
}

impl Bed for Empty {
    fn run(&self, setup: &BedSetup, _: &AtomicBool) -> Result<BedRecord, RunError> {
        if self.runs.fetch_add(1, Ordering::Relaxed) == self.interrupted {
            return Err(RunError::Interrupted);
        }
        Ok(BedRecord::new(setup))
    }
}

#[test]
fn a_test_bed_that_was_interrupted_goes_on_with_the_run_that_is_missing() {
    let scratch = Scratch::new("kept");
    let out = scratch.0.join("out");
    let real = scratch.experiment("e", TWO_CASES).real().unwrap().unwrap();
    let bed = Empty {
        runs: AtomicUsize::new(0),
        interrupted: 1,
    };
    let plan = |commit: &str| Plan {
        commit: commit.into(),
        resume: false,
        bed: Some(&bed),
        ..plan(vec![real.clone()], &out, 1)
    };
    let go = |plan: &Plan<'_>| run(plan, Clock::start(), &AtomicBool::new(false), &mut |_| ());
    let counted = || bed.runs.load(Ordering::Relaxed);
    assert!(matches!(go(&plan("c")), Err(RunnerError::Interrupted)));
    assert_eq!(counted(), 2);
    let results = go(&plan("c")).unwrap();
    assert_eq!((results[0].verdict(), counted()), (Verdict::Pass, 3));
    // Complete, it begins anew, and so does another source.
    go(&plan("c")).unwrap();
    assert_eq!(counted(), 5);
    bed.runs.store(0, Ordering::Relaxed);
    assert!(go(&plan("c")).is_err());
    go(&plan("other")).unwrap();
    assert_eq!(counted(), 4);
    // A changed tree is no source to count on.
    bed.runs.store(0, Ordering::Relaxed);
    assert!(go(&plan("c-dirty")).is_err());
    go(&plan("c-dirty")).unwrap();
    assert_eq!(counted(), 4);
}

/// It would tell nothing in its place.
#[test]
fn a_text_that_quotes_what_is_not_measured_fails_the_run() {
    let scratch = Scratch::new("quotes");
    let out = scratch.0.join("out");
    let reason = "documented = \"{largest_difference_pct_fare}\"\nsource =";
    let text = RANDOM.replace("source =", reason);
    let (results, _) = go(&plan(vec![scratch.experiment("e", &text)], &out, 1));
    let failed = results[0].failed.as_deref().unwrap();
    let told = "metric largest_difference_pct_fare: the scenario gives none of this name: the nearest is largest_difference_pct_fair";
    assert_eq!(failed, told);
}

/// Whoever kept them would read the same failure out of them again and again.
#[test]
fn runs_that_make_a_result_are_not_kept_if_it_lacks_a_metric() {
    let scratch = Scratch::new("kept-lacking");
    let out = scratch.0.join("out");
    let required = "takes = \"1s\"\nrequires = [\"no_such_metric\"]";
    let lacking = TWO_CASES.replace("takes = \"1s\"", required);
    let real = scratch.experiment("e", &lacking).real().unwrap().unwrap();
    let bed = Empty {
        runs: AtomicUsize::new(0),
        interrupted: usize::MAX,
    };
    let plan = Plan {
        bed: Some(&bed),
        ..plan(vec![real], &out, 1)
    };
    for runs in [2, 4] {
        let (results, _) = go(&plan);
        let failed = results[0].failed.as_deref().unwrap();
        assert!(failed.contains("no_such_metric"), "{failed}");
        assert_eq!(bed.runs.load(Ordering::Relaxed), runs);
        assert!(!out.join("e-real/runs").exists());
    }
}
