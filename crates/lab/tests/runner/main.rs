//! Whole experiments, from file to result.

mod bed;
mod failure;
mod golden;
mod report;
mod repository;
mod resume;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use evenkeel_lab::experiment::Experiment;
use evenkeel_lab::result::RunResult;
use evenkeel_lab::runner::{Plan, Progress, run};
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
    let file = evenkeel_lab::report::write(out, experiments).expect("the report");
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
