//! `perf`: options that contradict each other, and a capture that cannot be written.

use super::*;

#[test]
fn perf_errors_name_the_option() {
    let cases: [(&str, &[&str]); 22] = [
        ("-u --packet-size 500", &["--udp", "--packet-size"]),
        ("-t -1", &["--time", "-1", "0.1"]),
        ("-b -1M", &["--bitrate", "-1M", "1k"]),
        ("--burst -1ms", &["--burst", "-1ms", "0 and 60 s"]),
        (
            "--nofeedback-floor -1s",
            &["--nofeedback-floor", "-1s", "0 and 60 s"],
        ),
        ("-p abc", &["--port", "abc", "65535"]),
        ("-p 0", &["127.0.0.1", "port 0", "where it listens"]),
        ("-l 8k", &["--length", "8k", "bytes"]),
        ("-l -1", &["--length", "-1", "bytes"]),
        ("-i 0.01", &["--interval", "0.01", "0.1s", "0 for none"]),
        ("--burst 250", &["--burst", "seconds"]),
        (
            "--trace /no-such-folder/x.csv",
            &["/no-such-folder/x.csv", "there is no folder"],
        ),
        (
            "--pcap /no-such-folder/x",
            &["/no-such-folder/x", "there is no folder"],
        ),
        ("-b fast", &["--bitrate", "3M"]),
        ("-u -b 0", &["--udp", "--bitrate"]),
        ("-l 9000", &["--length", "8952"]),
        ("-P 0", &["--parallel", "0"]),
        ("-t 0", &["--time", "0.1"]),
        ("--burst 1s", &["--burst", "100ms"]),
        ("-R --bidir", &["--reverse", "--bidir"]),
        (
            "-u --session-bandwidth 1M",
            &["--udp", "--session-bandwidth"],
        ),
        ("--session-bandwidth 0.5", &["--session-bandwidth", "1k"]),
    ];
    for (words, named) in cases {
        refuses(&format!("perf client 127.0.0.1 {words}"), named);
    }
    refuses("perf server --max-flows 0", &["--max-flows"]);
    refuses(
        "perf client no-such-host.invalid",
        &["no-such-host.invalid"],
    );
}

#[test]
fn results_are_printed_when_the_capture_fails() {
    if !fs::exists("/dev/full").is_ok_and(|exists| exists) {
        return;
    }
    let (free, address) = taken_port();
    drop(free);
    let (_, port) = address.rsplit_once(':').expect("a port");
    let mut server = program(&format!("perf server -1 -B 127.0.0.1 -p {port}"))
        .stdout(Stdio::null())
        .spawn()
        .expect("run the server");
    // The client asks again until the server is there.
    let client = format!("perf client 127.0.0.1 -p {port} -t 0.2 -b 1M");
    let output = run(&format!("{client} --pcap /dev/full"));
    let _ = server.kill();
    let _ = server.wait();
    let results = text(&output.stdout);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(results.contains("  receiver"), "{results}");
    assert!(said.contains("capture"), "{said}");
}
