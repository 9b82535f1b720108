//! An experiment fails if a run breaks off or a metric is missing, ambiguous or quoted in vain.

use evenkeel_lab::result::{RunResult, Verdict};

use super::{RANDOM, Scratch, go, plan, written};

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
    for (from, to, expected) in [
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
        assert_eq!(results[0].failed.as_deref(), Some(expected));
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
source = "Evenkeel"
"#;

#[test]
fn two_metrics_of_one_name_fail_the_experiment() {
    let scratch = Scratch::new("twice");
    let failed = |text: &str| {
        let experiment = scratch.experiment("e", text);
        let (results, _) = go(&plan(vec![experiment], &scratch.0.join("out"), 1));
        results[0].failed.clone()
    };
    let message = failed(TWICE).unwrap_or_default();
    assert!(message.contains("gives two of this name"), "{message}");
    assert_eq!(failed(&TWICE.replace("\"20ms\"]", "\"60ms\"]")), None);
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
    let expected = "metric largest_difference_pct_fare: the scenario gives none of this name: the nearest is largest_difference_pct_fair";
    assert_eq!(failed, expected);
}
