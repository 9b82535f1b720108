//! What goes wrong with an emulator and the router's interfaces, between two hosts of our own: each time it recovers, or
//! says in one line what is wrong. As root, with iproute2.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::namespaces::{Cable, RIGHT};
use crate::perf;
use crate::perf_faults::{assert_away_and_back, client, end, json, server};
use crate::records;
use crate::support::{Running, Scratch, evenkeel, free_port, pause, wait_for_port};

/// A router that has begun, and what it says on its standard error.
struct Router {
    router: Child,
}

impl Router {
    fn start(cable: &Cable, arguments: &[&str]) -> Self {
        let arguments = [&["link", "router", "a", "b", "--json"], arguments].concat();
        let mut command = cable.on("middle", &evenkeel(&arguments));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let router = command.spawn().expect("run the router");
        // Both of its neighbours have seen that the cable is whole.
        pause(Duration::from_secs(2));
        Self { router }
    }

    /// Its status, its summary and the lines that it said besides that it was ready; it is told to end if it has not.
    fn end(mut self) -> (Option<i32>, serde_json::Value, Vec<String>) {
        if self.router.try_wait().expect("its state").is_none() {
            let id = self.router.id().to_string();
            let sent = Command::new("kill").args(["-s", "INT", &id]).status();
            assert!(sent.is_ok_and(|status| status.success()));
        }
        let output = self.router.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut lines = said.lines().map(str::to_owned);
        assert_eq!(lines.next().as_deref(), Some("evenkeel link: ready"));
        let summary = serde_json::from_slice(&output.stdout);
        let summary = summary.unwrap_or_else(|e| panic!("a summary as JSON: {e}; {said}"));
        (output.status.code(), summary, lines.collect())
    }
}

/// What is said of an interface that was switched off and on.
const DOWN_AND_UP: [&str; 2] = [
    "evenkeel link: b: down: what comes out there is lost until it is up again",
    "evenkeel link: b: up again",
];

#[test]
fn router_recovers_after_interface_was_down() {
    let cable = Cable::with_a_middle();
    let router = Router::start(&cable, &["--rate", "20M", "--delay", "5ms"]);
    let _server = server(&cable);
    let client = client(&cable, &["-t", "16", "-b", "5M", "-J"]);
    pause(Duration::from_secs(4));
    cable.ip("middle", "link set dev b down");
    pause(Duration::from_secs(5));
    cable.ip("middle", "link set dev b up");
    let results = json(&end(client));
    let (status, summary, said) = router.end();
    assert_away_and_back(&results);
    assert_eq!(said, DOWN_AND_UP);
    assert!(summary["send_errors"].as_u64() > Some(0), "{summary}");
    assert_eq!(status, Some(0));
}

/// A flood of datagrams and reports from the left to the right, until it is dropped.
fn flood(cable: &Cable) -> [Running; 2] {
    let server = server(cable);
    let client = evenkeel(&["perf", "client", RIGHT, "-u", "-b", "100M", "-t", "60"]);
    let mut client = cable.on("left", &client);
    let client = Running::start(client.stdout(Stdio::null()).stderr(Stdio::null()));
    [server, client]
}

/// Of what an emulator that was killed wrote of a flood, at most the last line and the last packet are cut off.
fn assert_sound(log: &Path, capture: &Path) {
    let found = [records::lines(log, is_log_line), records::packets(capture)];
    assert!(found.iter().all(|it| it.whole > 1_000), "{found:?}");
}

/// A whole line of `--log`, its heading included.
pub(crate) fn is_log_line(line: &str) -> bool {
    let fields: Vec<_> = line.split(',').collect();
    let [time, direction, event, number, ..] = fields[..] else {
        return false;
    };
    let is_event = ["enqueue", "drop", "depart", "refuse"].contains(&event)
        && ["forward", "reverse"].contains(&direction)
        && time.parse::<f64>().is_ok()
        && number.parse::<u64>().is_ok();
    fields.len() == 8 && (is_event || time == "time_s")
}

