//! Each feedback format in each program that has a choice of it: the format that was asked for is the one that is
//! spoken, and it sets the rate. All formats at once, as each is seconds of little traffic.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, pause, summary, wait_for_port,
};

/// By name: what a capture calls a report, by which no other format is known.
const FORMATS: [(&str, &str); 5] = [
    ("tfrc", "TFRC feedback"),
    ("ccfb", "congestion control feedback (RFC 8888)"),
    ("twcc", "transport feedback of format 15"),
    ("sack", "APP SACK"),
    ("app", "APP TFRC"),
];

/// The bottleneck, which pictures of 320x240 can fill.
const RATE_BPS: f64 = 1e6;
/// Reports of one end in a run of four seconds: a round trip of 40 ms without a queue and 90 ms with a full one lets fifty leave.
const REPORTS: usize = 20;

/// The events of a trace.
fn events(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a trace");
    let lines = text.lines().map(serde_json::from_str);
    lines.map(|event| event.expect("a line of JSON")).collect()
}

/// The receiver reported in this format and no other.
fn assert_reported(trace: &Path, part: &str, format: &str) {
    let reported = match format {
        "tfrc" | "app" => "report",
        _ => "arrivals_reported",
    };
    let events = events(trace);
    let reports = events.iter().filter(|event| {
        event["part"] == part
            && (event["event"] == "report" || event["event"] == "arrivals_reported")
    });
    let reports_of_media: Vec<_> = reports
        .map(|event| (&event["event"], &event["format"]))
        .collect();
    let all = reports_of_media
        .iter()
        .all(|(event, named)| *event == reported && *named == format);
    assert!(all, "{format}: {reports_of_media:?}");
    assert!(
        reports_of_media.len() >= REPORTS,
        "{format}: {} reports",
        reports_of_media.len()
    );
}

/// The sender took them in.
fn assert_followed(trace: &Path, part: &str, json: &Path, format: &str) {
    let events = events(trace);
    let taken = events
        .iter()
        .filter(|event| event["part"] == part && event["event"] == "feedback");
    let taken = taken.count();
    assert!(taken >= REPORTS, "{format}: {taken} reports taken in");
    let summary = summary(json);
    assert_eq!(summary["rate_from"], "feedback", "{format}");
    assert_eq!(summary["warnings"], serde_json::json!([]), "{format}");
}

/// What arrived says that they made the rate.
fn assert_filled(json: &Path, format: &str) {
    let throughput = number(&summary(json), "throughput_bps");
    println!("{format}: {throughput:.0} b/s");
    // More than a sender without feedback may have (128 kb/s) several times over, and no more than the link carries.
    let share = throughput / RATE_BPS;
    assert!((0.5..=1.0).contains(&share), "{format}: {throughput} b/s");
}

#[test]
fn a_demo_speaks_each_format_and_fills_its_link() {
    let scratch = Scratch::new("formats-demo");
    let file = |format: &str, what: &str| scratch.file(&format!("{format}.{what}"));
    let mut demos = FORMATS.map(|(format, _)| {
        let mut demo = evenkeel(&["demo", "--headless", "--feedback", format]);
        demo.args(["--rate", "1M", "--rtt", "40ms", "--size", "320x240"])
            .args(["--seconds", "4", "--warmup", "2"])
            .arg("--json")
            .arg(file(format, "json"))
            .arg("--trace")
            .arg(file(format, "trace"));
        Running::start(demo.stdout(Stdio::null()))
    });
    for (demo, (format, _)) in demos.iter_mut().zip(FORMATS) {
        assert!(demo.wait(20).success(), "{format}");
        let (json, trace) = (file(format, "json"), file(format, "trace"));
        assert_reported(&trace, "b", format);
        assert_followed(&trace, "a", &json, format);
        assert_filled(&json, format);
        let shown = number(&summary(&json), "frames_shown");
        assert!(shown >= 25.0, "{format}: {shown} pictures in two seconds");
    }
}

