//! Each option of the traffic generator, between two real processes: what it says at the other end, or does.

use std::process::Stdio;

use serde_json::Value;

use crate::perf::{both, number, results, server};
use crate::support::{Running, Scratch, evenkeel, free_port, wait_for_port};

#[test]
fn every_option_of_a_client_reaches_the_server() {
    let report: [(&[&str], &str, Value); 9] = [
        (&["--mode", "rfc3448"], "/end/tfrc/mode", "rfc3448".into()),
        (&["--mode", "sp"], "/end/tfrc/packet_size", 1460.into()),
        (
            &["--packet-size", "700"],
            "/end/tfrc/packet_size",
            700.into(),
        ),
        (&["--burst", "1ms"], "/end/tfrc/burst_us", 1_000.into()),
        (
            &["--nofeedback-floor", "0.3s"],
            "/end/tfrc/nofeedback_floor_ms",
            300.0.into(),
        ),
        (
            &["--report-quarters", "8"],
            "/end/tfrc/reports/quarters",
            8.into(),
        ),
        (
            &["--session-bandwidth", "10m"],
            "/end/tfrc/reports/session_bandwidth_bps",
            10e6.into(),
        ),
        (
            &["--feedback", "app", "--piggy-backed"],
            "/end/tfrc/reports/piggy_backed",
            true.into(),
        ),
        (
            &["-u", "-b", "2M"],
            "/start/test_start/target_bitrate",
            2e6.into(),
        ),
    ];
    for (options, path, expected) in report {
        for report in both(&[&["-t", "1"], options].concat()) {
            assert_eq!(report.pointer(path), Some(&expected), "{options:?}");
            assert!(number(&report, "/end/sum_received/bytes") > 0.0);
        }
    }
}

#[test]
fn a_server_holds_clients_to_each_of_its_limits_and_names_the_option() {
    let limits: [(&[&str], &[&str], &str); 3] = [
        (&["--max-flows", "2"], &["-P", "3"], "-P"),
        (&["--max-rate", "1M"], &["-b", "2M"], "-b"),
        (&["--max-time", "1s"], &["-t", "2"], "-t"),
    ];
    for (limit, beyond, named) in limits {
        let (mut server, port) = server(limit);
        let client = ["perf", "client", "127.0.0.1", "-p", &port];
        let output = evenkeel(&client).args(beyond).output();
        let output = output.expect("run the client");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{limit:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(named), "{said}");
        // What is within the limit is served.
        results(&port, &["-t", "1", "-b", "1M"]);
        assert!(server.wait(15).success());
    }
}

/// What a link of 2 Mb/s with CoDel that marks does to a flow.
fn beside_marks(scratch: &Scratch, options: &[&str]) -> Value {
    let config = scratch.file("codel.toml");
    let link = "rate = \"2Mb/s\"\ndelay = \"10ms\"\nqueue = { time = \"500ms\" }\ndiscipline = { codel = { ecn = true } }\n";
    let text = format!("[forward]\n{link}[reverse]\ndelay = \"10ms\"\n");
    std::fs::write(&config, text).expect("a file");
    let (_server, port) = server(&[]);
    let at = free_port();
    let (listen, to) = (format!("127.0.0.1:{at}"), format!("127.0.0.1:{port}"));
    let config = config.to_string_lossy();
    let relay = ["link", "relay", &listen, &to, "--config", &config];
    let _relay = Running::start(evenkeel(&relay).stdout(Stdio::null()));
    wait_for_port(at);
    let trace = scratch.file("trace.csv").to_string_lossy().into_owned();
    let arguments = [&["-t", "5", "--trace", &trace], options].concat();
    results(&at.to_string(), &arguments)
}

#[test]
fn a_flow_that_is_ecn_capable_is_marked_where_another_loses() {
    let scratch = Scratch::new("perf-ecn");
    let marked = |options: &[&str]| {
        let sum = "/end/sum_received";
        let results = beside_marks(&scratch, options);
        let count = |of: &str| number(&results, &format!("{sum}/{of}"));
        (count("marked_packets"), count("lost_packets"))
    };
    let (marks, _) = marked(&["--ecn"]);
    let (none, lost) = marked(&[]);
    assert!(
        marks > 0.0 && none == 0.0 && lost > 0.0,
        "{marks} marked; without --ecn {none}, and {lost} lost"
    );
}

#[test]
fn reports_come_as_often_as_they_are_asked_for() {
    let scratch = Scratch::new("perf-quarters");
    let reports = |quarters: &str| {
        beside_marks(&scratch, &["--report-quarters", quarters]);
        let trace = std::fs::read_to_string(scratch.file("trace.csv")).expect("the trace");
        trace.lines().count()
    };
    let (often, seldom) = (reports("2"), reports("16"));
    assert!(
        often > 3 * seldom,
        "{often} lines of reports at --report-quarters 2, {seldom} at 16"
    );
}

#[test]
fn a_thousand_flows_leave_one_server_and_come_to_one() {
    for direction in [None, Some("-R")] {
        let (_server, port) = server(&[]);
        let mut arguments = vec!["-P", "1000", "-b", "1M", "-t", "3"];
        arguments.extend(direction);
        let results = results(&port, &arguments);
        let flows = results["end"]["streams"].as_array().expect("flows");
        let least = (0..flows.len()).map(|flow| {
            number(
                &results,
                &format!("/end/streams/{flow}/udp/bits_per_second"),
            )
        });
        let least = least.fold(f64::INFINITY, f64::min);
        // Slow start is in it, and a machine that does other things; `tests/bench/perf.py` holds 0.9.
        assert!(
            flows.len() == 1_000 && least > 0.4e6,
            "{direction:?}: {least}"
        );
    }
}
