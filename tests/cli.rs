//! What the program says to a person who makes a mistake: one clear line, and exit status 2.

use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("run the program")
}

/// Status 2, and one line on standard error that contains each of `words`.
fn refuses(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?} said: {said}");
    assert_eq!(
        said.trim_end().lines().count(),
        1,
        "{arguments:?} said: {said}"
    );
    for word in words {
        assert!(
            said.contains(word),
            "{arguments:?} does not name {word}: {said}"
        );
    }
}

#[test]
fn absurd_numbers_are_named_with_their_option() {
    let cases: [(&[&str], &[&str]); 16] = [
        (&["demo", "--rate", "0"], &["--rate", "1k"]),
        (&["demo", "--rate", "fast"], &["--rate", "fast", "3M"]),
        (&["demo", "--rtt=-5ms"], &["--rtt", "-5ms"]),
        (
            &["demo", "--deadline", "5s"],
            &["--deadline", "5s", "20ms and 2s"],
        ),
        (
            &["send", "192.0.2.7", "--deadline", "-1ms"],
            &["--deadline", "-1ms", "20ms and 2s"],
        ),
        (
            &["call", "192.0.2.7", "--deadline", "soon"],
            &["--deadline", "soon", "150ms"],
        ),
        (&["demo", "--queue", "0p"], &["--queue", "0p"]),
        (&["demo", "--loss", "150%"], &["--loss", "150%"]),
        (&["demo", "--tcp", "9"], &["--tcp", "0..=8"]),
        (&["demo", "--fps", "0"], &["--fps", "29.97"]),
        (&["demo", "--size", "0x0"], &["--size", "0x0", "8192"]),
        (&["demo", "--size", "99999x2"], &["--size", "99999x2"]),
        (&["demo", "--seconds", "never"], &["--seconds", "never"]),
        (&["demo", "--page", "localhost"], &["--page", "localhost"]),
        (&["demo", "--colour"], &["--colour"]),
        (&["dance"], &["dance"]),
    ];
    for (arguments, words) in cases {
        refuses(arguments, words);
    }
}

#[test]
fn repair_packets_without_reports_about_them_are_refused_with_what_has_such() {
    let bounded = ["demo", "--headless", "--seconds", "1"];
    let arguments = [&bounded[..], &["--feedback", "sack", "--filler", "fec"]].concat();
    refuses(
        &arguments,
        &["--filler fec", "sack", "--feedback tfrc or twcc"],
    );
}

#[test]
fn random_loss_without_arrivals_is_refused() {
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &["demo", "--feedback", "tfrc"],
            &["--random-loss", "--feedback tfrc", "ccfb or twcc"],
        ),
        (
            &["send", "127.0.0.1:9", "--fixed-rate", "1M"],
            &["--random-loss", "--fixed-rate"],
        ),
        (
            &["demo", "--policy", "thesis"],
            &["--random-loss", "--policy thesis", "evenkeel"],
        ),
    ];
    for (arguments, words) in cases {
        let bounded = ["--headless", "--seconds", "1", "--random-loss"];
        refuses(&[arguments, &bounded].concat(), words);
    }
}

