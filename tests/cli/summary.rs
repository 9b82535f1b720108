//! The summary of a run as JSON.

use super::*;

#[test]
fn standard_output_has_nothing_but_the_summary() {
    let recv = "recv 127.0.0.1:0 --plain --page 127.0.0.1:0 --seconds 1500ms --warmup 0";
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

#[test]
fn max_rate_bounds_what_is_allowed_and_sent() {
    for command in ["demo", "demo --policy thesis", "demo --both"] {
        let output = run(&format!(
            "{command} --headless --max-rate 400k --seconds 3 --warmup 1 --json -"
        ));
        let summary = json(&output);
        for key in ["x_mean_bps", "throughput_bps"] {
            let rate = summary[key].as_f64().expect("a rate");
            // A second's mean may have one frame more.
            assert!(rate > 0.0 && rate <= 440e3, "{command}: {key} is {rate}");
        }
    }
    refuses(
        "send 127.0.0.1:9 --plain --max-rate 1M --fixed-rate 2M",
        &["--fixed-rate", "--max-rate"],
    );
}

#[test]
fn two_way_demo_counts_frames_of_one_direction() {
    let output = run("demo --both --headless --seconds 3 --warmup 1 --json -");
    let summary = json(&output);
    for key in ["frames_captured", "frames_shown"] {
        let frames = summary[key].as_u64().expect("a count");
        // Two seconds have 50 frames, and a late process may catch up with one.
        assert!(frames <= 60, "{key}: {summary}");
    }
}

const LINES: [&str; 5] = ["rates", "frames", "delay", "network", "quality"];

/// Returns the names of the summary's lines in this text.
fn names(text: &str) -> Vec<&'static str> {
    let is_in = |name: &str| {
        text.lines()
            .any(|line| line.starts_with(&format!("{name} ")))
    };
    LINES.into_iter().filter(|name| is_in(name)).collect()
}

#[test]
fn demo_ends_with_five_lines_beside_json() {
    let said = |words: &str| {
        let output = run(words);
        [output.stdout, output.stderr].map(|bytes| names(&text(&bytes)))
    };
    let demo = "demo --headless --seconds 3 --warmup 1";
    assert_eq!(said(demo), [LINES.to_vec(), vec![]]);
    assert_eq!(said(&format!("{demo} --json -")), [vec![], LINES.to_vec()]);
}

/// No end of a call alone knows the delay from capture or the quality; who receives knows the longest gap.
#[test]
fn single_ends_end_with_what_they_know() {
    let (one, here) = taken_port();
    let (other, there) = taken_port();
    drop((one, other));
    let small = "--headless --size 160x120 --warmup 1 --seconds";
    let pairs = [
        (
            format!("recv {here} --plain --headless --warmup 1 --seconds 6"),
            format!("send {here} --plain {small} 5"),
        ),
        (
            format!("call {there} --plain --bind {here} {small} 6"),
            format!("call {here} --plain --bind {there} {small} 5"),
        ),
    ];
    for (first, second) in pairs {
        let running = program(&first)
            .stdout(Stdio::piped())
            .spawn()
            .expect("run the program");
        let ended = run(&second);
        let waited = running.wait_with_output().expect("its end");
        for (words, output) in [(first, waited), (second, ended)] {
            let said = text(&output.stdout);
            let known = match words.starts_with("send") {
                true => vec!["rates", "frames", "network"],
                false => vec!["rates", "frames", "delay", "network"],
            };
            assert_eq!(names(&said), known, "{words}: {said}");
        }
    }
}
