//! The test bed, for real: kernels' TCP and TFRC over the emulated link. As root, with iproute2 and iperf3.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Running, Scratch, evenkeel, pause};

/// The metrics of a result.
fn metrics(out: &Path, id: &str) -> serde_json::Value {
    let text = fs::read_to_string(out.join(id).join("result.json")).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(result["failed"].is_null(), "{}", result["failed"]);
    result["metrics"].clone()
}

fn value(metrics: &serde_json::Value, name: &str) -> f64 {
    metrics[name]
        .as_f64()
        .unwrap_or_else(|| panic!("no metric {name}"))
}

fn interfaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").expect("interfaces");
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

fn is_running(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find(|line| line.starts_with("State:"));
    state.is_some_and(|state| !state.contains('Z'))
}

#[test]
fn tfrc_shares_an_emulated_link_with_the_kernels_tcp() {
    let scratch = Scratch::new("testbed-share");
    let out = scratch.file("out");
    let ended = evenkeel(&["testbed", "run", "sigcomm-fig15", "--out"])
        .arg(&out)
        .args([
            "--set",
            r#"measured=["5s","20s"]"#,
            "--set",
            r#"shown=["0s","20s"]"#,
        ])
        .stdout(Stdio::null())
        .status();
    // Twenty seconds say little of fairness: its checks may fail, its runs may not.
    let code = ended.expect("the program").code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let metrics = metrics(&out, "sigcomm-fig15-real");
    // Both bounds are of a run that worked: half the link is used where one of the two never started, and a ratio of five
    // is beyond any cell beside Reno of the fairness matrix. How well they share is for the minutes of `fairness-*`.
    let used = value(&metrics, "utilisation_transatlantic");
    assert!((0.5..=1.01).contains(&used), "utilisation {used}");
    let ratio = value(&metrics, "tfrc_over_tcp_transatlantic");
    assert!((0.2..=5.0).contains(&ratio), "TFRC over TCP {ratio}");
    for how_late in [
        "late_p99_us_transatlantic",
        "sender_late_max_us_transatlantic",
    ] {
        value(&metrics, how_late);
    }
}

/// A sender of TFRC that computes p itself, from RFC 8888's reports, beside the kernel's TCP.
#[test]
fn tfrc_by_reports_of_arrivals_shares_an_emulated_link_with_the_kernels_tcp() {
    let scratch = Scratch::new("testbed-ccfb");
    let out = scratch.file("out");
    let mark = format!("{}-ccfb", std::process::id());
    let groups = r#"group=[{ name = "TFRC", protocol = "tfrc", feedback = "ccfb", count = 1, start = "0s" },
        { name = "TCP", protocol = "tcp", count = 3, start = "0s" }]"#;
    let mut command = evenkeel(&["testbed", "run", "sigcomm-fig15", "--out"]);
    command.arg(&out).env(MARK, &mark).stdout(Stdio::null());
    for setting in [groups, r#"measured=["5s","17s"]"#, r#"shown=["0s","17s"]"#] {
        command.args(["--set", setting]);
    }
    let mut running = Running::start(&mut command);
    // The programs of the run say what they were told: a result does not.
    let is_wanted = |pid: u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<_> = words.split(|byte| *byte == 0).collect();
        let [feedback, ccfb] = ["--feedback", "ccfb"].map(str::as_bytes);
        words.windows(2).any(|pair| pair == [feedback, ccfb])
    };
    let is_ccfb = (0..200).any(|_| {
        pause(Duration::from_millis(50));
        marked(&mark).into_iter().any(is_wanted)
    });
    assert!(is_ccfb, "no sender with --feedback ccfb");
    let code = running.wait(60).code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let metrics = metrics(&out, "sigcomm-fig15-real");
    // As above: bounds of a run that worked.
    let used = value(&metrics, "utilisation_transatlantic");
    let ratio = value(&metrics, "tfrc_over_tcp_transatlantic");
    println!("ccfb: {used} of the link, {ratio} of TCP's rate");
    assert!((0.5..=1.01).contains(&used), "utilisation {used}");
    assert!((0.2..=5.0).contains(&ratio), "TFRC over TCP {ratio}");
}