#[test]
fn a_test_that_cannot_be_is_named_with_its_option() {
    let client = ["perf", "client", "127.0.0.1"];
    let cases: [(&[&str], &[&str]); 22] = [
        (&["-u", "--packet-size", "500"], &["--udp", "--packet-size"]),
        (&["-t", "-1"], &["--time", "-1", "0.1"]),
        (&["-b", "-1M"], &["--bitrate", "-1M", "1k"]),
        (&["--burst", "-1ms"], &["--burst", "-1ms", "0 and 60 s"]),
        (
            &["--nofeedback-floor", "-1s"],
            &["--nofeedback-floor", "-1s", "0 and 60 s"],
        ),
        (&["-p", "abc"], &["--port", "abc", "65535"]),
        (&["-p", "0"], &["127.0.0.1", "port 0", "where it listens"]),
        (&["-l", "8k"], &["--length", "8k", "bytes"]),
        (&["-l", "-1"], &["--length", "-1", "bytes"]),
        (
            &["-i", "0.01"],
            &["--interval", "0.01", "0.1s", "0 for none"],
        ),
        (&["--burst", "250"], &["--burst", "seconds"]),
        (
            &["--trace", "/no-such-folder/x.csv"],
            &["/no-such-folder/x.csv", "there is no folder"],
        ),
        (
            &["--pcap", "/no-such-folder/x"],
            &["/no-such-folder/x", "there is no folder"],
        ),
        (&["-b", "fast"], &["--bitrate", "3M"]),
        (&["-u", "-b", "0"], &["--udp", "--bitrate"]),
        (&["-l", "9000"], &["--length", "8952"]),
        (&["-P", "0"], &["--parallel", "0"]),
        (&["-t", "0"], &["--time", "0.1"]),
        (&["--burst", "1s"], &["--burst", "100ms"]),
        (&["-R", "--bidir"], &["--reverse", "--bidir"]),
        (
            &["-u", "--session-bandwidth", "1M"],
            &["--udp", "--session-bandwidth"],
        ),
        (
            &["--session-bandwidth", "0.5"],
            &["--session-bandwidth", "1k"],
        ),
    ];
    for (arguments, words) in cases {
        refuses(&[&client, arguments].concat(), words);
    }
    refuses(&["perf", "server", "--max-flows", "0"], &["--max-flows"]);
    refuses(
        &[
            "link",
            "relay",
            "127.0.0.1:0",
            "127.0.0.1:9",
            "--rate",
            "-1M",
        ],
        &["--rate", "-1M", "1k"],
    );
    refuses(
        &["perf", "client", "no-such-host.invalid"],
        &["no-such-host.invalid"],
    );
}

#[test]
fn a_wrong_experiment_is_named_with_its_remedy() {
    refuses(&["lab", "run"], &["--all"]);
    refuses(&["lab", "run", "no-such"], &["no-such", "lab list"]);
    refuses(
        &["lab", "report", "--out", "src"],
        &["src", "lab run", "--out"],
    );
    refuses(
        &["lab", "run", "sigcom-fig9"],
        &["there is sigcomm-fig09", "lab list"],
    );
    refuses(
        &["lab", "run", "sigcomm-fig19", "--set", "rtt=200"],
        &["rtt=200", "50ms"],
    );
    refuses(
        &["lab", "run", "sigcomm-fig19", "--seeds", "0"],
        &["--seeds", "0"],
    );
    refuses(
        &["lab", "run", "sigcomm-a1", "--bless"],
        &["--golden <DIR>"],
    );
    // Told before anything is run.
    refuses(
        &["lab", "run", "sigcomm-a1", "--out", "Cargo.toml"],
        &["Cargo.toml", "--out"],
    );
    refuses(
        &["lab", "list", "--experiments", "no-such-folder"],
        &["no-such-folder", "--experiments"],
    );
}

#[test]
fn results_come_as_json_and_a_check_that_fails_is_status_1() {
    let out = std::env::temp_dir().join(format!("evenkeel-cli-{}", std::process::id()));
    let folder = out.to_string_lossy().into_owned();
    let lab = |more: &[&str]| {
        let output = run(&[
            &["lab", "run", "sigcomm-fig19", "--out", &folder, "--json"],
            more,
        ]
        .concat());
        let results: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("nothing but JSON");
        let count = results.as_array().map_or(0, Vec::len);
        assert_eq!(count, 1, "an experiment runs once");
        (output.status.code(), results[0].clone())
    };
    // Named twice.
    let (status, result) = lab(&["sigcomm-fig19"]);
    assert_eq!(status, Some(0));
    assert_eq!(result["id"], "sigcomm-fig19");
    // Far too little loss for the paper's figures.
    let (status, result) = lab(&["--set", "lost_one_in=1000"]);
    assert_eq!(status, Some(1), "{result}");
    assert_eq!(result["settings"][0], "lost_one_in=1000");
    std::fs::remove_dir_all(out).expect("remove the folder of this test");
}

