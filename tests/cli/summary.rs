//! The summary of a run as JSON.

use super::*;

#[test]
fn standard_output_has_nothing_but_the_summary() {
    let recv = "recv 127.0.0.1:0 --page 127.0.0.1:0 --seconds 1500ms --warmup 0";
    let output = run(&format!("{recv} --json -"));
    let said = text(&output.stderr);
    assert!(said.contains("page: http://"), "it said: {said}");
    let summary = json(&output);
    assert_eq!(summary["frames_shown"], 0);
    // The deadline of playout; this end has no sender whose deadline could be in force.
    assert_eq!(summary["deadline_ms"], 150.0);
    assert!(summary["deadline_in_force_ms"].is_null());
}

#[test]
fn demo_summary_has_configured_and_present_deadline() {
    for (configured, is_stretched) in [(300.0, false), (20.0, true)] {
        let demo = "demo --headless --seconds 1500ms --json -";
        let output = run(&format!("{demo} --deadline {configured}ms"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "it said: {said}");
        let summary = json(&output);
        assert_eq!(summary["deadline_ms"], configured);
        let present = summary["deadline_in_force_ms"].as_f64().expect("a sender");
        assert!(present >= configured, "{summary}");
        assert_eq!(present > configured, is_stretched, "{summary}");
    }
}
