//! What goes wrong under the traffic generator, between two hosts of our own: each time it recovers, or says
//! in one line what is wrong. As root, with iproute2.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::namespaces::{Cable, RIGHT};
use crate::perf;
use crate::records;
use crate::support::{Running, Scratch, evenkeel, pause};

/// A server on the right host.
pub(crate) fn server(cable: &Cable) -> Running {
    let serve = evenkeel(&["perf", "server", "-1"]);
    let server = Running::start(cable.on("right", &serve).stdout(Stdio::null()));
    // Its first line is its own only: there is nothing else on its host to wait for.
    pause(Duration::from_secs(1));
    server
}

/// A client on the left host that has begun.
pub(crate) fn client(cable: &Cable, arguments: &[&str]) -> std::process::Child {
    let arguments = [&["perf", "client", RIGHT], arguments].concat();
    let client = cable
        .on("left", &evenkeel(&arguments))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    client.expect("run the client")
}

pub(crate) fn end(client: std::process::Child) -> Output {
    client.wait_with_output().expect("the client's end")
}

pub(crate) fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A flow of 5 Mb/s was gone while its path was away for five seconds, and has recovered.
pub(crate) fn assert_away_and_back(results: &Value) {
    let seconds = results["intervals"].as_array().expect("intervals");
    let rates: Vec<f64> = seconds
        .iter()
        .filter_map(|second| second["sum"]["bits_per_second"].as_f64())
        .collect();
    // Of the five seconds four are whole ones, and TFRC needs a part of the first to see that nobody answers.
    let silent = rates.iter().filter(|rate| **rate < 0.5e6).count();
    assert!(silent >= 3, "{rates:?}");
    // A tenth below what is asked for: a flow that has recovered, on a machine that is busy.
    let last = rates[rates.len() - 3..].iter().sum::<f64>() / 3.0;
    assert!(last > 4.5e6, "{rates:?}");
}

#[test]
fn an_interface_that_was_down_for_five_seconds_costs_those_alone() {
    let cable = Cable::new();
    let _server = server(&cable);
    let client = client(&cable, &["-t", "16", "-b", "5M", "-J"]);
    pause(Duration::from_secs(4));
    cable.ip("left", "link set left down");
    pause(Duration::from_secs(5));
    cable.ip("left", "link set left up");
    let results = json(&end(client));
    assert_away_and_back(&results);
    let unreachable = &results["end"]["tfrc"]["system"]["datagrams_unreachable"];
    assert!(unreachable.as_u64() > Some(0), "{unreachable}");
}

#[test]
fn packets_longer_than_the_interface_takes_are_named() {
    let cable = Cable::new();
    let _server = server(&cable);
    cable.ip("left", "link set left mtu 1000");
    let output = end(client(&cable, &["-t", "2", "-b", "1M"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.contains("longer than the interface takes: lower -l"),
        "{said}"
    );
    // Nothing arrived.
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn full_send_buffer_is_reported_and_stops_no_flow() {
    let cable = Cable::new();
    let _server = server(&cable);
    // Longer than the socket's buffer, so that the socket is what fills up.
    cable.run(
        "left",
        "tc qdisc add dev left root tbf rate 10mbit burst 4k limit 10m",
    );
    let said = text(&end(client(&cable, &["-t", "3", "-u", "-b", "50M"])));
    assert!(said.contains("for want of room"), "{said}");
    let received = said.lines().find(|line| line.ends_with("receiver"));
    let rate = received.and_then(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let unit = words.iter().position(|word| *word == "Mbits/sec")?;
        words[unit - 1].parse::<f64>().ok()
    });
    // What 10 Mb/s carry is 9.7 without headers; a tenth less for a busy machine, and no more than all.
    assert!(
        rate.is_some_and(|rate| (8.7..=10.0).contains(&rate)),
        "{said}"
    );
}

#[test]
fn a_port_and_a_host_that_do_not_answer_are_named_in_one_line() {
    let cable = Cable::new();
    let nobody = RIGHT.replace(".2", ".77");
    let clients = [RIGHT, &nobody].map(|host| {
        let arguments = evenkeel(&["perf", "client", host]);
        let client = cable.on("left", &arguments).stderr(Stdio::piped()).spawn();
        (host, client.expect("run the client"))
    });
    for (host, client) in clients {
        let output = end(client);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(2), 1),
            "{said}"
        );
        assert!(said.contains(host), "{said}");
    }
}

/// Lines and packets of a run that was killed are whole but for the last, and only its last moments are missing.
#[test]
fn a_client_that_is_killed_tears_its_last_records_at_most() {
    let scratch = Scratch::new("killed-perf");
    let (_server, port) = perf::server(&[]);
    let files = ["log", "trace.csv", "run.pcapng"].map(|name| scratch.file(name));
    let [log, trace, capture] = files
        .each_ref()
        .map(|path| path.to_string_lossy().into_owned());
    let client = Running::start(&mut evenkeel(&[
        "perf",
        "client",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "60",
        "-b",
        "2M",
        "--logfile",
        &log,
        "--trace",
        &trace,
        "--pcap",
        &capture,
    ]));
    pause(Duration::from_secs(5));
    client.signal("KILL");
    drop(client);

    let [log, trace, capture] = &files;
    let has_columns = |line: &str| line.split(',').count() == 8;
    let found = [
        (records::lines(log, |_| true), 3),
        (records::lines(trace, has_columns), 50),
        (records::packets(capture), 100),
    ];
    let is_enough = found.iter().all(|(found, least)| found.whole > *least);
    assert!(is_enough, "{found:?}");
}