#[test]
fn what_is_missing_is_named() {
    let headless = ["--headless", "--seconds", "1", "--warmup", "0"];
    refuses(
        &[&["demo", "--source", "no-such.y4m"], &headless[..]].concat(),
        &["no-such.y4m"],
    );
    refuses(
        &[&["demo", "--schedule", "no-such.txt"], &headless[..]].concat(),
        &["no-such.txt"],
    );
    refuses(
        &[&["demo", "--json", "no-such-folder/x.json"], &headless[..]].concat(),
        &["no-such-folder"],
    );
    refuses(
        &[&["demo", "--record", "no-such-folder/x.y4m"], &headless[..]].concat(),
        &["no-such-folder"],
    );
    refuses(
        &[
            &["recv", "127.0.0.1:0", "--sdp", "no-such.sdp"],
            &headless[..],
        ]
        .concat(),
        &["no-such.sdp"],
    );
    refuses(
        &[&["send", "not a host"], &headless[..]].concat(),
        &["not a host"],
    );
}

#[test]
fn link_trace_errors_name_option_file_and_format() {
    let headless = ["--headless", "--seconds", "1", "--warmup", "0"];
    let demo = |more: &[&'static str]| [&["demo"], more, &headless[..]].concat();
    refuses(
        &demo(&["--trace-link", "no-such.down"]),
        &["--trace-link no-such.down", "Mahimahi", "1500 bytes"],
    );
    refuses(
        &demo(&["--trace-link", "Cargo.toml"]),
        &["--trace-link Cargo.toml", "line 1", "Mahimahi"],
    );
    refuses(
        &demo(&["--trace-link", "experiments/steps.trace", "--rate", "3M"]),
        &["--trace-link", "--rate"],
    );
    let relay = |rate| {
        [
            "link",
            "relay",
            "127.0.0.1:0",
            "127.0.0.1:9",
            "--rate",
            rate,
        ]
    };
    refuses(
        &relay("trace:no-such.down"),
        &["--rate trace:no-such.down", "Mahimahi"],
    );
    refuses(&relay("trace:"), &["--rate", "trace:FILE"]);
    refuses(&relay("fast"), &["--rate", "3M", "trace:FILE"]);
}

#[test]
fn demo_and_relay_follow_a_link_trace() {
    let output = run(&[
        "demo",
        "--trace-link",
        "experiments/steps.trace",
        "--headless",
        "--seconds",
        "1",
        "--warmup",
        "0",
        "--json",
        "-",
    ]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one summary");
    let trace = std::fs::read_to_string("experiments/steps.trace").expect("read the trace");
    let millis: Vec<f64> = trace.lines().filter_map(|line| line.parse().ok()).collect();
    let mean = millis.len() as f64 * 12e6 / millis[millis.len() - 1];
    let told = summary["link_mean_bps"].as_f64().expect("a rate");
    assert!((told / mean - 1.0).abs() < 1e-6, "{told}, not {mean}");
    let relay = [
        "link",
        "relay",
        "127.0.0.1:0",
        "127.0.0.1:9",
        "--rate",
        "trace:experiments/steps.trace",
        "--seconds",
        "0.1",
        "--json",
    ];
    assert_eq!(run(&relay).status.code(), Some(0));
}

#[test]
fn what_the_conformance_suite_cannot_do_is_named() {
    refuses(&["conform", "--only", "B.9"], &["--only", "B.9", "--list"]);
    refuses(
        &["conform", "--receiver", "nowhere"],
        &["nowhere", "HOST:PORT"],
    );
    refuses(&["conform", "--rfc", "793"], &["--rfc", "793"]);
    refuses(&["conform", "--packet-size", "800"], &["--sender"]);
    refuses(&["conform", "--role", "sender"], &["--peer"]);
}

#[test]
fn a_summary_on_standard_output_has_it_for_itself() {
    let output = run(&[
        "recv",
        "127.0.0.1:0",
        "--page",
        "127.0.0.1:0",
        "--seconds",
        "1500ms",
        "--warmup",
        "0",
        "--json",
        "-",
    ]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("page: http://"), "it said: {said}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["frames_shown"], 0);
    // What playout aims at; this end has no sender whose deadline could be in force.
    assert_eq!(summary["deadline_ms"], 150.0);
    assert!(summary["deadline_in_force_ms"].is_null());
}

#[test]
fn demo_summary_has_configured_and_present_deadline() {
    struct Row {
        deadline: &'static str,
        configured_ms: f64,
        is_stretched: bool,
    }
    for row in [
        Row {
            deadline: "300ms",
            configured_ms: 300.0,
            is_stretched: false,
        },
        Row {
            deadline: "20ms",
            configured_ms: 20.0,
            is_stretched: true,
        },
    ] {
        let output = run(&[
            "demo",
            "--headless",
            "--seconds",
            "1500ms",
            "--json",
            "-",
            "--deadline",
            row.deadline,
        ]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "it said: {said}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(summary["deadline_ms"], row.configured_ms);
        let present = summary["deadline_in_force_ms"].as_f64().expect("a sender");
        assert_eq!(present > row.configured_ms, row.is_stretched, "{summary}");
        assert!(
            row.is_stretched || present == row.configured_ms,
            "{summary}"
        );
    }
}

/// What the first report says owes nothing to how late any timer is.
#[test]
fn a_check_passes_between_two_processes() {
    let output = run(&["conform", "--only", "B.2.1-5", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "it said: {said}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let check = &result["checks"][0];
    assert_eq!(check["id"], "B.2.1-5");
    assert_eq!(
        (&check["pass"], &check["value"]),
        (&true.into(), &0.0.into())
    );
}

/// So that none outlives the suite, however that ends.
#[test]
fn an_implementation_ends_when_its_standard_input_does() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["conform", "--role", "receiver"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run the program");
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("wait for the program");
    assert_eq!(output.status.code(), Some(0));
    let address = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(address.starts_with("127.0.0.1:"), "it said {address}");
}

#[test]
fn the_list_of_checks_has_the_57_of_the_thesis() {
    let output = run(&["conform", "--list"]);
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        list.lines().filter(|line| line.starts_with("B.")).count(),
        57
    );
}

#[test]
fn a_file_that_is_no_video_is_refused() {
    let path = std::env::temp_dir().join(format!("evenkeel-cli-{}.y4m", std::process::id()));
    std::fs::write(&path, "this is no video").expect("write a file");
    let name = path.to_str().expect("a plain path");
    refuses(
        &["demo", "--source", name, "--headless", "--seconds", "1"],
        &[name],
    );
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_picture_size_that_rtp_cannot_carry_is_refused_with_one_that_it_can_and_that_does_not_distort()
{
    let headless = ["--headless", "--seconds", "1"];
    refuses(
        &[&["demo", "--size", "850x479"], &headless[..]].concat(),
        &["850x479", "--size 848x480"],
    );
    refuses(
        &[&["demo", "--size", "2041x480"], &headless[..]].concat(),
        &["--size 2041x480", "width is 2041", "2040"],
    );
    let path = std::env::temp_dir().join(format!("evenkeel-size-{}.y4m", std::process::id()));
    let name = path.to_str().expect("a plain path");
    let cases = [
        ("mjpeg", "W2560 H1440", ["2560x1440", "--size 1920x1080"]),
        ("raw", "W4000 H3000", ["4000x3000", "--size 2880x2160"]),
        ("h264", "W4000 H3000", ["4000x3000", "--size 2880x2160"]),
    ];
    for (codec, sides, words) in cases {
        std::fs::write(&path, format!("YUV4MPEG2 {sides} F25:1\n")).expect("write a file");
        let picture = ["--codec", codec, "--source", name];
        for command in [&["demo"][..], &["send", "127.0.0.1:9"]] {
            let arguments = [command, &picture, &headless].concat();
            refuses(&arguments, &[&[name], &words[..]].concat());
        }
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_source_that_breaks_ends_the_run_and_is_named() {
    let path = std::env::temp_dir().join(format!("evenkeel-cut-{}.y4m", std::process::id()));
    let mut cut = b"YUV4MPEG2 W16 H16 F25:1\nFRAME\n".to_vec();
    cut.resize(cut.len() + 384, 128);
    cut.extend(b"FRAME\nno picture");
    std::fs::write(&path, cut).expect("write a file");
    let name = path.to_str().expect("a plain path");
    for ways in [&[][..], &["--both"]] {
        let output = run(&[&["demo", "--headless", "--source", name], ways].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(said.contains(name), "{said}");
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn what_is_written_does_not_empty_what_is_read() {
    let path = std::env::temp_dir().join(format!("evenkeel-own-{}.y4m", std::process::id()));
    std::fs::write(&path, grey(2)).expect("write a file");
    let name = path.to_str().expect("a plain path");
    for option in ["--record", "--json", "--trace"] {
        let demo = ["demo", "--headless", "--source", name, option, name];
        refuses(&demo, &[option, "--source", name]);
    }
    let send = ["send", "127.0.0.1:9", "--headless", "--seconds", "1"];
    let own = ["--source", name, "--sdp", name];
    refuses(&[&send[..], &own].concat(), &["--sdp", "--source", name]);
    assert_eq!(std::fs::read(&path).expect("the source"), grey(2));

    let text = "0, 1M, 20ms, 0\n";
    std::fs::write(&path, text).expect("write a file");
    let demo = ["demo", "--headless", "--schedule", name, "--json", name];
    refuses(&demo, &["--json", "--schedule", name]);
    for option in ["--record", "--json", "--trace"] {
        let recv = ["recv", "127.0.0.1:0", "--headless"];
        let own = ["--sdp", name, option, name];
        refuses(&[&recv[..], &own].concat(), &[option, "--sdp", name]);
    }
    let serve = ["vod", "serve", "--to", "127.0.0.1:9", "--sdp", name];
    refuses(&[&serve[..], &[name]].concat(), &["--sdp", "FILE", name]);
    let of_trace = [&serve[..], &["--trace", name]].concat();
    refuses(&of_trace, &["--sdp", "--trace", name]);
    let left = std::fs::read_to_string(&path).expect("what is read");
    assert_eq!(left, text);
    let _ = std::fs::remove_file(&path);
}

/// As a run that made it may have left it.
#[test]
fn a_file_that_is_called_as_the_built_in_scene_is_may_be_written() {
    let folder = std::env::temp_dir().join(format!("evenkeel-scene-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("scene"), "the last run").expect("write a file");
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["demo", "--headless", "--seconds", "0.5", "--warmup", "0"])
        .args(["--size", "160x120", "--json", "scene"])
        .current_dir(&folder)
        .output()
        .expect("run the program");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = std::fs::read_to_string(folder.join("scene")).expect("the summary");
    assert!(text.starts_with('{'), "{text}");
    std::fs::remove_dir_all(folder).expect("remove the folder of this test");
}

#[test]
fn a_source_without_a_picture_is_told() {
    let path = std::env::temp_dir().join(format!("evenkeel-none-{}.y4m", std::process::id()));
    std::fs::write(&path, grey(0)).expect("write a file");
    let name = path.to_str().expect("a plain path");
    let output = run(&["demo", "--headless", "--source", name]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("--source") && said.contains(name), "{said}");
    let _ = std::fs::remove_file(&path);
}

/// A stream of grey pictures of 16x16, at 25 a second.
fn grey(pictures: usize) -> Vec<u8> {
    let picture = [b"FRAME\n".as_slice(), &[128; 384]].concat();
    [b"YUV4MPEG2 W16 H16 F25:1\n", &*picture.repeat(pictures)].concat()
}

#[test]
fn a_source_that_changes_its_size_ends_the_run_and_leaves_a_recording_whole() {
    let [source, record] = ["grows", "record"].map(|name| {
        let name = format!("evenkeel-{name}-{}.y4m", std::process::id());
        std::env::temp_dir().join(name)
    });
    let mut grows = grey(25);
    grows.extend(b"YUV4MPEG2 W32 H16 F25:1\n");
    std::fs::write(&source, grows).expect("write a file");
    let [from, to] = [&source, &record].map(|path| path.to_str().expect("a plain path"));
    let output = run(&["demo", "--headless", "--source", from, "--record", to]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(said.contains("--source") && said.contains("W32"), "{said}");
    let recorded = std::fs::read(&record).expect("a recording");
    let header = recorded.iter().position(|byte| *byte == b'\n');
    let pictures = recorded.len() - header.expect("a header") - 1;
    assert_eq!(pictures % (b"FRAME\n".len() + 384), 0, "{pictures} bytes");
    assert!(pictures > 0);
    let _ = (std::fs::remove_file(&source), std::fs::remove_file(&record));
}

/// Who opens a pipe waits for its writer.
#[test]
fn a_pipe_that_nobody_writes_to_holds_up_neither_the_end_of_the_run_nor_ctrl_c() {
    let pipe = std::env::temp_dir().join(format!("evenkeel-mute-{}.y4m", std::process::id()));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let name = pipe.to_str().expect("a plain path");
    let demo = ["demo", "--headless", "--source", name];
    refuses(
        &[&demo[..], &["--seconds", "0.5"]].concat(),
        &[name, "--seconds"],
    );
    refuses(&[&demo[..], &["--both"]].concat(), &[name, "--both"]);
    let waiting = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(demo)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run the program");
    let id = waiting.id().to_string();
    let sent = Command::new("bash").args(["-c", INTERRUPT, &id]).status();
    let interrupted = waiting.wait_with_output().expect("its end");
    assert!(sent.is_ok_and(|status| status.success()), "it did not end");
    let _ = std::fs::remove_file(&pipe);
    let said = String::from_utf8_lossy(&interrupted.stderr).into_owned();
    assert_eq!(interrupted.status.code(), Some(130), "{said}");
    assert!(said.contains(name) && said.lines().count() == 1, "{said}");
}

/// Interrupts a process once it catches the signal, and waits for its end, twenty seconds each: how soon it is there is a
/// matter of the machine.
const INTERRUPT: &str = r#"
until_it() { for _ in $(seq 400); do "$@" && return; sleep 0.05; done; kill -s KILL "$id"; exit 1; }
catches() { (( 0x$(sed -n 's/^SigCgt:\t//p' "/proc/$id/status") & 1 << 1 )); }
has_ended() { grep -q '^State:.Z' "/proc/$id/status"; }
id=$0; until_it catches; kill -s INT "$id"; until_it has_ended
"#;

/// A camera may hang, and a pipe's writer may.
#[test]
fn a_source_that_falls_silent_does_not_hold_up_the_end_of_the_run() {
    let pipe = std::env::temp_dir().join(format!("evenkeel-pipe-{}.y4m", std::process::id()));
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let name = pipe.to_str().expect("a plain path");
    // Ten times what it takes: a program that waits for the 26th picture does so for ever.
    let demo = Command::new("timeout")
        .args(["20", env!("CARGO_BIN_EXE_evenkeel"), "demo", "--headless"])
        .args(["--source", name, "--seconds", "2"])
        .args(["--warmup", "0", "--json", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run the program");
    // With a reader of its own it opens whatever becomes of the program.
    let mut writer = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&pipe)
        .expect("the other end of the pipe");
    std::io::Write::write_all(&mut writer, &grey(25)).expect("write to the pipe");
    let output = demo.wait_with_output().expect("wait for the program");
    drop(writer);
    let _ = std::fs::remove_file(&pipe);
    assert_eq!(output.status.code(), Some(0), "124 is that of timeout");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(summary["frames_shown"].as_u64() > Some(10), "{summary}");
    assert_eq!(summary["frames_frozen"], 0, "{summary}");
}

#[test]
fn a_disk_that_is_full_ends_the_run() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    // The second run shows so little that a buffer of the usual size would hold all of it until the end.
    let runs: [&[&str]; 2] = [
        &["--seconds", "60", "--size", "160x120"],
        &["--seconds", "1.5", "--size", "16x16", "--fps", "8"],
    ];
    for more in runs {
        let full = ["demo", "--headless", "--record", "/dev/full"];
        let output = run(&[&full[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
        assert!(said.contains("cannot write --record /dev/full"), "{said}");
    }
    for option in ["--json", "--trace"] {
        let full = ["demo", "--headless", "--seconds", "1", "--warmup", "0"];
        let output = run(&[&full[..], &[option, "/dev/full"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let named = format!("cannot write {option} /dev/full");
        assert!(said.contains(&named), "{said}");
    }
}

#[test]
fn a_capture_that_cannot_be_written_does_not_cost_the_results() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("its address").port().to_string();
    drop(free);
    let mut server = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["perf", "server", "-1", "-B", "127.0.0.1", "-p", &port])
        .stdout(Stdio::null())
        .spawn()
        .expect("run the server");
    // It asks again until the server is there.
    let output = run(&[
        "perf",
        "client",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "0.2",
        "-b",
        "1M",
        "--pcap",
        "/dev/full",
    ]);
    let _ = server.kill();
    let _ = server.wait();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(told.contains("  receiver"), "{told}");
    assert!(said.contains("capture"), "{said}");
}

#[test]
fn a_router_without_its_interfaces_leaves_the_files_of_the_last_run() {
    let folder = std::env::temp_dir().join(format!("evenkeel-router-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let files = ["log", "pcapng"].map(|name| folder.join(name));
    for file in &files {
        std::fs::write(file, "the last run").expect("a file");
    }
    let names = files
        .each_ref()
        .map(|file| file.to_str().expect("a plain path"));
    refuses(
        &[
            "link", "router", "nosuch0", "nosuch1", "--log", names[0], "--pcap", names[1],
        ],
        &[],
    );
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a file");
        assert_eq!(text, "the last run");
    }
    std::fs::remove_dir_all(folder).expect("remove the folder of this test");
}

#[test]
fn a_summary_that_would_be_of_nothing_is_refused_with_both_times() {
    for command in [
        &["demo"][..],
        &["recv", "127.0.0.1:0"],
        &["send", "127.0.0.1:9"],
        &["call", "127.0.0.1:9", "--bind", "127.0.0.1:0"],
    ] {
        let run = ["--headless", "--seconds", "2", "--warmup", "2"];
        refuses(&[command, &run].concat(), &["--warmup 2", "--seconds 2"]);
    }
}

#[test]
fn what_is_no_port_is_named() {
    for arguments in [
        &["send", "127.0.0.1:99999"][..],
        &["send", "localhost:http"],
        &["call", "[::1]:65536"],
        &["recv", "127.0.0.1:99999"],
        &["demo", "--page", "127.0.0.1:99999"],
    ] {
        refuses(arguments, &["port ", "is no number", "65535"]);
    }
}

#[test]
fn a_description_that_is_none_is_named_with_what_is_missing() {
    let path = std::env::temp_dir().join(format!("evenkeel-none-{}.sdp", std::process::id()));
    let name = path.to_str().expect("a plain path");
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (b"\xff\xfe", "it is no text"),
        (b"hello", "line 1"),
        (b"v=0\r\n", "no origin"),
    ] {
        std::fs::write(&path, bytes).expect("write a file");
        let recv = ["recv", "127.0.0.1:0", "--headless", "--sdp", name];
        refuses(&recv, &["--sdp", name, why, "evenkeel send --sdp"]);
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_sender_that_nobody_answers_ends_and_names_whom_it_waited_for() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let peer = silent.local_addr().expect("its address").to_string();
    let send = ["send", &peer, "--headless", "--size", "160x120"];
    let output = run(&[&send[..], &["--give-up", "1s", "--seconds", "60"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in [&peer[..], "1s (--give-up)", "evenkeel recv"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_busy_port_is_named_with_its_remedy() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    refuses(
        &["recv", &address, "--headless", "--seconds", "1"],
        &[&address, "in use", "another port"],
    );
    for command in [&["send", "127.0.0.1:9"][..], &["call", "127.0.0.1:9"]] {
        let bound = ["--headless", "--seconds", "1", "--bind", &address];
        let words = ["--bind", &address, "in use", "another port"];
        refuses(&[command, &bound].concat(), &words);
    }
    let words = ["--bind", &address, "in use", "another port"];
    refuses(
        &["conform", "--only", "B.2.1-1", "--bind", &address],
        &words,
    );
    let relay = ["link", "relay", "--seconds", "1"];
    refuses(
        &[&relay[..], &[&address, "127.0.0.1:9"]].concat(),
        &["LISTEN", &address, "in use", "another port"],
    );
    refuses(
        &[
            &relay[..],
            &["127.0.0.1:0", "127.0.0.1:9", "--from", &address],
        ]
        .concat(),
        &["--from", &address, "in use", "another port"],
    );

    let taken = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    refuses(
        &["perf", "server", "--port", &port],
        &["--port", &port, "in use", "another port"],
    );

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    refuses(
        &["demo", "--page", &address, "--seconds", "1"],
        &[&address, "--page"],
    );
}

#[test]
fn a_player_that_does_not_begin_leaves_the_file_as_it_is() {
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    let file = std::env::temp_dir().join(format!("evenkeel-play-{}.ts", std::process::id()));
    std::fs::write(&file, "the last title").expect("a file");
    let out = file.to_str().expect("a name in UTF-8");
    refuses(
        &["vod", "play", &address, "--out", out],
        &[&address, "in use"],
    );
    let text = std::fs::read_to_string(&file).expect("the file");
    assert_eq!(text, "the last title");
    std::fs::remove_file(file).expect("remove the file of this test");
}

#[test]
fn a_peer_at_port_0_is_refused() {
    let cases: [&[&str]; 3] = [
        &["send", "127.0.0.1:0", "--headless", "--seconds", "1"],
        &["call", "[::1]:0", "--headless", "--seconds", "1"],
        &["vod", "serve", "title.ts", "--to", "127.0.0.1:0"],
    ];
    for arguments in cases {
        refuses(arguments, &[":0'", "port 0", "where it listens"]);
    }
}

#[test]
fn every_codec_is_listed() {
    let output = run(&["demo", "--codec", "list"]);
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    let payloads = listed.lines().filter_map(|line| line.split("RFC ").nth(1));
    let said: Vec<_> = names.zip(payloads.map(|said| &said[..4])).collect();
    let expected = [
        ("mjpeg", "2435"),
        ("raw", "4175"),
        ("h264", "6184"),
        ("dv", "6469"),
    ];
    assert_eq!(said, expected);
}

/// As `evenkeel lab list | head -1` is.
#[test]
fn output_that_nobody_reads_is_one_line_of_error() {
    for arguments in [&["lab", "list"][..], &["demo", "--codec", "list"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .expect("run the program");
        let output = child.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("standard output"), "{said}");
    }
}
