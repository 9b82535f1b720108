//! A camera or a file that ffmpeg reads hangs, never begins or is unplugged, and the run ends in order.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::faults::pictures;
use crate::support::{Running, Scratch, evenkeel, free_port, pause, wait_for_port};

/// A process that `parent` started.
fn child_of(parent: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let children = children.expect("the kernel lists children");
    let child = children.split_whitespace().next().expect("a child");
    child.parse().expect("a process")
}

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &process.to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
}

/// Half a minute that only ffmpeg reads.
fn clip(scratch: &Scratch) -> PathBuf {
    let clip = scratch.file("clip.avi");
    let made = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-f", "lavfi"])
        .args(["-i", "testsrc2=duration=30:size=320x240"])
        .args(["-c:v", "mjpeg", "-y"])
        .arg(&clip)
        .status();
    assert!(made.is_ok_and(|status| status.success()), "ffmpeg");
    clip
}

/// Who looks for it next would find it busy.
#[test]
fn a_camera_that_hangs_is_let_go_at_the_end_of_the_run() {
    let scratch = Scratch::new("hangs");
    let demo = evenkeel(&["demo", "--headless", "--seconds", "4", "--source"])
        .arg(clip(&scratch))
        .stdout(Stdio::null())
        .spawn()
        .expect("run the program");
    pause(Duration::from_secs(2));
    let camera = child_of(demo.id());
    signal(camera, "STOP");
    let ended = demo.wait_with_output().expect("its end");
    assert!(ended.status.success());
    // Whoever adopted it may not have looked after it yet.
    let is_there = || {
        let status = fs::read_to_string(format!("/proc/{camera}/status"));
        status.is_ok_and(|status| !status.contains("State:\tZ"))
    };
    let mut patience = 100;
    while is_there() && patience > 0 {
        patience -= 1;
        pause(Duration::from_millis(20));
    }
    if is_there() {
        signal(camera, "KILL");
        panic!("ffmpeg outlives the run");
    }
}

/// So does a file that ffmpeg repeats for ever without finding a picture in it.
#[test]
fn source_that_never_begins_is_reported() {
    let scratch = Scratch::new("silent");
    let pipe = scratch.file("pipe.avi");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let writer = fs::OpenOptions::new().read(true).write(true).open(&pipe);
    let mut demo = Command::new("timeout");
    demo.args(["60", env!("CARGO_BIN_EXE_evenkeel"), "demo", "--headless"]);
    let ended = demo.arg("--source").arg(&pipe).output().expect("its end");
    drop(writer);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(
        ended.status.code(),
        Some(2),
        "124 is that of timeout: {said}"
    );
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(
        said.contains("pipe.avi") && said.contains("no picture"),
        "{said}"
    );
}

/// A camera is read by ffmpeg, and goes as its pipe does.
#[test]
fn unplugged_camera_ends_run_and_closes_recording() {
    let scratch = Scratch::new("unplugged");
    let (clip, record) = (clip(&scratch), scratch.file("record.y4m"));
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let mut receiver = Running::start(
        evenkeel(&[
            "recv",
            &at,
            "--plain",
            "--headless",
            "--seconds",
            "12",
            "--record",
        ])
        .arg(&record)
        .stdout(Stdio::null()),
    );
    wait_for_port(port);
    let sender = evenkeel(&[
        "send",
        &at,
        "--plain",
        "--headless",
        "--seconds",
        "25",
        "--source",
    ])
    .arg(&clip)
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .expect("run the sender");
    pause(Duration::from_secs(4));
    signal(child_of(sender.id()), "KILL");
    let ended = sender.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    assert!(
        said.contains("clip.avi") && said.contains("SIGKILL"),
        "{said}"
    );
    assert!(receiver.wait(20).success());
    assert!(pictures(&record) > 20);
}