/// The receiver is told by the description alone, which the sender has written.
#[test]
fn a_receiver_reports_in_the_format_that_the_senders_description_names() {
    let scratch = Scratch::new("formats-sdp");
    let file = |format: &str, what: &str| scratch.file(&format!("{format}.{what}"));
    let mut runs = FORMATS.map(|(format, _)| {
        let address = |port: u16| format!("127.0.0.1:{port}");
        let (near, to) = (free_port(), free_port());
        let relay = [
            "link",
            "relay",
            &address(near),
            &address(to),
            "--rate",
            "1M",
        ];
        let mut relay = evenkeel(&relay);
        let relay = Running::start(relay.args(["--delay", "20ms"]).stdout(Stdio::null()));
        wait_for_port(near);
        let sdp = file(format, "sdp");
        let mut send = evenkeel(&[
            "send",
            &address(near),
            "--plain",
            "--headless",
            "--feedback",
            format,
        ]);
        send.args(["--size", "320x240", "--seconds", "5", "--warmup", "3"])
            .arg("--sdp")
            .arg(&sdp)
            .arg("--json")
            .arg(file(format, "sent.json"))
            .arg("--trace")
            .arg(file(format, "sent"));
        let send = Running::start(send.stdout(Stdio::null()));
        for _ in 0..200 {
            if fs::read_to_string(&sdp).is_ok_and(|text| text.ends_with("a=sendonly\r\n")) {
                break;
            }
            pause(Duration::from_millis(20));
        }
        let mut receive = evenkeel(&[
            "recv",
            &address(to),
            "--plain",
            "--headless",
            "--seconds",
            "5",
        ]);
        receive
            .args(["--warmup", "3", "--sdp"])
            .arg(&sdp)
            .arg("--json")
            .arg(file(format, "received.json"))
            .arg("--trace")
            .arg(file(format, "received"));
        let receive = Running::start(receive.stdout(Stdio::null()));
        [send, receive, relay]
    });
    for ([send, receive, relay], (format, _)) in runs.iter_mut().zip(FORMATS) {
        assert!(
            send.wait(20).success() && receive.wait(20).success(),
            "{format}"
        );
        relay.signal("INT");
        relay.wait(10);
        assert_reported(&file(format, "received"), "recv", format);
        let (trace, json) = (file(format, "sent"), file(format, "sent.json"));
        assert_followed(&trace, "send", &json, format);
        assert_filled(&file(format, "received.json"), format);
    }
}

#[test]
fn a_traffic_generator_speaks_each_format_on_the_wire() {
    let scratch = Scratch::new("formats-perf");
    let mut runs = FORMATS.map(|(format, _)| {
        let port = free_port().to_string();
        let server = ["perf", "server", "-1", "-B", "127.0.0.1", "-p", &port];
        let server = Running::start(evenkeel(&server).stdout(Stdio::null()));
        wait_for_port(port.parse().expect("a port"));
        let mut client = evenkeel(&["perf", "client", "127.0.0.1", "-p", &port, "-J"]);
        client
            .args(["-t", "3", "-b", "2M", "--feedback", format, "--pcap"])
            .arg(scratch.file(&format!("{format}.pcapng")));
        let results = fs::File::create(scratch.file(&format!("{format}.json")));
        let results = results.expect("a file for the results");
        [server, Running::start(client.stdout(results))]
    });
    for ([server, client], (format, name)) in runs.iter_mut().zip(FORMATS) {
        assert!(
            client.wait(20).success() && server.wait(20).success(),
            "{format}"
        );
        let results = summary(&scratch.file(&format!("{format}.json")));
        let at = |path: &str| results.pointer(path).and_then(Value::as_f64);
        let (sent, received) = (at("/end/sum_sent/bytes"), at("/end/sum_received/bytes"));
        println!("{format}: {sent:?} bytes sent");
        assert_eq!(sent, received, "{format}");
        // 750 kB are asked for: less slow start, which begins with a packet a second, and a hundredth more for what is
        // caught up with at the end.
        let sent = sent.expect("bytes");
        assert!((600e3..=758e3).contains(&sent), "{format}: {sent} bytes");
        assert_eq!(results.pointer("/end/tfrc/feedback"), Some(&format.into()));
        // Comments stand in a capture as they are.
        let capture = fs::read(scratch.file(&format!("{format}.pcapng"))).expect("a capture");
        let count = |name: &str| {
            let windows = capture.windows(name.len());
            windows.filter(|window| *window == name.as_bytes()).count()
        };
        let [reports, others] = [true, false].map(|same| {
            let names = FORMATS.iter().filter(|other| (other.1 == name) == same);
            names.map(|(_, name)| count(name)).sum::<usize>()
        });
        assert!(
            reports >= REPORTS && others == 0,
            "{format}: {reports} reports, {others} others"
        );
    }
}
