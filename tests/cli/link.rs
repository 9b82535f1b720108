//! Traces that an emulated link replays.

use super::*;

const TRACE: &str = "experiments/steps.trace";
const SHORT: &str = "--headless --seconds 1 --warmup 0";

#[test]
fn link_trace_errors_name_option_file_and_format() {
    refuses(
        &format!("demo --trace-link no-such.down {SHORT}"),
        &["--trace-link no-such.down", "Mahimahi", "1500 bytes"],
    );
    refuses(
        &format!("demo --trace-link Cargo.toml {SHORT}"),
        &["--trace-link Cargo.toml", "line 1", "Mahimahi"],
    );
    refuses(
        &format!("demo --trace-link {TRACE} --rate 3M {SHORT}"),
        &["--trace-link", "--rate"],
    );
    let relay = "link relay 127.0.0.1:0 127.0.0.1:9 --rate";
    refuses(
        &format!("{relay} trace:no-such.down"),
        &["--rate trace:no-such.down", "Mahimahi"],
    );
    refuses(&format!("{relay} trace:"), &["--rate", "trace:FILE"]);
    refuses(&format!("{relay} fast"), &["--rate", "3M", "trace:FILE"]);
    refuses(&format!("{relay} -1M"), &["--rate", "-1M", "1k"]);
}

#[test]
fn demo_and_relay_follow_a_link_trace() {
    let summary = json(&run(&format!("demo --trace-link {TRACE} {SHORT} --json -")));
    let trace = fs::read_to_string(TRACE).expect("read the trace");
    let millis: Vec<f64> = trace.lines().filter_map(|line| line.parse().ok()).collect();
    let mean = millis.len() as f64 * 12e6 / millis[millis.len() - 1];
    let shown = summary["link_mean_bps"].as_f64().expect("a rate");
    assert!((shown / mean - 1.0).abs() < 1e-6, "{shown}, not {mean}");
    let relay = format!("link relay 127.0.0.1:0 127.0.0.1:9 --rate trace:{TRACE}");
    let output = run(&format!("{relay} --seconds 0.1 --json"));
    assert_eq!(output.status.code(), Some(0));
}