/// Video on demand between two hosts, every cell at once. Seconds say little of what the experiment checks: how late
/// packets are says that a player had them, by TFRC and by UDP.
#[test]
fn movies_are_served_over_emulated_links_and_their_players_count_what_comes() {
    let scratch = Scratch::new("testbed-vod");
    let out = scratch.file("out");
    let ended = evenkeel(&["testbed", "run", "vod-tab1", "--threads", "16", "--out"])
        .arg(&out)
        .args(["--set", r#"measured=["0s","6s"]"#])
        .stdout(Stdio::null())
        .status();
    let code = ended.expect("the program").code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let metrics = metrics(&out, "vod-tab1-real");
    for movie in ["slow", "fast"] {
        for transport in ["tfrc", "udp"] {
            let of = |what| {
                value(
                    &metrics,
                    &format!("{what}_{transport}_{movie}_20ms_100pkts"),
                )
            };
            let [lost, late] = ["iplr", "iptd_mean_s"].map(of);
            println!("{movie} by {transport}: {lost} lost, {late} s late");
            assert!((0.0..0.5).contains(&lost), "{lost}");
            assert!((0.02..5.0).contains(&late), "{late}");
        }
    }
}

/// How far the rate falls says more of a busy machine than of the program: that it is found in the sender's
/// trace, at the time at which the receiver was stopped, does not.
#[test]
fn a_receiver_is_stopped_and_its_senders_rate_is_known() {
    let scratch = Scratch::new("testbed-stop");
    let out = scratch.file("out");
    let ended = evenkeel(&["testbed", "run", "thesis-fig5-24", "--out"])
        .arg(&out)
        .args(["--set", r#"measured=["5s","12s"]"#])
        .args([
            "--set",
            r#"receiver=[{ name = "ours", times = "arrival", edition = "rfc5348" }]"#,
        ])
        .stdout(Stdio::null())
        .status();
    let code = ended.expect("the program").code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let metrics = metrics(&out, "thesis-fig5-24-real");
    assert!(value(&metrics, "deschedulings_ours") >= 1.0);
    let dip = value(&metrics, "rate_dip_pct_ours");
    assert!((0.0..=100.0).contains(&dip), "dip of {dip} %");
}

/// A run says more of the machine than of the program if the emulator's lateness at the 99th percentile exceeds a
/// twentieth of the round trip of 40 ms,
const EMULATOR_LATE_US: f64 = 2_000.0;
/// or if a sender was ever late by half a round trip: it catches up for a burst of 250 us alone, and loses the rest.
const SENDER_LATE_US: f64 = 20_000.0;

/// The cases run one after the other: at once they need more time of a processor than two have, and the senders, awake too
/// late, send a tenth less than they are allowed to. The close bounds are nearly four standard deviations of one run from
/// the simulator's mean of ten (CoV; further for the others). They hold a run that was on time. A run on a machine that
/// wakes threads late is held to what no lateness excuses: the same share, smoothness and loss within a factor of two.
#[test]
fn simulator_and_emulator_agree() {
    let scratch = Scratch::new("testbed-agree");
    let out = scratch.file("out");
    let run = |words: &[&str], id: &str| {
        let ended = evenkeel(&words[..1])
            .args(["run", "agreement"])
            .args(&words[1..])
            .arg("--out")
            .arg(&out)
            .stdout(Stdio::null())
            .status();
        assert!(
            matches!(ended.expect("the program").code(), Some(0 | 1)),
            "{words:?}"
        );
        metrics(&out, id)
    };
    let cases = ["lossy", "full", "both"];
    let is_on_time = |seen: &serde_json::Value, case: &str| {
        let late = |metric| value(seen, &format!("{metric}_{case}"));
        let [emulator, sender] = ["late_p99_us", "sender_late_max_us"].map(late);
        println!("{case}: the emulator {emulator} us late at p99, a sender {sender} us at most");
        emulator <= EMULATOR_LATE_US && sender <= SENDER_LATE_US
    };
    let simulated = run(&["lab", "--threads", "3"], "agreement");
    let real = run(&["testbed", "--threads", "1"], "agreement-real");
    let bounds = [
        ("share_tfrc_over_fair", 1.1),
        ("cov_1s_tfrc", 1.1),
        ("loss_event_rate", 1.2),
    ];
    let mut apart = Vec::new();
    for case in cases {
        let is_on_time = is_on_time(&real, case);
        for (metric, close) in bounds {
            let name = format!("{metric}_{case}");
            let [s, r] = [&simulated, &real].map(|half| value(half, &name));
            println!("{name}: {s} simulated, {r} real");
            let most = if is_on_time { close } else { 2.0 };
            // What is no number is not close to anything.
            let is_close = r / s <= most && s / r <= most;
            if !is_close {
                apart.push(format!("{name}: {s} simulated, {r} real"));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

/// A frame that the emulator could not send on was neither lost by its link nor delivered.
#[test]
fn a_run_whose_emulator_is_refused_frames_fails_and_says_so() {
    let scratch = Scratch::new("testbed-refused");
    let out = scratch.file("out");
    let mut command = evenkeel(&["testbed", "run", "sigcomm-fig15", "--out"]);
    command.arg(&out).stdout(Stdio::null());
    for setting in [r#"measured=["0s","4s"]"#, r#"shown=["0s","4s"]"#] {
        command.args(["--set", setting]);
    }
    let mut running = Running::start(&mut command);
    // The emulator's interface to the receivers, where its thread is: packets of 1,470 bytes are too long for it.
    let in_emulators_network = |id: u32| {
        let threads = fs::read_dir(format!("/proc/{id}/task")).ok()?;
        let is_emulator = |thread: &Path| {
            fs::read_to_string(thread.join("comm")).is_ok_and(|name| name == "router\n")
        };
        let mut threads = threads.flatten().map(|thread| thread.path());
        threads.find(|thread| is_emulator(thread))
    };
    let thread = (0..200).find_map(|_| {
        pause(Duration::from_millis(50));
        in_emulators_network(running.id())
    });
    let namespace = thread.expect("the emulator's thread").join("ns/net");
    let changed = Command::new("nsenter")
        .arg(format!("--net={}", namespace.display()))
        .args(["ip", "link", "set", "lb", "mtu", "900"])
        .status();
    assert!(changed.is_ok_and(|status| status.success()));
    assert!(!running.wait(60).success());
    let text = fs::read_to_string(out.join("sigcomm-fig15-real/result.json")).expect("a result");
    let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let failed = result["failed"].as_str().expect("a failure");
    assert!(
        failed.contains("frames that came out of the link"),
        "{failed}"
    );
}

/// Names the processes of one run: their children have it from them.
const MARK: &str = "EVENKEEL_EXTRAS_RUN";

/// Whoever has this mark, and is no zombie.
fn marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let has = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| variable == wanted.as_bytes())
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has(*pid) && is_running(*pid)).collect()
}

/// What a network namespace that outlives its processes would show in.
fn network() -> (BTreeSet<String>, String, usize) {
    let routes = fs::read_to_string("/proc/net/route").expect("routes");
    let named = fs::read_dir("/run/netns").map_or(0, Iterator::count);
    (interfaces(), routes, named)
}

/// Results and kept runs are whole, or not there; how many there are.
fn assert_whole(out: &Path) -> usize {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let folders = inside(out)
        .into_iter()
        .filter(|folder| !folder.ends_with("testbed-logs"));
    let files = folders.flat_map(|folder| [inside(&folder), inside(&folder.join("runs"))].concat());
    let mut whole = 0;
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let extension = file.extension().and_then(OsStr::to_str);
        let is_whole = match extension {
            Some("json") => serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            Some("svg") => text.trim_end().ends_with("</svg>"),
            Some("csv") => {
                // A name may have commas of its own.
                let has_fields = |line: &str| line.matches(',').count() >= 5;
                text.ends_with('\n') && text.lines().all(has_fields)
            }
            // What was being written has another name.
            _ => continue,
        };
        assert!(is_whole, "{}: {text}", file.display());
        whole += 1;
    }
    whole
}

/// Twenty instants between the start and the end of a run of one second: while its hosts are made, its
/// programs started, its flows run and its result is written.
#[test]
fn a_test_bed_that_is_killed_at_any_time_leaves_nothing() {
    let scratch = Scratch::new("testbed-kill");
    let before = network();
    let start = |mark: &str, out: &Path| {
        let settings = [r#"measured=["0s","1s"]"#, r#"shown=["0s","1s"]"#];
        let mut command = evenkeel(&["testbed", "run", "sigcomm-fig15", "--out"]);
        command.arg(out).env(MARK, mark);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let (none, also_none) = (Stdio::null(), Stdio::null());
        Running::start(command.stdout(none).stderr(also_none))
    };
    for round in 0..20_u64 {
        let mark = format!("{}-{round}", std::process::id());
        let out = scratch.file(&mark);
        let mut running = start(&mark, &out);
        // Spread over 2.6 s, in no order.
        pause(Duration::from_millis(round * 910 % 2_600));
        let signal = match round % 5 {
            4 => "INT",
            2 => "TERM",
            _ => "KILL",
        };
        running.signal(signal);
        running.wait(20);
        for _ in 0..200 {
            if marked(&mark).is_empty() {
                break;
            }
            pause(Duration::from_millis(50));
        }
        let left = marked(&mark);
        assert!(left.is_empty(), "{signal} in round {round} left {left:?}");
        assert_whole(&out);
    }
    assert_eq!(network(), before);
    // One that is left alone has all three files, which are found to be whole.
    let out = scratch.file("whole");
    start("whole", &out).wait(60);
    assert!(assert_whole(&out) >= 3);
}
