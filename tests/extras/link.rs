//! The emulator by itself: between two hosts, against a measurement that is not its own, and when it is killed. As
//! root, with iproute2, iperf3 and Python.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::namespaces::Cable;
use crate::support::{Running, Scratch, evenkeel, pause};

/// A machine that others load tells little of how exact it is: here the bounds are those of something that works,
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

#[test]
fn a_router_that_is_killed_leaves_its_host_as_it_was_and_a_socket_that_the_next_one_takes_over() {
    let scratch = Scratch::new("link-kill");
    let cable = Cable::new();
    cable.ip("left", "link add name a type veth peer name b");
    for interface in ["a", "b"] {
        cable.ip("left", &format!("link set dev {interface} up"));
    }
    let network = || {
        let told = ["ip -o -d link", "ip route", "ip -6 route"].map(|line| {
            let (program, arguments) = line.split_once(' ').expect("arguments");
            let mut command = Command::new(program);
            command.args(arguments.split(' '));
            let output = cable.on("left", &command).output().expect("run ip");
            String::from_utf8_lossy(&output.stdout).into_owned()
        });
        told.join("\n")
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
        let told = answer(&socket, r#"{"both": {"discipline": {"codel": {}}}}"#);
        assert!(told.contains("true"), "{told}");
        let told = answer(
            &socket,
            r#"{"both": {"discipline": {"red": {"min": 9, "max": 5}}}}"#,
        );
        assert!(told.contains("RED: max must be above min"), "{told}");
        pause(Duration::from_secs(1));
        router.signal(signal);
        let ended = router.wait(10);
        assert_eq!(ended.success(), signal == "TERM", "{signal}: {ended}");
        assert_eq!(socket.exists(), signal == "KILL", "{signal}");
        assert_eq!(network(), before, "{signal}");
        let lines = fs::read_to_string(&log).expect("the log");
        assert!(lines.is_empty() || lines.ends_with('\n'), "{lines}");
        let mut tshark = Command::new("tshark");
        let read = tshark.arg("-r").arg(&capture).output().expect("run tshark");
        let complaint = String::from_utf8_lossy(&read.stderr).into_owned();
        assert!(!complaint.contains("cut short"), "{signal}: {complaint}");
    }
}
