//! The emulator by itself: between two hosts, against a measurement that is not its own, and when it is killed. As
//! root, with iproute2, iperf3 and Python.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::link_faults::is_log_line;
use crate::namespaces::Cable;
use crate::records;
use crate::support::{Running, Scratch, evenkeel, free_port, pause};

/// A machine that others load tells little of how exact it is: here the bounds only exclude a link that does not work,
/// the strict ones are the script's own.
#[test]
fn kernels_talk_through_the_router_at_its_rate_and_with_its_delay() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/link_router.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--weak", "--seconds", "3", "--bin"])
        .arg(env!("CARGO_BIN_EXE_evenkeel"))
        .output()
        .expect("run the script");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{said}");
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}{wrong}");
    assert_eq!(said.lines().count(), 5, "{said}");
}

/// Waits until whoever listens there answers.
fn answer(socket: &Path, line: &str) -> String {
    for _ in 0..200 {
        if let Ok(mut stream) = UnixStream::connect(socket) {
            writeln!(stream, "{line}").expect("a message sent");
            let mut answer = String::new();
            let read = BufReader::new(stream).read_line(&mut answer);
            read.expect("an answer");
            return answer;
        }
        pause(Duration::from_millis(50));
    }
    panic!("nobody listens at {}", socket.display());
}

/// Both emulators: what two files say of their links is what they tell of them, and a message that is wrong, if only in
/// its last word, changes nothing of it.
#[test]
fn links_are_what_a_file_a_schedule_and_messages_make_them() {
    let scratch = Scratch::new("link-files");
    let [config, schedule] = ["links.toml", "schedule"].map(|name| scratch.file(name));
    let links = r#"
        [forward]
        rate = "8Mb/s"
        delay = "20ms"
        queue = { packets = 30 }
        discipline = { red = { min = 5, max = 15 } }
        [reverse]
        rate = "1Mb/s"
        loss = { every = 100 }"#;
    let changes = r#"0, 4M, 30ms
        300ms, {"reverse": {"queue": {"time": "50ms"}, "discipline": {"codel": {}}}}
        600ms, 2M"#;
    fs::write(&config, links).expect("a file of links");
    fs::write(&schedule, changes).expect("a schedule");
    let cable = Cable::with_a_middle();
    cable.ip("middle", "link set dev lo up");
    let [listen, to] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    for emulator in [["router", "a", "b"], ["relay", &listen, &to]] {
        let socket = scratch.file(emulator[0]);
        let mut command = evenkeel(&["link"]);
        command.args(emulator).arg("--config").arg(&config);
        command.arg("--schedule").arg(&schedule);
        command.arg("--control").arg(&socket);
        let mut inside = cable.on("middle", &command);
        let mut running = Running::start(inside.stdout(Stdio::null()).stderr(Stdio::null()));
        let settings = || -> [Value; 2] {
            let reply = answer(&socket, r#""snapshot""#);
            let reply: Value = serde_json::from_str(&reply).expect("JSON");
            ["forward", "reverse"].map(|way| {
                let keys = ["rate_bps", "delay_s", "queue", "discipline", "loss"];
                keys.map(|key| reply[way][key].clone()).into()
            })
        };
        let has_ended = |now: &[Value; 2]| now[0][0] == 2e6 && now[1][3] != "drop-tail";
        let mut seen = settings();
        for _ in 0..200 {
            if has_ended(&seen) {
                break;
            }
            pause(Duration::from_millis(50));
            seen = settings();
        }
        assert!(has_ended(&seen), "the schedule has not ended: {seen:?}");
        let [forward, reverse] = seen;
        let red = &forward[3]["red"];
        assert_eq!((&red["min"], &red["max"]), (&json!(5.0), &json!(15.0)));
        let [queue, none] = [json!({ "packets": 30 }), json!("none")];
        assert_eq!(forward, json!([2e6, 0.03, queue, forward[3], none]));
        let codel = json!({ "codel": { "target": "0.005s", "interval": "0.1s", "ecn": false } });
        let [queue, loss] = [json!({ "time": "0.05s" }), json!({ "every": 100 })];
        assert_eq!(reverse, json!([1e6, 0.03, queue, codel, loss]));

        for (wrong, why) in [
            (
                r#"{"both": {"rate": "9Mb/s", "delay": "1ms", "queue": {"size": "1B"}}}"#,
                "size is 1B",
            ),
            (
                r#"{"both": {"rate": "9Mb/s", "loss": "none", "speed": 3}}"#,
                "speed",
            ),
        ] {
            let reply = answer(&socket, wrong);
            assert!(reply.contains("error") && reply.contains(why), "{reply}");
        }
        assert_eq!(settings(), [forward, reverse.clone()]);
        let right =
            r#"{"both": {"rate": "9Mb/s", "queue": {"packets": 9}, "discipline": "drop-tail"}}"#;
        assert_eq!(answer(&socket, right).trim(), r#"{"ok":true}"#);
        let [queue, tail] = [json!({ "packets": 9 }), json!("drop-tail")];
        let loss = [json!("none"), json!({ "every": 100 })];
        let changed = loss.map(|loss| json!([9e6, 0.03, queue, tail, loss]));
        assert_eq!(settings(), changed);
        running.signal("TERM");
        assert!(running.wait(10).success());
    }
}

#[test]
fn killed_router_leaves_host_and_socket_reusable() {
    let scratch = Scratch::new("link-kill");
    let cable = Cable::new();
    cable.ip("left", "link add name a type veth peer name b");
    for interface in ["a", "b"] {
        cable.ip("left", &format!("link set dev {interface} up"));
    }
    let network = || {
        let reply = ["ip -o -d link", "ip route", "ip -6 route"].map(|line| {
            let (program, arguments) = line.split_once(' ').expect("arguments");
            let mut command = Command::new(program);
            command.args(arguments.split(' '));
            let output = cable.on("left", &command).output().expect("run ip");
            String::from_utf8_lossy(&output.stdout).into_owned()
        });
        reply.join("\n")
    };
    // Until both have seen that the other is up.
    pause(Duration::from_secs(2));
    let before = network();
    let [socket, log, capture] = ["control", "log", "run.pcapng"].map(|name| scratch.file(name));
    for signal in ["KILL", "KILL", "TERM"] {
        let mut command = evenkeel(&["link", "router", "a", "b", "--rate", "10M", "--control"]);
        command.arg(&socket).arg("--log").arg(&log);
        command.arg("--pcap").arg(&capture);
        let mut inside = cable.on("left", &command);
        let mut router = Running::start(inside.stdout(Stdio::null()).stderr(Stdio::null()));
        // Whoever answers is not the one before: it is dead.
        let reply = answer(&socket, r#"{"both": {"discipline": {"codel": {}}}}"#);
        assert!(reply.contains("true"), "{reply}");
        let reply = answer(
            &socket,
            r#"{"both": {"discipline": {"red": {"min": 9, "max": 5}}}}"#,
        );
        assert!(reply.contains("RED: max must be above min"), "{reply}");
        pause(Duration::from_secs(1));
        router.signal(signal);
        let ended = router.wait(10);
        assert_eq!(ended.success(), signal == "TERM", "{signal}: {ended}");
        assert_eq!(socket.exists(), signal == "KILL", "{signal}");
        assert_eq!(network(), before, "{signal}");
        let found = [
            records::lines(&log, is_log_line),
            records::packets(&capture),
        ];
        let is_torn = found.iter().any(|it| it.is_torn);
        assert!(signal == "KILL" || !is_torn, "{signal}: {found:?}");
    }
}
