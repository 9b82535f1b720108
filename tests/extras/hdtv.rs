//! Uncompressed pictures of 1280x720, 60 a second, from one process to another: 885 Mb/s.
//!
//! What it takes of a processor, and that nothing is lost, is for an idle machine: `tests/bench/hdtv_call.py`.

use std::process::Stdio;

use crate::support::{Running, Scratch, evenkeel, free_port, number, receive, wait_for_file};

#[test]
fn uncompressed_hdtv_arrives_whole() {
    let scratch = Scratch::new("hdtv");
    let sdp = scratch.file("call.sdp");
    let at = format!("127.0.0.1:{}", free_port());
    let _sender = Running::start(
        evenkeel(&["send", &at, "--plain", "--headless", "--seconds", "30"])
            .args(["--codec", "raw", "--size", "1280x720", "--fps", "60"])
            .arg("--sdp")
            .arg(&sdp)
            .stdout(Stdio::null()),
    );
    wait_for_file(&sdp);
    let seen = receive(&at, &sdp, "8");
    let [shown, damaged] = ["frames_shown", "frames_damaged"].map(|key| number(&seen, key));
    println!("720p60: {shown} pictures shown, {damaged} of them damaged");
    // How many a busy machine has time for is its own matter: one second's of eight seconds.
    assert!(shown - damaged >= 60.0, "{shown} shown, {damaged} damaged");
}
