//! A test bed runs experiments in place of the simulator.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use evenkeel_lab::error::RunError;
use evenkeel_lab::real::{Bed, BedRecord, BedSetup};
use evenkeel_lab::result::Verdict;
use evenkeel_lab::runner::{Plan, RunnerError, run};
use evenkeel_net::Clock;

use super::{Scratch, go, plan};

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
