//! What the demo does beside the call itself, and what it reads and writes.

use std::fs;
use std::process::{Command, Stdio};

use crate::decoders::tape;
use crate::support::{Running, Scratch, evenkeel, number, summary};

#[test]
fn modelled_tcp_shares_the_demos_link_from_the_start() {
    let scratch = Scratch::new("demo-tcp");
    let json = scratch.file("json");
    let mut demo = evenkeel(&["demo", "--headless", "--rate", "2M", "--tcp", "2"]);
    demo.args(["--seconds", "20", "--warmup", "8"])
        .arg("--json")
        .arg(&json);
    let mut demo = Running::start(demo.stdout(Stdio::null()));
    assert!(demo.wait(30).success());
    let summary = summary(&json);
    // A mean over time, in which the last bit is the sum's.
    let flows = number(&summary, "tcp_flows");
    assert!((flows - 2.0).abs() < 1e-9, "{flows}");
    let (each, call) = (
        number(&summary, "tcp_throughput_bps"),
        number(&summary, "throughput_bps"),
    );
    println!("a TCP flow {each:.0} b/s, the call {call:.0} b/s");
    // Each has a third of an equal share at least, and the link carries no more than it does.
    assert!(each > 222e3 && call > 222e3, "{each} and {call} b/s");
    assert!(2.0 * each + call <= 2.05e6, "{each} and {call} b/s");
}

/// From a pipe, and back into a file: what is recorded are frames of the tape, in its order and byte for byte.
#[test]
fn dv_of_a_pipe_is_recorded_as_it_is() {
    /// Of 25 a second.
    const FRAME: usize = 144_000;
    let scratch = Scratch::new("dv-of-a-pipe");
    let (tape, record) = (tape(&scratch), scratch.file("record.dv"));
    let mut pipe = Command::new("cat")
        .arg(&tape)
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat");
    let mut demo = Running::start(
        evenkeel(&["demo", "--headless", "--seconds", "8", "--rate", "200M"])
            .args(["--rtt", "20ms", "--codec", "dv", "--source", "-"])
            .arg("--record")
            .arg(&record)
            .stdin(pipe.stdout.take().expect("a pipe"))
            .stdout(Stdio::null()),
    );
    assert!(demo.wait(20).success());
    // Nobody reads the rest.
    assert!(pipe.wait().is_ok());
    let [tape, record] = [tape, record].map(|file| fs::read(file).expect("a file of DV"));
    assert_eq!(record.len() % FRAME, 0);
    let mut frames = tape.chunks_exact(FRAME);
    for (n, recorded) in record.chunks_exact(FRAME).enumerate() {
        assert!(frames.any(|frame| frame == recorded), "frame {n}");
    }
    let recorded = record.len() / FRAME;
    println!("DV of a pipe: {recorded} frames recorded");
    assert!(recorded >= 40, "{recorded}");
}
