//! An interrupted plan keeps complete results and runs the rest later.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use evenkeel_lab::result::{self, RunResult};
use evenkeel_lab::runner::{Plan, RunnerError, run};
use evenkeel_net::Clock;

use super::{RANDOM, Scratch, bytes, go, plan};

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