#[test]
fn killed_emulator_tears_last_record_at_most() {
    let scratch = Scratch::new("link-killed");
    let [log, capture] = ["log", "run.pcapng"].map(|name| scratch.file(name));
    let [log_text, capture_text] = [&log, &capture].map(|path| path.to_string_lossy());
    let files = ["--log", &log_text, "--pcap", &capture_text];

    let cable = Cable::with_a_middle();
    let mut router = Router::start(&cable, &files);
    let flows = flood(&cable);
    pause(Duration::from_secs(2));
    router.router.kill().expect("killed");
    router.router.wait().expect("its end");
    assert_sound(&log, &capture);
    drop(flows);

    let (_server, port) = perf::server(&[]);
    let listen = free_port().to_string();
    let ends = [&listen, &port].map(|port| format!("127.0.0.1:{port}"));
    let mut relay = evenkeel(&["link", "relay", &ends[0], &ends[1]]);
    relay.args(files).stdout(Stdio::null());
    let mut relay = Running::start(&mut relay);
    wait_for_port(listen.parse().expect("a port"));
    let client = [
        "perf",
        "client",
        "127.0.0.1",
        "-p",
        &listen,
        "-u",
        "-b",
        "100M",
        "-t",
        "60",
    ];
    let mut client = evenkeel(&client);
    let _client = Running::start(client.stdout(Stdio::null()).stderr(Stdio::null()));
    pause(Duration::from_secs(2));
    relay.signal("KILL");
    relay.wait(10);
    assert_sound(&log, &capture);
}

#[test]
fn a_router_whose_interface_is_deleted_ends_and_says_which() {
    let cable = Cable::with_a_middle();
    let mut router = Router::start(&cable, &[]);
    cable.ip("middle", "link del dev b");
    for _ in 0..200 {
        if router.router.try_wait().expect("its state").is_some() {
            break;
        }
        pause(Duration::from_millis(50));
    }
    // It tells what became of the packets before as well.
    let (status, _, said) = router.end();
    let wrong = "evenkeel: link router: b: the interface was deleted or moved away: \
                 create it and start the router again";
    // It is down a moment before it is gone.
    assert_eq!(said.last().map(String::as_str), Some(wrong), "{said:?}");
    assert!(said.len() <= 2, "{said:?}");
    assert_eq!(status, Some(1));
}

#[test]
fn an_interface_of_the_router_that_is_renamed_stays_its_own() {
    let cable = Cable::with_a_middle();
    let router = Router::start(&cable, &[]);
    for change in ["b down", "b name c", "c up"] {
        cable.ip("middle", &format!("link set dev {change}"));
        // It is seen to be down before it is up again.
        pause(Duration::from_secs(1));
    }
    let (status, _, said) = router.end();
    assert_eq!(said, DOWN_AND_UP);
    assert_eq!(status, Some(0));
}

#[test]
fn packets_over_far_mtu_are_reported_at_both_ends() {
    let scratch = Scratch::new("link-mtu");
    let log = scratch.file("log");
    let cable = Cable::with_a_middle();
    let router = Router::start(&cable, &["--log", &log.to_string_lossy()]);
    let _server = server(&cable);
    cable.ip("middle", "link set dev b mtu 1000");
    let output = end(client(&cable, &["-t", "2", "-b", "1M"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("bytes arrived: a hop may refuse packets of that size; try -l"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (status, summary, _) = router.end();
    assert_eq!(status, Some(0));
    let refused = summary["send_errors"].as_u64();
    assert!(refused > Some(0), "{summary}");
    // Those that were refused left by no line of the log.
    let log = fs::read_to_string(log).expect("the log");
    let numbers = |event: &str| -> Vec<&str> {
        let lines = log.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let of = lines.filter(|fields| fields[2] == event);
        of.map(|fields| fields[3]).collect()
    };
    let (departed, refusals) = (numbers("depart"), numbers("refuse"));
    assert_eq!(Some(refusals.len() as u64), refused);
    assert!(refusals.iter().all(|number| !departed.contains(number)));
}
