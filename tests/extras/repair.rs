//! Repair packets between two processes: the description announces them, and they give back what a path lost.

use std::fs;
use std::process::Stdio;

use crate::support::{
    Running, Scratch, evenkeel, free_port, number, receive, wait_for_file, wait_for_port,
};

#[test]
fn what_a_path_loses_is_recovered() {
    let scratch = Scratch::new("repair");
    let sdp = scratch.file("s.sdp");
    let ports = [free_port(), free_port()];
    let [there, between] = ports.map(|port| format!("127.0.0.1:{port}"));
    let relay = ["link", "relay", &between, &there, "--delay", "20ms"];
    let _relay = Running::start(
        evenkeel(&relay)
            .args(["--rate", "3M", "--loss", "5%"])
            .stdout(Stdio::null()),
    );
    wait_for_port(ports[1]);
    let sender = ["send", &between, "--plain", "--headless", "--seconds", "30"];
    let _sender = Running::start(
        evenkeel(&sender)
            .args(["--filler", "fec", "--sdp"])
            .arg(&sdp)
            .stdout(Stdio::null()),
    );
    wait_for_file(&sdp);
    let received = receive(&there, &sdp, "6");
    let announced = fs::read_to_string(&sdp).expect("a description");
    assert!(announced.contains("a=ssrc-group:FEC-FR "), "{announced}");
    let recovered = number(&received, "packets_recovered");
    println!("{recovered} packets recovered");
    assert!(recovered > 0.0);
}
